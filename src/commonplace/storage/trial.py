"""A database to try something out on: everything is done for real, and nothing of it stays."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from aiosql.queries import Queries

from commonplace.storage.database import Database, Dialect, Statements

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"


class _TrialOverError(Exception):
    """Makes the transaction roll back; never leaves this module."""


@asynccontextmanager
async def trial(database: Database) -> AsyncGenerator[Database]:
    """Lend a database on which everything happens inside one transaction, which is rolled back at the end.

    What is written there can be read there, by nobody else and never again. Until the end it holds the locks of what
    it wrote: on SQLite all who write wait. Closing the one that is lent does nothing.

    Raises:
        StorageUnavailableError: The database cannot be reached or written.
    """
    steps = database.load(SQL_DIRECTORY)
    with suppress(_TrialOverError):
        async with database.transaction(steps) as sql:
            yield _TrialDatabase(database, sql)
            raise _TrialOverError


class _TrialDatabase:
    """A database within a transaction of another: its own transactions are steps, one after the other."""

    def __init__(self, database: Database, steps: Statements) -> None:
        self.dialect: Dialect = database.dialect
        self.where = database.where
        self._database = database
        self._steps = steps
        self._busy = asyncio.Lock()

    def load(self, directory: Path) -> Queries:
        """Load the named statements of every ``.sql`` file of a directory."""
        return self._database.load(directory)

    @asynccontextmanager
    async def transaction(self, queries: Queries, *, lock: str | None = None) -> AsyncGenerator[Statements]:
        """Open a step that is undone where it raises; ``lock`` is not needed, for nobody else sees it."""
        del lock
        async with self._busy:
            await self._steps.begin_step()
            try:
                yield Statements(queries, self._steps.connection)
            except BaseException:
                await self._steps.undo_step()
                raise
            await self._steps.end_step()

    @asynccontextmanager
    async def reading(self, queries: Queries) -> AsyncGenerator[Statements]:
        """Open a view of what was written up to now."""
        async with self._busy:
            yield Statements(queries, self._steps.connection)

    async def close(self) -> None:
        """Do nothing: who opened the database closes it."""
