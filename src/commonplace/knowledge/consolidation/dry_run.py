"""The dry run: which runs consolidation would make now, without asking a model or changing anything (KNW-12.3)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock
from commonplace.knowledge.consolidation.leases import due_group
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.prompt import MAX_EPISODES
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that would be made, if those before it went well.

    Attributes:
        butler: Whose episodes.
        episode_ids: The episodes that would go to the model together, the oldest first.
        oldest_at: When the first of them was (aware UTC).
        newest_at: Likewise of the last.
    """

    butler: str
    episode_ids: tuple[UUID, ...]
    oldest_at: datetime
    newest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRuns:
    """What would be done for some butlers: the runs in their order, and who has to wait for what."""

    runs: tuple[PlannedRun, ...]
    busy: tuple[str, ...]
    waiting: tuple[str, ...]


async def planned_runs(
    pool: asyncpg.Pool, butlers: list[str], *, policy: Policy, clock: Clock
) -> PlannedRuns:
    """Return the runs that would be made for some butlers now.

    Raises:
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    now = clock()
    runs: list[PlannedRun] = []
    busy: list[str] = []
    waiting: list[str] = []
    async with unit_of_work(pool, readonly=True) as sql:
        for butler in butlers:
            if await sql.is_busy(butler=butler, now=now, latest_lease=policy.latest_lease(now)):
                busy.append(butler)
                continue
            theirs = [run async for run in _runs_of(sql, butler, policy, now)]
            runs += theirs
            if not theirs:
                waiting.append(butler)
    return PlannedRuns(runs=tuple(runs), busy=tuple(busy), waiting=tuple(waiting))


async def _runs_of(sql: Statements, butler: str, policy: Policy, now: datetime) -> AsyncIterator[PlannedRun]:
    """Yield a butler's runs, up to the first episode whose turn has not come."""
    after_created_at, after_order = None, 0
    while True:
        rows = await sql.next_episodes(
            butler=butler,
            after_created_at=after_created_at,
            after_order=after_order,
            limit=MAX_EPISODES,
            max_attempts=policy.max_attempts,
            now=now,
            latest_attempt=policy.latest_attempt(now),
        )
        group = due_group(rows)
        if not group:
            return
        yield PlannedRun(
            butler=butler,
            episode_ids=tuple(episode.id for episode in group),
            oldest_at=group[0].created_at,
            newest_at=group[-1].created_at,
        )
        last = rows[len(group) - 1]
        after_created_at, after_order = last["created_at"], last["insertion_order"]
