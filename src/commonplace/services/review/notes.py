"""Pairs of notes that contradict each other."""

from typing import TYPE_CHECKING

from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import (
    DecisionReceipt,
    DecisionRecord,
    Item,
    ReviewVerdict,
    Side,
    Topic,
)

if TYPE_CHECKING:
    from commonplace.workspace import NotePair, WorkspaceMemory


async def list_pairs(memory: "WorkspaceMemory", *, decided: bool, limit: int) -> list[Item]:
    """Return the waiting pairs, oldest first, or the decided pairs, newest first."""
    return [_item(pair) for pair in (await memory.reviews.list(decided=decided))[:limit]]


async def decide(memory: "WorkspaceMemory", key: ItemId, verdict: ReviewVerdict) -> DecisionReceipt:
    """Decide about a pair; for the errors see :meth:`.NoteReviews.decide`."""
    return _receipt(await memory.reviews.decide(key.first, key.second, verdict))


async def undo(memory: "WorkspaceMemory", key: ItemId) -> DecisionReceipt:
    """Undo the decision about a pair; for the errors see :meth:`.NoteReviews.undo`."""
    return _receipt(await memory.reviews.undo(key.first, key.second))


def _receipt(pair: "NotePair") -> DecisionReceipt:
    item = _item(pair)
    verdict = None if item.decision is None else item.decision.verdict
    return DecisionReceipt(id=item.id, verdict=verdict, undoable=verdict is not None, item=item)


def _item(pair: "NotePair") -> Item:
    key = ItemId(kind=ItemKind.OPPOSED, first=f"w:{pair.older.number}", second=f"w:{pair.newer.number}")
    return Item(
        id=str(key),
        topic=Topic.DOUBT,
        reason=pair.reason,
        about="",
        sides=(
            Side(role="Old", kind="note", id=pair.older.id, text=pair.older.text),
            Side(role="New", kind="note", id=pair.newer.id, text=pair.newer.text),
        ),
        verdicts=key.verdicts,
        since=pair.since,
        decision=DecisionRecord.of(pair.decision, by=pair.decided_by, at=pair.decided_at),
    )
