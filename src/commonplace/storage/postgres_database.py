"""PostgreSQL as a :class:`~commonplace.storage.database.Database`, for memories that also run on SQLite."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Final

import asyncpg

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.text import clean_text
from commonplace.core.tracing import span
from commonplace.storage.database import FITTING, AnyStatements, Dialect, StatementSet
from commonplace.storage.postgres import open_pool
from commonplace.storage.postgres_url import describe_url
from commonplace.storage.request_answers import held_for_answer
from commonplace.storage.request_claims import claim_of_request

_OUTAGES: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # A backend that dies during a statement may cause this error.
    asyncpg.LockNotAvailableError,
)
"""Errors of the server, not of the statement."""

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"


@contextmanager
def translated_errors(where: str) -> Generator[None]:
    """Translate asyncpg's errors about the server, not about statements, into storage errors that name the server.

    A value that asyncpg cannot send as the type of its column is an invalid input.
    """
    try:
        yield
    except _OUTAGES as error:
        raise StorageUnavailableError(f"{where}: {error or type(error).__name__}") from error
    except asyncpg.DataError as error:
        if error.__cause__ is None:  # The server refused the statement.
            raise
        raise InvalidInputError("value", FITTING, str(error).partition(": ")[2]) from error


class PostgresDatabase:
    """An open PostgreSQL database; everything in this process shares its pool."""

    dialect: Dialect = "postgresql"

    def __init__(self, pool: asyncpg.Pool, where: str) -> None:
        self.where = where
        self._pool = pool

    @classmethod
    async def open(cls, url: str) -> "PostgresDatabase":
        """Open a migrated database.

        Raises:
            StorageUnavailableError: The server cannot be reached or used.
        """
        return cls(await open_pool(url), describe_url(url))

    @asynccontextmanager
    async def transaction(
        self, queries: StatementSet[AnyStatements], *, lock: str | None = None
    ) -> AsyncGenerator[AnyStatements]:
        """Open a transaction; see :meth:`Database.transaction`."""
        with span("postgresql.transaction"):
            async with held_for_answer(self, self._begun(lock)) as connection:
                yield queries.on(connection)

    @asynccontextmanager
    async def _begun(self, lock: str | None) -> AsyncGenerator[object]:
        with translated_errors(self.where):
            async with self._pool.acquire() as connection, connection.transaction():
                if lock is not None:
                    await connection.execute(_LOCK, clean_text(lock))
                yield connection

    @asynccontextmanager
    async def reading(
        self, queries: StatementSet[AnyStatements], *, once: bool = False
    ) -> AsyncGenerator[AnyStatements]:
        """Open a consistent view; see :meth:`Database.reading`."""
        await claim_of_request()
        with span("postgresql.reading"), translated_errors(self.where):
            async with self._pool.acquire() as connection:
                view = connection.transaction(isolation="repeatable_read", readonly=True)
                async with nullcontext() if once else view:
                    yield queries.on(connection)

    async def close(self) -> None:
        """Close the pool; a second call does nothing."""
        await self._pool.close()
