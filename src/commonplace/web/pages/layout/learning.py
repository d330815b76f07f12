"""New memories for the overview: the newest memories as one list, and the number per day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories

DAYS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedMemory:
    """A new memory.

    Attributes:
        text: The text.
        kind: The kind: a lesson, a digest or a note.
        key: The full id.
        about: The service or the app; empty for a general memory.
        at: The time of creation.
    """

    text: str
    kind: MemoryKind
    key: str
    about: str
    at: datetime


async def latest(memories: Memories, *, limit: int) -> list[LearnedMemory]:
    """Return the newest memories, newest first."""
    found = [
        *(
            LearnedMemory(
                text=one.observation,
                kind=MemoryKind.LESSON,
                key=str(one.id),
                about=one.service or "",
                at=one.created_at,
            )
            for one in await memories.operational.figures.newest(limit=limit)
        ),
        *(
            LearnedMemory(
                text=one.content,
                kind=MemoryKind.DIGEST,
                key=str(one.id),
                about=one.app_id,
                at=one.created_at,
            )
            for one in await memories.apps.figures.newest(limit=limit)
        ),
        *(
            LearnedMemory(text=one.text, kind=MemoryKind.NOTE, key=one.id, about="", at=one.created_at)
            for one in (await memories.workspace.search(limit=limit)).memories
        ),
    ]
    return sorted(found, key=lambda one: one.at, reverse=True)[:limit]


def first_day(today: datetime) -> datetime:
    """Return the beginning of the first of the thirty days that end with today (UTC)."""
    return datetime.combine(today.astimezone(UTC).date(), time(), tzinfo=UTC) - timedelta(days=DAYS - 1)


def per_day(counts: Mapping[date, int], since: datetime) -> list[int]:
    """Return the number of new memories on each of thirty days, oldest day first.

    Args:
        counts: The numbers by day, without days that have none.
        since: The beginning of the first day, from :func:`first_day`.
    """
    return [counts.get(since.date() + timedelta(days=day), 0) for day in range(DAYS)]
