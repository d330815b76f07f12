"""What waits for consolidation: the run without a model, which groups and counts and changes nothing."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.knowledge.unit_of_work import unit_of_work


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup:
    """Episodes of one butler that wait: how many, and when the oldest of them happened (aware UTC)."""

    butler: str
    episodes: int
    oldest_at: datetime


async def pending_groups(pool: asyncpg.Pool, *, clock: Clock = utc_now) -> list[PendingGroup]:
    """Return the tenant's groups of episodes that wait for consolidation, by butler; expired ones do not count.

    Raises:
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-12.3.
    """
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.pending_groups(now=clock())
    return [PendingGroup(**row) for row in rows]
