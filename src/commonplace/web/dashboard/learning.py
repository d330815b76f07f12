"""New memories of operational, app and workspace memory, as one list and one chart for the overview."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError
from commonplace.memories import Memories
from commonplace.web.access import knowledge_of, memories
from commonplace.web.dashboard.series import Series

DAYS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """A new memory.

    Attributes:
        text: The text.
        memory: ``operational``, ``app`` or ``workspace``.
        about: The service or the app; empty for a general memory.
        url: The page of the memory.
        at: The time of creation.
    """

    text: str
    memory: str
    about: str
    url: str
    at: datetime


async def latest(memories: Memories, *, limit: int) -> list[Learned]:
    """Return the newest memories, newest first."""
    found = [
        *(
            Learned(
                text=one.observation,
                memory="operational",
                about=one.service or "",
                url=f"/memories/{one.id}",
                at=one.created_at,
            )
            for one in await memories.operational.views.recent_memories(limit=limit)
        ),
        *(
            Learned(
                text=one.content, memory="app", about=one.app_id, url=f"/apps/{one.app_id}", at=one.created_at
            )
            for one in await memories.apps.views.newest(limit=limit)
        ),
        *(
            Learned(text=one.text, memory="workspace", about="", url="/workspace", at=one.created_at)
            for one in (await memories.workspace.search(limit=limit)).memories
        ),
    ]
    return sorted(found, key=lambda one: one.at, reverse=True)[:limit]


async def by_day(request: Request) -> dict[str, Any]:
    """Read the number of new memories on each of the last thirty days (UTC), for the chart.

    Knowledge memory is left out if its database cannot be reached.
    """
    open_memories = memories(request)
    today = open_memories.operational.views.now().astimezone(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    since = _midnight(days[0])
    counts = Counter(await open_memories.operational.views.learned_by_day(since=since))
    counts.update(await open_memories.apps.views.created_by_day(since=since))
    with suppress(CommonplaceError):
        counts.update(await knowledge_of(request).learned_by_day(since=since))
    facts = (await open_memories.workspace.search(limit=None)).memories
    counts.update(one.created_at.astimezone(UTC).date() for one in facts)
    moments = [_midnight(day) for day in days]
    values = [counts[day] for day in days]
    return {"series": Series(name="learned", moments=moments, values=values, span=timedelta(days=1))}


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
