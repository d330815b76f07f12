"""Transactions on the tables of the queue, with their named statements."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Final

import asyncpg

from commonplace.knowledge.store.statements import QueueStatements
from commonplace.storage.database import StatementSet, load_queries
from commonplace.storage.postgres_database import translated_errors

SQL_DIRECTORY: Final = Path(__file__).parent / "sql_of_queue"
WHERE: Final = "the queue of background work"


@cache
def queries() -> StatementSet[QueueStatements]:
    """Return the named statements of the queue; read once."""
    return load_queries(QueueStatements, [SQL_DIRECTORY], "postgresql")


@asynccontextmanager
async def queue_work(pool: asyncpg.Pool) -> AsyncGenerator[QueueStatements]:
    """Open a transaction on the queue; it commits at the end of the block, and rolls back on any exception.

    The transaction has no tenant: of knowledge memory it sees only the list of tenants.

    Raises:
        StorageUnavailableError: The server cannot be reached; nothing was written.
    """
    with translated_errors(WHERE):
        async with pool.acquire() as connection, connection.transaction():
            sql = queries().on(connection)
            await sql.set_queue_path()
            yield sql
