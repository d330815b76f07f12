"""A memory's store: an open database, the memory's named statements and a clock."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import cache
from pathlib import Path

from aiosql.queries import Queries

from commonplace.core.clock import Clock, format_timestamp
from commonplace.storage.database import Database, Dialect, Statements, load_queries


class Store:
    """The named statements of one memory in an open database, and the clock that dates its rows.

    Args:
        database: Shared by everything in this process; the code that opened it closes it.
        directory: Holds the ``.sql`` files of the memory.
        clock: Returns the time of each row.
    """

    def __init__(self, database: Database, directory: Path, clock: Clock) -> None:
        self._database = database
        self._queries = _queries(directory, database.dialect)
        self._clock = clock

    def now(self) -> datetime:
        """Return the current time."""
        return self._clock()

    def moment(self) -> str:
        """Return the current time as text columns hold it."""
        return format_timestamp(self._clock())

    def writing(self, lock: str | None = None) -> AbstractAsyncContextManager[Statements]:
        """Open a transaction; see :meth:`.Database.transaction`."""
        return self._database.transaction(self._queries, lock=lock)

    def reading(self) -> AbstractAsyncContextManager[Statements]:
        """Open a consistent view for reading; see :meth:`.Database.reading`."""
        return self._database.reading(self._queries)


@cache
def _queries(directory: Path, dialect: Dialect) -> Queries:
    return load_queries([directory], dialect)
