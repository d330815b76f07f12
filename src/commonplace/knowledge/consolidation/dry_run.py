"""Dry run: the runs that consolidation would make now, without a model and without changes (KNW-12.3)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonplace.core.clock import format_timestamp
from commonplace.knowledge.consolidation.leases import due_group
from commonplace.knowledge.consolidation.prompt import MAX_EPISODES
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.store.statements import KnowledgeStatements


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that would follow if earlier runs succeed: its episodes, oldest first, and their times (UTC)."""

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


async def runs_of(
    sql: KnowledgeStatements, butler: str, policy: Policy, now: datetime
) -> AsyncIterator[PlannedRun]:
    """Yield the runs that consolidation would make for a butler now, up to the first episode that is not due."""
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
