"""Backups: one compressed file with all memories of a home, made while the home is in use.

- ``archive`` packs, checks and unpacks the file; ``pieces`` finds what an incremental one has to hold.
- ``copies`` copies the databases and files as they are at one moment.
- ``taking`` makes a backup, also before an upgrade of a database; ``restoring`` restores a backup.
"""
