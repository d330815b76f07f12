"""The indexes of a move, built while memories are stored and searched."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from commonplace.knowledge.store.table_statements import TEXTS, table_queries
from commonplace.knowledge.store.unit_of_work import queries
from commonplace.storage.postgres_database import translated_errors

LONGEST_S: Final = 24 * 3600.0
"""The client's time limit of a statement on a large table; a million vectors take minutes."""

_NAMES: Final = {"missed": "idx_{}_missed", "next": "idx_{}_next_embedding"}
_IS_VALID: Final = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
_WHERE: Final = "the database of knowledge memory"

# Statements have no time limit, and the server stops them if the client dies. An index is built ten times faster if it
# fits into memory; 100,000 vectors take 105 MB. Only one process builds, because several would share that memory in
# /dev/shm, which has 64 MB in a container, and because searches need a processor too.
_SETTINGS: Final = (
    "SET statement_timeout = 0",
    "SET lock_timeout = 0",
    "SET client_connection_check_interval = '2s'",
    "SET maintenance_work_mem = '512MB'",
    "SET max_parallel_maintenance_workers = 0",
)


async def build_indexes(pool: asyncpg.Pool) -> None:
    """Build the indexes of missing and of new vectors, and rebuild invalid indexes left by a killed process.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    async with building(pool) as connection:
        for table, leaf in await _leaves(connection):
            for kind in _NAMES:
                await _build(connection, table, leaf, kind)
            await _run(connection, table, leaf, "analyse")


async def drop_indexes(pool: asyncpg.Pool) -> None:
    """Drop both indexes of every table, if they exist.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    async with building(pool) as connection:
        for table, leaf in await _leaves(connection):
            for kind in _NAMES:
                await _run(connection, table, leaf, f"drop_index_{kind}")


@asynccontextmanager
async def building(pool: asyncpg.Pool) -> AsyncGenerator[PoolConnectionProxy]:
    """Lend a connection whose settings suit the building of large indexes.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    with translated_errors(_WHERE):
        async with pool.acquire() as connection:
            for setting in _SETTINGS:
                await connection.execute(setting)
            yield connection


async def _leaves(connection: PoolConnectionProxy) -> list[tuple[str, str]]:
    """Return each table of memories with each table that contains its rows: itself, or its partitions."""
    sql = queries().on(connection)
    return [(table, row["relname"]) for table in TEXTS for row in await sql.leaves(table_name=table)]


async def _build(connection: PoolConnectionProxy, table: str, leaf: str, kind: str) -> None:
    valid = await connection.fetchval(_IS_VALID, _NAMES[kind].format(leaf))
    if valid:
        return
    if valid is not None:
        await _run(connection, table, leaf, f"drop_index_{kind}")
    await _run(connection, table, leaf, f"index_{kind}")


async def _run(connection: PoolConnectionProxy, table: str, leaf: str, name: str) -> None:
    # Not through the named statement, which accepts no time limit.
    await connection.execute(table_queries(table, leaf).text_of(name), timeout=LONGEST_S)
