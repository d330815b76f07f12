"""Backups: one compressed file with all memories of a home, made while the home is in use.

- ``archive`` packs, verifies and unpacks the file; ``pieces`` finds the new bytes for an incremental backup.
- ``copies`` copies the databases and files at one moment.
- ``taking`` makes a backup; ``restoring`` restores a backup.
- ``home_upgrade`` upgrades the tables of a home after a backup.
"""
