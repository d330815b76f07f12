"""The shelf of operational memory: lessons."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Final, cast

from commonplace.core.confidence import step
from commonplace.operational import (
    GENERAL,
    Change,
    Lesson,
    MemoryFilter,
    OperationalMemory,
    format_confidence,
)
from commonplace.services.catalog.entries import CatalogEntry, CatalogFilter, HistoryStep, MemoryState, Verb
from commonplace.services.catalog.shelf import ShelfChange, not_for, release
from commonplace.services.memory_ids import MemoryId, MemoryKind

CONFIRMATION: Final = Decimal("0.1")
"""A person's confirmation counts as much as a reinforcement by the agent."""


class Lessons:
    """Lessons in the catalog."""

    def __init__(self, memory: OperationalMemory) -> None:
        self._memory = memory

    async def get(self, memory_id: MemoryId) -> CatalogEntry:
        """Return a lesson."""
        return lesson_entry(await self._memory.get(memory_id.number))

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:  # noqa: ARG002 - one kind
        """Return lessons, last updated first."""
        active = None if narrowing.all_states else True
        lessons = await self._memory.list_memories(
            MemoryFilter(active=active, search=narrowing.contains or None, sort="recency")
        )
        return [entry for each in lessons if narrowing.matches(entry := lesson_entry(each))][
            : narrowing.limit
        ]

    async def edit(self, memory_id: MemoryId, content: str, *, allow_secrets: bool) -> ShelfChange:
        """Change the text of a lesson; the confidence stays."""
        before = await self._memory.get(memory_id.number)
        (after,) = await self._memory.edit([before.id], observation=content, allow_secrets=allow_secrets)
        return ShelfChange(entry=lesson_entry(after), undo={"observation": before.observation})

    async def confirm(self, memory_id: MemoryId) -> ShelfChange:
        """Raise the confidence by 0.1 and restart the staleness check; prompts show a flagged lesson again."""
        before = await self._memory.get(memory_id.number)
        if before.flags:
            release(self._memory.quarantine, memory_id, before.observation)
        (after,) = await self._memory.edit([before.id], confidence=step(before.confidence, CONFIRMATION))
        return ShelfChange(entry=lesson_entry(after), undo={"confidence": before.confidence})

    async def pin(self, memory_id: MemoryId, *, pinned: bool) -> ShelfChange:
        """Refuse: lessons are shown by service and confidence."""
        raise not_for(memory_id, "pin" if pinned else "unpin", "Only facts and rules can be pinned.")

    async def keep_for_undo(self, memory_id: MemoryId) -> Mapping[str, object]:
        """Return the confidence of a lesson."""
        return {"confidence": (await self._memory.get(memory_id.number)).confidence}

    async def forget(self, memory_id: MemoryId) -> CatalogEntry:
        """Set the confidence to 0.0, so that no prompt shows the lesson."""
        (lesson,) = await self._memory.edit([memory_id.number], confidence=0.0)
        return lesson_entry(lesson)

    async def undo(self, memory_id: MemoryId, verb: Verb, state: Mapping[str, object]) -> ShelfChange:
        """Restore the text or the confidence; a lesson that was added is deleted."""
        before = await self._memory.get(memory_id.number)
        if verb is Verb.ADD:
            await self._memory.delete([before.id])
            return ShelfChange(entry=lesson_entry(before))
        (after,) = await self._memory.edit(
            [before.id],
            observation=cast("str | None", state.get("observation")),
            confidence=cast("float | None", state.get("confidence")),
            allow_secrets=True,
        )
        return ShelfChange(entry=lesson_entry(after))

    async def history(self, memory_id: MemoryId) -> Sequence[HistoryStep]:
        """Return the changes of a lesson."""
        await self._memory.get(memory_id.number)
        return [
            HistoryStep(
                at=each.created_at,
                event=each.kind,
                actor=each.actor,
                text=_change_text(each),
            )
            for each in await self._memory.history(memory_id.number)
        ]


def _change_text(change: Change) -> str:
    """Return the new text or the new confidence of a change, and its reason."""
    after = change.after or {}
    parts = [change.wording or str(after.get("observation", ""))]
    if "confidence" in after:
        parts.append(f"confidence {format_confidence(after['confidence'])}")
    return "; ".join(part for part in (*parts, change.reason) if part)


def lesson_entry(lesson: Lesson) -> CatalogEntry:
    """Return a lesson as an entry."""
    memory_id = MemoryId.of(MemoryKind.LESSON, lesson.id)
    state = MemoryState.FLAGGED if lesson.flags else MemoryState.CURRENT
    return CatalogEntry(
        id=str(memory_id),
        full_id=memory_id.full,
        kind=MemoryKind.LESSON,
        state=state if lesson.active else MemoryState.INACTIVE,
        text=lesson.observation,
        content=lesson.observation,
        about=lesson.service or GENERAL,
        confidence=lesson.confidence,
        created_at=lesson.created_at,
        fields={name: value for name, value in asdict(lesson).items() if name != "quarantine"},
    )
