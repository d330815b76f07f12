"""Dead letters: episodes with no more retries, kept with the last error until they expire (R-KNW-4, KNW-15.1).

Like all episodes they expire seven days after they were stored. Until then an operator can requeue them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.knowledge import inputs
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.nouns import Noun

MAX_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter(Noun):
    """An episode with no more retries, without its text; times are aware UTC."""

    id: UUID
    butler: str
    created_at: datetime
    expires_at: datetime | None
    retry_count: int
    last_error: str | None


async def list_dead_letters(pool: asyncpg.Pool, *, butler: str | None = None) -> list[DeadLetter]:
    """Return the tenant's dead letters, or one butler's, the oldest first, at most 1,000.

    Raises:
        InvalidInputError: ``butler`` is not a valid name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    wanted = inputs.optional_scope(butler, field="butler")
    async with unit_of_work(pool, readonly=True) as sql:
        return DeadLetter.from_rows(await sql.dead_letters(butler=wanted, limit=MAX_SHOWN))


async def requeue_dead_letters(
    pool: asyncpg.Pool, *, butler: str | None = None, clock: Clock = utc_now
) -> int:
    """Retry dead letters from the first attempt, unless they have expired.

    Args:
        pool: The pool of the knowledge database.
        butler: Only this butler's dead letters.
        clock: Gives the present.

    Returns:
        The number of requeued episodes.

    Raises:
        InvalidInputError: ``butler`` is not a valid name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    wanted = inputs.optional_scope(butler, field="butler")
    async with unit_of_work(pool) as sql:
        return await sql.requeue_dead_letters(butler=wanted, now=clock())
