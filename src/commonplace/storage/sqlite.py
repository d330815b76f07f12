"""SQLite as a :class:`~commonplace.storage.database.Database`: one file, several processes.

Write-ahead logging lets readers continue during a write; a busy timeout makes writers of different processes wait for
each other; foreign keys are enforced. Only the owner can read the file and SQLite's side files.

One connection writes, under a lock of this process, and one reads, so that a reader never sees half of a
transaction. Transactions begin with ``IMMEDIATE``, so a writer waits before it reads anything that could be stale when
it writes. This serialises all writers, so the ``lock`` of a transaction is not needed here.
"""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import aiosqlite

from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, StorageError, StorageUnavailableError
from commonplace.core.tracing import span
from commonplace.storage.database import FITTING, AnyStatements, Dialect, StatementSet
from commonplace.storage.request_answers import held_for_answer
from commonplace.storage.request_claims import claim_of_request

BUSY_TIMEOUT_S: Final = 10.0
"""Seconds that a writer waits for writers of other processes."""

LEAST_FREE_BYTES: Final = 1 << 20
"""A disk with less is full: a process that opens a database needs some room beside it."""

OWNER_ONLY: Final = 0o600
_PAUSE_S: Final = 0.005
_PRIMARY_CODE: Final = 0xFF
"""The mask for the primary part of SQLite's extended error codes."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file with the settings that every connection needs.

    Returns:
        A connection in autocommit mode, for one thread at a time; the caller begins transactions.

    Raises:
        StorageUnavailableError: The file cannot be opened or created.
        StorageError: The file is not a SQLite database.
    """
    _create_private(path)
    with translated_errors(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            # SQLite's own function folds only ASCII letters.
            connection.create_function("lower", 1, _lower, deterministic=True)
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Enable write-ahead logging, a setting that is stored in the file.

    If two processes do this to a new file at once, SQLite may refuse one immediately, despite the busy timeout.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()


def _create_private(path: Path) -> None:
    """Create the file and its directory for the owner only; SQLite gives its side files the same mode.

    An existing file must not be opened, because closing it would release the locks of this process's other connections
    and endanger the writes that rely on them.
    """
    try:
        make_directories(path.parent)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY))
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error


@contextmanager
def translated_errors(path: Path, *, copy_of: Path | None = None) -> Generator[None]:
    """Translate SQLite's errors about the file, but not about a statement, into storage errors that name the file.

    If a copy is damaged, the error names the file that it is a copy of. A value of a type that no column can hold
    is an invalid input.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StorageUnavailableError(f"{path}: {error}{_full_disk(path)}") from error
    except sqlite3.ProgrammingError as error:
        if not str(error).startswith("Error binding parameter"):
            raise
        raise InvalidInputError("value", FITTING, str(error).partition(": ")[2]) from error
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # Its subclasses are about statements and values.
            raise
        raise StorageError(
            f"{copy_of or path}: {error}; move the file away, then restore a backup: commonplace restore FILE"
        ) from error


def _full_disk(path: Path) -> str:
    """Return the advice for a full disk, which SQLite reports as an I/O error even to readers; else an empty text."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return ""
    return (
        ""
        if free >= LEAST_FREE_BYTES
        else f"; the disk is full ({free:,} bytes free): free some space, and try again"
    )


class SQLiteDatabase:
    """An open SQLite file; see the module docstring for how it is shared."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self.path = path
        self.where = str(path)
        self._writer = writer
        self._reader = reader
        self._writing = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, path: Path) -> "SQLiteDatabase":
        """Open a file that :func:`~commonplace.storage.migrations.runner.migrate_sqlite` has upgraded.

        Raises:
            StorageUnavailableError: The file cannot be opened.
        """
        writer = await aiosqlite.Connection(lambda: connect(path), iter_chunk_size=256)
        try:
            reader = await aiosqlite.Connection(lambda: connect(path), iter_chunk_size=256)
        except BaseException:
            await writer.close()
            raise
        return cls(path, writer, reader)

    @asynccontextmanager
    async def transaction(
        self, queries: StatementSet[AnyStatements], *, lock: str | None = None
    ) -> AsyncGenerator[AnyStatements]:
        """Open a transaction; see :meth:`Database.transaction`."""
        del lock  # SQLite's writing transactions exclude each other anyway.
        with span("sqlite.transaction"):
            async with held_for_answer(self, self._begun()) as connection:
                yield queries.on(connection)

    @asynccontextmanager
    async def _begun(self) -> AsyncGenerator[aiosqlite.Connection]:
        async with self._writing:
            self._require_open()
            with translated_errors(self.path):
                try:
                    await self._writer.execute("BEGIN IMMEDIATE")
                    yield self._writer
                    await self._writer.commit()
                except BaseException:
                    # This also runs after a cancelled BEGIN, which the connection's thread executes anyway.
                    await self._writer.rollback()
                    raise

    @asynccontextmanager
    async def reading(
        self, queries: StatementSet[AnyStatements], *, once: bool = False
    ) -> AsyncGenerator[AnyStatements]:
        """Open a consistent view; see :meth:`Database.reading`."""
        await claim_of_request()
        async with self._reading:
            self._require_open()
            with span("sqlite.reading"), translated_errors(self.path):
                sql = queries.on(self._reader)
                if once:
                    yield sql
                    return
                try:
                    await self._reader.execute("BEGIN")
                    yield sql
                finally:
                    await self._reader.rollback()

    async def close(self) -> None:
        """Close both connections; a second call does nothing."""
        self._is_closed = True
        await self._reader.close()
        await self._writer.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise StorageUnavailableError(f"{self.path}: the database is closed")
