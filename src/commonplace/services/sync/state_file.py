"""The SQLite file of sync: its tables, its transactions, and the lock that lets one process sync at a time.

Source: ADR 0040.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageUnavailableError
from commonplace.storage import sqlite
from commonplace.storage.file_locks import FileLock

FILE: Final = "sync.db"
LOCK_TIMEOUT_S: Final = 60.0
"""Seconds that a sync waits for the sync of another process."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS home_keys (
    epoch INTEGER NOT NULL,
    author TEXT NOT NULL,
    key BLOB NOT NULL,
    recipients TEXT,
    PRIMARY KEY (epoch, author)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS devices (
    device TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    public BLOB NOT NULL,
    exchange BLOB NOT NULL,
    key_id BLOB NOT NULL,
    number INTEGER NOT NULL DEFAULT 0,
    digest TEXT NOT NULL DEFAULT '',
    departure TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sightings (device TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mentions (device TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    versions TEXT NOT NULL,
    change TEXT NOT NULL,
    PRIMARY KEY (kind, name, versions)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fields TEXT NOT NULL,
    as_change TEXT NOT NULL,
    versions TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (kind TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unsent (place INTEGER PRIMARY KEY, change TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (name TEXT PRIMARY KEY, number INTEGER, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS erasing (kind TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receipts (
    subject TEXT NOT NULL,
    device TEXT NOT NULL,
    PRIMARY KEY (subject, device)
) WITHOUT ROWID;
"""


class StateFile:
    """The file, open.

    Args:
        path: The file; it is created with its folder.

    Raises:
        StorageError: The file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite.connect(path)
        with sqlite.translated_errors(path):
            self._connection.row_factory = None
            self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Let no other process sync inside the block.

        Raises:
            StorageUnavailableError: Another process syncs for too long.
        """
        with FileLock(self.path.with_name(f"{self.path.name}.lock")) as lock:
            await asyncio.to_thread(lock.require, timeout_s=LOCK_TIMEOUT_S)
            yield

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Return the connection for statements that write nothing."""
        with sqlite.translated_errors(self.path):
            yield self._connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Return the connection in a transaction, which an error rolls back."""
        with sqlite.translated_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def compact(self) -> None:
        """Rewrite the file and empty its write-ahead log, so that nothing of a deleted row is left.

        Raises:
            StorageUnavailableError: Another process reads the file.
        """
        with sqlite.translated_errors(self.path):
            self._connection.execute("VACUUM")
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StorageUnavailableError(
                f"{self.path}-wal still holds erased texts, because another process reads it; the next sync tries again"
            )
