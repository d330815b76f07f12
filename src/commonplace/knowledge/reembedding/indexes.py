"""The indexes that a move needs, built while memories are stored and searched."""

from typing import Final, Literal

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from commonplace.knowledge.reembedding.statements import TEXTS, table_queries
from commonplace.storage.postgres_database import translated_errors

Kind = Literal["missed", "next"]

LONGEST_S: Final = 24 * 3600.0
"""For one index; a million vectors take minutes."""

_NAMES: Final = {"missed": "idx_{}_missed", "next": "idx_{}_next_embedding"}
_IS_VALID: Final = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
_WHERE: Final = "the database of knowledge memory"

# No limit on the statement; a backend whose client has died stops; a graph that fits into memory is built ten times as
# fast as one that does not, and 100,000 vectors take 105 MB. One process builds: several share that memory in /dev/shm,
# which has 64 MB in a container, and searches want a processor as well.
_SETTINGS: Final = (
    "SET statement_timeout = 0",
    "SET lock_timeout = 0",
    "SET client_connection_check_interval = '2s'",
    "SET maintenance_work_mem = '512MB'",
    "SET max_parallel_maintenance_workers = 0",
)


async def build_indexes(pool: asyncpg.Pool) -> None:
    """Build missing indexes and those of the next vectors, and rebuild what a killed process left half done.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    with translated_errors(_WHERE):
        async with pool.acquire() as connection:
            for setting in _SETTINGS:
                await connection.execute(setting)
            for table in TEXTS:
                for kind in ("missed", "next"):
                    await _build(connection, table, kind)
                await _run(connection, table, "analyse")


async def drop_indexes(pool: asyncpg.Pool) -> None:
    """Drop both indexes of every table, where they are.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    with translated_errors(_WHERE):
        async with pool.acquire() as connection:
            for setting in _SETTINGS:
                await connection.execute(setting)
            for table in TEXTS:
                for kind in ("missed", "next"):
                    await _run(connection, table, f"drop_index_{kind}")


async def _build(connection: PoolConnectionProxy, table: str, kind: Kind) -> None:
    valid = await connection.fetchval(_IS_VALID, _NAMES[kind].format(table))
    if valid:
        return
    if valid is not None:
        await _run(connection, table, f"drop_index_{kind}")
    await _run(connection, table, f"index_{kind}")


async def _run(connection: PoolConnectionProxy, table: str, name: str) -> None:
    # Not by way of the named statement, which has no time limit of its own to give.
    await connection.execute(getattr(table_queries(table), name).sql, timeout=LONGEST_S)
