"""Exchange of tables in one short transaction, during which nobody stores or searches memories."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

import asyncpg

from commonplace.core.errors import StorageUnavailableError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge.partitions.layout import execute_all
from commonplace.knowledge.reembedding.indexes import LONGEST_S
from commonplace.knowledge.reembedding.moves import work_of
from commonplace.knowledge.store.statements import KnowledgeStatements

ATTEMPTS: Final = 240
"""Number of attempts to exchange the tables before the operation fails with an error."""

PAUSE_S: Final = 0.5
_BUSY: Final = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)

_T = TypeVar("_T")

Change = Callable[[KnowledgeStatements], Awaitable[None]]
"""Changes tables in a transaction."""

_log = logging.getLogger(__name__)


async def exchange(pool: asyncpg.Pool, change: Change, *, tenant: str = DEFAULT_TENANT) -> None:
    """Change the tables of memories in one exclusive transaction, with their foreign keys removed.

    The transaction waits half a second for running transactions, then lets them pass and tries again. At its end the
    foreign keys exist again; they are checked later.

    Args:
        pool: A pool of the tables' owner.
        change: Changes the tables.
        tenant: The tenant whose rows the change sees.

    Raises:
        StorageUnavailableError: The tables stay in use, or the server cannot be reached.
    """

    async def in_turn(sql: KnowledgeStatements) -> None:
        await sql.hold_writers()
        await sql.hold_everybody()
        keys = await sql.foreign_keys()
        await execute_all(sql, keys, "dropping")
        await change(sql)
        await execute_all(sql, keys, "adding")

    await when_free(pool, in_turn, tenant=tenant)


async def when_free(
    pool: asyncpg.Pool,
    change: Callable[[KnowledgeStatements], Awaitable[_T]],
    *,
    tenant: str = DEFAULT_TENANT,
) -> _T:
    """Retry a transaction of a tenant until no other transaction holds the locks that it needs.

    Returns:
        The result of the change.

    Raises:
        StorageUnavailableError: The tables stay in use, or the server cannot be reached.
    """
    for _ in range(ATTEMPTS):
        with suppress(_NotYetError):
            async with work_of(pool, tenant) as sql:
                await sql.prepare_exchange()
                try:
                    return await change(sql)
                except _BUSY as error:
                    _log.info("the tables of memories are in use: %s", error)
                    raise _NotYetError from error
        await asyncio.sleep(PAUSE_S)
    raise StorageUnavailableError(
        f"the tables of memories stayed in use during {ATTEMPTS} attempts: end the transactions that "
        "pg_stat_activity shows as idle or long, then run the command again"
    )


class _NotYetError(Exception):
    """Rolls the transaction back, to be tried again."""


async def validate_foreign_keys(pool: asyncpg.Pool) -> None:
    """Validate the foreign keys that an exchange added; memories can be stored and searched meanwhile."""
    async with work_of(pool, readonly=True) as sql:
        keys = [key["validating"] for key in await sql.foreign_keys() if not key["is_valid"]]
    async with pool.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        for key in keys:
            await connection.execute(key, timeout=LONGEST_S)
