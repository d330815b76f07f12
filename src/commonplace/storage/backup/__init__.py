"""Backups: one compressed file with all that a home knows, made while it is in use.

- ``archive`` packs, checks and unpacks the file.
- ``copies`` copies the databases and files as they are at one moment.
- ``taking`` makes a backup, also before an upgrade of a database; ``restoring`` brings one back.
"""
