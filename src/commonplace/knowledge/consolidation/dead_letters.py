"""Dead letters: episodes on which every attempt failed, kept with the last error until they expire (R-KNW-4, KNW-15.1).

That is seven days after they were stored, like all episodes; until then somebody can have them tried again.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.knowledge import inputs
from commonplace.knowledge.unit_of_work import unit_of_work

MAX_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An episode that is tried no more, without its text; times are aware UTC."""

    id: UUID
    butler: str
    created_at: datetime
    expires_at: datetime | None
    retry_count: int
    last_error: str | None


async def list_dead_letters(pool: asyncpg.Pool, *, butler: str | None = None) -> list[DeadLetter]:
    """Return the tenant's dead letters, the oldest first, at most 1,000; of one butler where that is given.

    Raises:
        InvalidInputError: ``butler`` is no name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    wanted = None if butler is None else inputs.require_scope(butler, field="butler")
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.dead_letters(butler=wanted, limit=MAX_SHOWN)
    return [DeadLetter(**row) for row in rows]


async def requeue_dead_letters(
    pool: asyncpg.Pool, *, butler: str | None = None, clock: Clock = utc_now
) -> int:
    """Let dead letters be tried again, from the first attempt; those that have expired are left alone.

    Args:
        pool: Of the database.
        butler: Only those of this butler.
        clock: The present.

    Returns:
        How many wait again.

    Raises:
        InvalidInputError: ``butler`` is no name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    wanted = None if butler is None else inputs.require_scope(butler, field="butler")
    async with unit_of_work(pool) as sql:
        return await sql.requeue_dead_letters(butler=wanted, now=clock())
