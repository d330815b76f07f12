"""The store of a memory: an open database, the memory's named statements and a clock."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Generic, cast

from commonplace.core.clock import Clock, format_timestamp
from commonplace.storage.database import AnyStatements, Database, Dialect, StatementSet, load_queries


class Store(Generic[AnyStatements]):
    """The named statements of one memory in an open database, and the clock for its rows.

    Args:
        database: Shared by everything in this process; the code that opened it closes it.
        kind: The class that knows the types of the statements.
        directory: The directory with the ``.sql`` files of the memory.
    """

    def __init__(self, database: Database, kind: type[AnyStatements], directory: Path, clock: Clock) -> None:
        self._database = database
        self._queries: StatementSet[AnyStatements] = read_statements(kind, directory, database.dialect)
        self._clock = clock

    def now(self) -> datetime:
        """Return the current time."""
        return self._clock()

    def moment(self) -> str:
        """Return the current time as text columns hold it."""
        return format_timestamp(self._clock())

    def writing(self, lock: str | None = None) -> AbstractAsyncContextManager[AnyStatements]:
        """Open a transaction; see :meth:`.Database.transaction`."""
        return self._database.transaction(self._queries, lock=lock)

    @property
    def reads(self) -> AnyStatements:
        """The statements, each in its own view: ``await store.reads.count_memories(app_id=…)``."""
        return cast("AnyStatements", _Reads(self))  # It runs the same statements.

    def reading(self, *, once: bool = False) -> AbstractAsyncContextManager[AnyStatements]:
        """Open a consistent view for reading; see :meth:`.Database.reading`."""
        return self._database.reading(self._queries, once=once)


class _Reads:
    """Statements of a store, for reads that need only one statement."""

    def __init__(self, store: Store[Any]) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        async def run(**parameters: object) -> object:
            async with self._store.reading(once=True) as sql:
                return await getattr(sql, name)(**parameters)

        return run


@cache
def read_statements(
    kind: type[AnyStatements], directory: Path, dialect: Dialect
) -> StatementSet[AnyStatements]:
    """Return the named statements of a memory; read once."""
    return load_queries(kind, [directory], dialect)
