"""The dry run: the runs that consolidation would make now, without a model and without changes (KNW-12.3)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, format_timestamp
from commonplace.knowledge.connection.unit_of_work import unit_of_work
from commonplace.knowledge.consolidation.leases import due_group
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.prompt import MAX_EPISODES
from commonplace.storage.database import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that would be made if the runs before it succeed.

    Attributes:
        butler: The owner of the episodes.
        episode_ids: The episodes that would go to the model together, the oldest first.
        oldest_at: The time of the first episode (aware UTC).
        newest_at: The time of the last episode.
    """

    butler: str
    episode_ids: tuple[UUID, ...]
    oldest_at: datetime
    newest_at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON-safe values."""
        return {
            "butler": self.butler,
            "episodes": len(self.episode_ids),
            "oldest_at": format_timestamp(self.oldest_at),
            "newest_at": format_timestamp(self.newest_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRuns:
    """The runs of some butlers in order, butlers that another worker holds, and butlers whose episodes are not due."""

    runs: tuple[PlannedRun, ...]
    busy: tuple[str, ...]
    waiting: tuple[str, ...]


async def planned_runs(
    pool: asyncpg.Pool, butlers: list[str], *, policy: Policy, clock: Clock
) -> PlannedRuns:
    """Return the runs that consolidation would make for some butlers now.

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
    """Yield a butler's runs, up to the first episode that is not due."""
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
