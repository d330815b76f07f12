"""Episode cleanup: deletes expired episodes, then the oldest consolidated episodes over a limit (KNW-15)."""

import logging
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupReceipt:
    """Numbers of episodes after a cleanup.

    Attributes:
        expired_deleted: Deleted because they had expired.
        expired_unconsolidated: Expired episodes that had never been consolidated; also logged.
        capacity_deleted: Consolidated episodes deleted because there were too many.
        remaining: Episodes that are left.
    """

    expired_deleted: int
    expired_unconsolidated: int
    capacity_deleted: int
    remaining: int


async def run_episode_cleanup(
    pool: asyncpg.Pool,
    *,
    max_entries: int = DEFAULT_MAX_ENTRIES,
    on_progress: OnUpkeep = silent,
    clock: Clock = utc_now,
) -> CleanupReceipt:
    """Delete the tenant's expired episodes, then the oldest consolidated episodes over a limit.

    Episodes that are neither consolidated nor expired stay, even over the limit. The links of a deleted episode are
    deleted too, and memories that were learned from it lose their reference. Each batch of 1,000 is one transaction.

    Args:
        pool: The pool of the knowledge database.
        max_entries: The number of episodes to keep, 0 or more.
        on_progress: Called after each batch with the number of deleted episodes, expired ones first.
        clock: Gives the present.

    Raises:
        InvalidInputError: ``max_entries`` is not a whole number from 0.
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
    return CleanupReceipt(
        expired_deleted=expired,
        expired_unconsolidated=unconsolidated,
        capacity_deleted=surplus,
        remaining=remaining,
    )


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
        on_progress(UpkeepProgress(step="episodes over the limit deleted", done=deleted))
        if batch["deleted"] == 0:
            return deleted, batch["total"]
