"""Check of the PostgreSQL server."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from commonplace.core.errors import StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.postgres import open_pool
from commonplace.storage.postgres_database import translated_errors
from commonplace.storage.roles import CAN_SWITCH_OFF

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

ROLE_WARNING: Final = (
    "; warning: this role also owns the tables, so it can disable row-level security. Set "
    "COMMONPLACE_POSTGRES_OWNER_URL to the owner, and COMMONPLACE_POSTGRES_URL to a role without other rights"
)


async def probe_postgres(settings: Settings) -> str:
    """Write, search by vector and delete in a temporary table of the server in the settings.

    Returns:
        A description of the result, with the server's versions.

    Raises:
        StorageError: The server cannot be started or reached, or gives a wrong answer.
    """
    async with AsyncExitStack() as stack:
        where = "by URL" if settings.postgres_url else f"embedded, {settings.postgres_directory}"
        source = settings.postgres_url or await stack.enter_async_context(
            EmbeddedPostgres(settings.postgres_directory)
        )
        with translated_errors(where):
            pool = await stack.enter_async_context(await open_pool(source, max_size=1))
            async with pool.acquire() as connection:
                warning = ROLE_WARNING if await connection.fetchval(CAN_SWITCH_OFF) else ""
                return f"{await _use(connection)}; {where}{warning}"


async def _use(connection: "PoolConnectionProxy") -> str:
    async with connection.transaction():
        await connection.execute("CREATE TEMPORARY TABLE probe (id int, v vector(3)) ON COMMIT DROP")
        vectors = [(1, [1.0, 0.0, 0.0]), (2, [0.0, 1.0, 0.0])]
        await connection.executemany("INSERT INTO probe VALUES ($1, $2)", vectors)
        nearest = await connection.fetchval("SELECT id FROM probe ORDER BY v <=> $1 LIMIT 1", [0.1, 0.9, 0.0])
        deleted = await connection.execute("DELETE FROM probe")
    if nearest != vectors[1][0] or deleted != "DELETE 2":
        raise StorageUnavailableError(
            f"the server returned {nearest!r} as the nearest of two vectors, and {deleted!r} for the delete"
        )
    server = await connection.fetchval("SHOW server_version")
    pgvector = await connection.fetchval("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    role = await connection.fetchval("SELECT current_user")
    return f"PostgreSQL {server} with pgvector {pgvector} as role {role}: wrote, searched by vector, deleted"
