"""Episode cleanup: what has expired goes, and what is consolidated makes room (KNW-15)."""

import logging
from typing import Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress, silent

DEFAULT_MAX_ENTRIES: Final = 10_000
BATCH_ROWS: Final = 1_000
_LOCK: Final = "episode cleanup"

_log = logging.getLogger(__name__)


async def run_episode_cleanup(
    pool: asyncpg.Pool,
    *,
    max_entries: int = DEFAULT_MAX_ENTRIES,
    on_progress: OnUpkeep = silent,
    clock: Clock = utc_now,
) -> dict[str, int]:
    """Delete the tenant's expired episodes, then the oldest consolidated ones beyond a number.

    Episodes that are not consolidated and have not expired always stay, also beyond the number. The links of a
    deleted episode go with it, and what was learned from it loses its reference. Work is done in batches of 1,000,
    each a transaction.

    Args:
        pool: Of the database.
        max_entries: How many episodes may stay, 0 or more.
        on_progress: Told after each batch how many are deleted: of those that had expired, then of the others.
        clock: The present.

    Returns:
        ``expired_deleted``, of which ``expired_unconsolidated`` had never been consolidated (also logged);
        ``capacity_deleted``; and ``remaining``.

    Raises:
        InvalidInputError: ``max_entries`` is not a number from 0.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-15.
    """
    if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - callers have no types
        raise InvalidInputError("max_entries", "a whole number from 0", max_entries)
    expired, unconsolidated = await _delete_expired(pool, on_progress, clock)
    surplus, remaining = await _delete_surplus(pool, max_entries, on_progress)
    if unconsolidated:
        _log.warning("%d episodes expired before they were consolidated", unconsolidated)
    return {
        "expired_deleted": expired,
        "expired_unconsolidated": unconsolidated,
        "capacity_deleted": surplus,
        "remaining": remaining,
    }


async def _delete_expired(pool: asyncpg.Pool, on_progress: OnUpkeep, clock: Clock) -> tuple[int, int]:
    deleted = unconsolidated = 0
    now = clock()
    while True:
        async with unit_of_work(pool) as sql:
            await sql.serialise(keys=[_LOCK])
            batch = await sql.delete_expired_episodes(limit=BATCH_ROWS, now=now)
        deleted += batch["deleted"]
        unconsolidated += batch["unconsolidated"]
        on_progress(UpkeepProgress(step="expired episodes deleted", done=deleted))
        if batch["deleted"] == 0:
            return deleted, unconsolidated


async def _delete_surplus(pool: asyncpg.Pool, max_entries: int, on_progress: OnUpkeep) -> tuple[int, int]:
    deleted = 0
    while True:
        async with unit_of_work(pool) as sql:
            await sql.serialise(keys=[_LOCK])
            batch = await sql.delete_surplus_episodes(max_entries=max_entries, limit=BATCH_ROWS)
        deleted += batch["deleted"]
        on_progress(UpkeepProgress(step="episodes beyond the number deleted", done=deleted))
        if batch["deleted"] == 0:
            return deleted, batch["total"]
