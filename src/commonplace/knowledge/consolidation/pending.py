"""Episodes that wait for consolidation, grouped and counted."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.nouns import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup(Noun):
    """The number of waiting episodes of one butler, and the time of the oldest (aware UTC)."""

    butler: str
    episodes: int
    oldest_at: datetime


async def pending_groups(pool: asyncpg.Pool, *, clock: Clock = utc_now) -> list[PendingGroup]:
    """Return the tenant's waiting episodes by butler, without expired episodes.

    Raises:
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-12.3.
    """
    async with unit_of_work(pool, readonly=True) as sql:
        return PendingGroup.from_rows(await sql.pending_groups(now=clock()))
