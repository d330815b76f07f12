"""How many memories there are in which state (KNW-22)."""

from typing import Any

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.knowledge import inputs
from commonplace.knowledge.unit_of_work import unit_of_work


async def memory_stats(
    pool: asyncpg.Pool, *, scope: str | None = None, clock: Clock = utc_now
) -> dict[str, dict[str, Any]]:
    """Count the tenant's memories by state, in one consistent view.

    Args:
        pool: Of the database.
        scope: Count facts and rules of the global scope and of this one only; episodes are all counted.
        clock: The present.

    Returns:
        ``episodes`` (``total``; ``unconsolidated``, which are pending; ``leased``, which a worker has now; ``failed``,
        which will be tried again; ``dead_letter``; ``backlog_age_hours``: of the oldest pending one, or ``None``),
        ``facts`` (``active``, which are not fading; ``fading``, ``superseded``, ``expired``, ``retracted``) and
        ``rules`` (``candidate``, ``established``, ``proven``, ``anti_pattern``, which are not forgotten;
        ``forgotten``).

    Raises:
        InvalidInputError: ``scope`` is not a scope's name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-22.
    """
    wanted = None if scope is None else inputs.require_scope(scope)
    async with unit_of_work(pool, readonly=True) as sql:
        row = await sql.memory_stats(scope=wanted, now=clock())
    stats: dict[str, dict[str, Any]] = {"episodes": {}, "facts": {}, "rules": {}}
    for name, value in row.items():
        kind, _, state = name.partition("_")
        stats[kind][state] = value
    return stats
