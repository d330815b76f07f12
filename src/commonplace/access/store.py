"""The database of tokens: its statements, its transactions and its clock, held together."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from commonplace.core.clock import Clock, format_timestamp
from commonplace.core.settings import Settings
from commonplace.storage.database import Database, Statements
from commonplace.storage.opening import open_database

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"


class AccessStore:
    """A database that is open and has the tables of tokens; the same that operational memory is in.

    Args:
        database: Shared by everything in this process; who opened it closes it.
        clock: Gives the time of each row.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._queries = database.load(SQL_DIRECTORY)
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, clock: Clock) -> AsyncGenerator[Self]:
        """Open the database that the settings name, bring it up to date, and close it at the end of the block.

        Raises:
            StorageError: It cannot be opened, or is newer than this release.
        """
        database = await open_database(settings, "access")
        try:
            yield cls(database, clock)
        finally:
            await database.close()

    def now(self) -> datetime:
        """Return the present."""
        return self._clock()

    def moment(self) -> str:
        """Return the present as columns hold it."""
        return format_timestamp(self._clock())

    def writing(self) -> AbstractAsyncContextManager[Statements]:
        """Open a transaction; see :meth:`~commonplace.storage.database.Database.transaction`."""
        return self._database.transaction(self._queries)

    def reading(self) -> AbstractAsyncContextManager[Statements]:
        """Open a consistent view; see :meth:`~commonplace.storage.database.Database.reading`."""
        return self._database.reading(self._queries)
