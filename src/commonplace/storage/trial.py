"""A database for trials, in which statements really run and everything is rolled back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from commonplace.storage.database import AnyStatements, Database, Dialect, StatementSet, load_queries
from commonplace.storage.statements import StepStatements

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"


class _TrialOverError(Exception):
    """Rolls the transaction back; never raised outside this module."""


@asynccontextmanager
async def trial(database: Database) -> AsyncGenerator[Database]:
    """Yield a database whose work happens inside one transaction, which is rolled back at the end.

    Its rows are visible only inside the trial. The trial holds its locks until the end, so on SQLite all other writers
    wait. Closing the database does nothing.

    Raises:
        StorageUnavailableError: The database cannot be reached or written.
    """
    steps = load_queries(StepStatements, [SQL_DIRECTORY], database.dialect)
    with suppress(_TrialOverError):
        async with database.transaction(steps) as sql:
            yield _TrialDatabase(database, sql)
            raise _TrialOverError


class _TrialDatabase:
    """A database within a transaction of another database; its transactions are consecutive savepoints."""

    def __init__(self, database: Database, steps: StepStatements) -> None:
        self.dialect: Dialect = database.dialect
        self.where = database.where
        self._steps = steps
        self._busy = asyncio.Lock()

    @asynccontextmanager
    async def transaction(
        self, queries: StatementSet[AnyStatements], *, lock: str | None = None
    ) -> AsyncGenerator[AnyStatements]:
        """Open a savepoint, rolled back if the block raises; ``lock`` is unused, because nobody else sees the rows."""
        del lock
        async with self._busy:
            await self._steps.begin_step()
            try:
                yield queries.on(self._steps.connection)
            except BaseException:
                await self._steps.undo_step()
                raise
            await self._steps.end_step()

    @asynccontextmanager
    async def reading(
        self, queries: StatementSet[AnyStatements], *, once: bool = False
    ) -> AsyncGenerator[AnyStatements]:
        """Open a view of the rows written up to now."""
        del once  # The statements of a view need no step of their own.
        async with self._busy:
            yield queries.on(self._steps.connection)

    async def close(self) -> None:
        """Do nothing, because the code that opened the database closes it."""
