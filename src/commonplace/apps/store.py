"""The database of app memory: its statements, its transactions and its clock, held together."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.core.clock import Clock, format_timestamp
from commonplace.core.context import current_context
from commonplace.storage.database import Database, Statements

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"
OPERATOR: Final = "operator"


class AppStore:
    """A database that is open and has the tables of app memory.

    Args:
        database: Shared by everything in this process; who opened it closes it.
        clock: Gives the time of each row.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.queries = database.load(SQL_DIRECTORY)
        self._clock = clock

    def now(self) -> datetime:
        """Return the present."""
        return self._clock()

    def moment(self) -> str:
        """Return the present as columns hold it."""
        return format_timestamp(self._clock())

    def writing(self, lock: str | None = None) -> AbstractAsyncContextManager[Statements]:
        """Open a transaction; see :meth:`~commonplace.storage.database.Database.transaction`."""
        return self.database.transaction(self.queries, lock=lock)

    def writing_memories(self, app_id: str) -> AbstractAsyncContextManager[Statements]:
        """Open a transaction that may change which memories an app has: one at a time, in all processes."""
        return self.writing(lock=f"apps:memories:{app_id}")

    def reading(self) -> AbstractAsyncContextManager[Statements]:
        """Open a consistent view; see :meth:`~commonplace.storage.database.Database.reading`."""
        return self.database.reading(self.queries)


def actor(default: str) -> str:
    """Return who the request context says is at work, else a default."""
    context = current_context()
    return context.actor if context else default
