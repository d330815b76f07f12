"""Pairs of observations of operational memory whose verdict is in doubt.

Operational memory is imported by its first use, because MCP clients wait for the import of this module.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from commonplace import operational
from commonplace.core.errors import NotFoundError
from commonplace.core.pages import MOST_ROWS
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import (
    DecisionReceipt,
    DecisionRecord,
    Item,
    MemoryChange,
    ReviewVerdict,
    Side,
    Topic,
)

if TYPE_CHECKING:
    from commonplace.operational import Lesson, OperationalMemory, Review


async def list_pairs(memory: "OperationalMemory", *, decided: bool, limit: int) -> list[Item]:
    """Return the waiting pairs, oldest first, or the decided pairs, newest first."""
    return [pair_item(review) for review in await memory.reviews.list(decided=decided, limit=limit)]


async def decide(memory: "OperationalMemory", key: ItemId, verdict: ReviewVerdict) -> DecisionReceipt:
    """Decide about a pair; for the errors see :meth:`.OperationalReviews.decide`."""
    return await _changed(memory, key, lambda number: memory.reviews.decide(number, verdict))


async def undo(memory: "OperationalMemory", key: ItemId) -> DecisionReceipt:
    """Undo the decision about a pair; for the errors see :meth:`.OperationalReviews.undo`."""
    return await _changed(memory, key, memory.reviews.undo)


async def _changed(
    memory: "OperationalMemory", key: ItemId, change: Callable[[int], "Awaitable[Review]"]
) -> DecisionReceipt:
    if key.number > MOST_ROWS:  # No column holds such an id.
        raise NotFoundError("review", key.number)
    before = await _memories_of(memory, await memory.reviews.get(key.number))
    review = await change(key.number)
    after = await _memories_of(memory, review)
    item = pair_item(review)
    return DecisionReceipt(
        id=item.id,
        verdict=item.decision and item.decision.verdict,
        undoable=item.decision is not None,
        item=item,
        changes=tuple(_change(*states) for states in zip(before, after, strict=True)),
    )


async def _memories_of(memory: "OperationalMemory", review: "Review") -> "tuple[Lesson, Lesson]":
    return await memory.get(review.old_id), await memory.get(review.new_id)


def _change(before: "Lesson", after: "Lesson") -> MemoryChange:
    return MemoryChange(
        id=after.id,
        confidence_before=before.confidence,
        confidence=after.confidence,
        active_before=before.active,
        active=after.active,
        rewritten=after.observation != before.observation,
    )


def pair_item(review: "Review") -> Item:
    """Return a pair of observations as an item."""
    key = ItemId(kind=ItemKind.OBSERVATIONS, first=str(review.id))
    return Item(
        id=str(key),
        topic=Topic.DOUBT,
        reason=review.reason,
        about=f"{review.category}: {review.service or operational.GENERAL}",
        sides=(
            Side(role="Old", kind="memory", id=str(review.old_id), text=review.old_observation),
            Side(role="New", kind="memory", id=str(review.new_id), text=review.new_observation),
        ),
        verdicts=key.verdicts,
        since=review.created_at,
        decision=DecisionRecord.of(
            review.decision, by=review.decided_by, at=review.decided_at, explanation=review.explanation
        ),
    )
