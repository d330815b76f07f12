"""Items of knowledge memory: pairs of facts or rules, unclear subjects, single memories and failed episodes."""

from typing import Final

from commonplace.core.errors import NotFoundError
from commonplace.knowledge import (
    DeadLetter,
    DuplicatePair,
    Fact,
    FactReview,
    KnowledgeMemory,
    MemoryType,
    OpposedPair,
    Rule,
    SubjectCandidate,
    WaitingMemory,
    short_id,
)
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import (
    DecisionReceipt,
    DecisionRecord,
    Item,
    ReviewVerdict,
    Side,
    Topic,
)

REASONS: Final = {
    Topic.HELD: "The fact contradicts a more trusted fact. If you confirm it, it replaces that fact.",
    Topic.FLAGGED: "The text looks like an instruction, so prompts leave it out until you confirm it.",
    Topic.FADING: "The memory is in use, and it fades within 14 days.",
    Topic.STALE: "The source of the memory was replaced or forgotten.",
    Topic.HARMFUL: "The rule did harm since its last confirmation.",
}
_LIKENESSES: Final = {
    "spelling": "Their subjects and predicates differ only in spelling.",
    "words": "Their texts are equal.",
    "meaning": "Their meanings are nearly the same.",
}


async def list_items(memory: KnowledgeMemory, *, decided: bool, limit: int) -> list[Item]:
    """Return the waiting items, kind by kind, or the decided pairs, latest first; at most ``limit`` of each kind.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    pairs = [_replaced(review) for review in await memory.reviews.list(decided=decided, limit=limit)]
    if decided:
        return pairs
    return [
        *pairs,
        *map(_opposed, await memory.reviews.opposed.list(limit=limit)),
        *map(_duplicate, await memory.reviews.duplicates.list(limit=limit)),
        *map(_subject, await memory.reviews.subjects.list(limit=limit)),
        *map(_single, await memory.reviews.waiting(limit=limit)),
        *map(_failure, (await memory.dead_letters.list())[:limit]),
    ]


async def decide(memory: KnowledgeMemory, key: ItemId, verdict: ReviewVerdict) -> DecisionReceipt:
    """Decide about an item; the verdict must fit it.

    Raises:
        InvalidInputError: Several memories have a short id.
        ConflictError: The pair is decided, the decision cannot be applied, or an agent confirms a held fact.
        NotFoundError: The item does not exist, or its memories are no longer active.
        StorageUnavailableError: The server cannot be reached.
    """
    item: Item | None = None
    is_same = verdict is ReviewVerdict.SAME
    match key.kind:
        case ItemKind.FACTS:
            item = await _decide_facts(memory, key, verdict)
        case ItemKind.OPPOSED:
            await memory.reviews.opposed.decide(key.memory_type, key.first, key.second, verdict)
        case ItemKind.DUPLICATE:
            await memory.reviews.duplicates.decide(key.memory_type, key.first, key.second, same=is_same)
        case ItemKind.SUBJECT:
            await memory.reviews.subjects.decide(key.first, key.second, same=is_same)
        case _:
            await _decide_single(memory, key, verdict)
    return DecisionReceipt(id=str(key), verdict=verdict, undoable=key.can_undo(verdict), item=item)


async def undo(memory: KnowledgeMemory, key: ItemId) -> DecisionReceipt:
    """Undo the decision about an item.

    Raises:
        InvalidInputError: Several memories have a short id.
        ConflictError: The item is not decided, or the decision can no longer be undone.
        NotFoundError: The item does not exist.
        StorageUnavailableError: The server cannot be reached.
    """
    item: Item | None = None
    match key.kind:
        case ItemKind.FACTS:
            item = await _decide_facts(memory, key, None)
        case ItemKind.OPPOSED:
            await memory.reviews.opposed.undo(key.memory_type, key.first, key.second)
        case ItemKind.DUPLICATE:
            await memory.reviews.duplicates.undo(key.memory_type, key.first, key.second)
        case ItemKind.SUBJECT:
            await memory.reviews.subjects.undo(key.first, key.second)
        case ItemKind.EPISODE:
            await memory.dead_letters.undo_requeue(key.first)
        case _:
            found = await memory.read(key.memory_type, key.first)
            is_forgotten = isinstance(found, Fact | Rule) and found.is_forgotten
            take_back = memory.restore if is_forgotten else memory.undo_confirmation
            await take_back(key.memory_type, key.first)
    return DecisionReceipt(id=str(key), verdict=None, undoable=False, item=item)


async def _decide_facts(memory: KnowledgeMemory, key: ItemId, verdict: ReviewVerdict | None) -> Item:
    """Decide about a pair of facts, or undo the decision; errors name the id of the item."""
    try:
        if verdict is None:
            return _replaced(await memory.reviews.undo(key.number))
        return _replaced(await memory.reviews.decide(key.number, verdict))
    except NotFoundError as error:
        raise NotFoundError(error.kind, str(key)) from None


async def _decide_single(memory: KnowledgeMemory, key: ItemId, verdict: ReviewVerdict) -> None:
    if verdict is ReviewVerdict.CONFIRM:
        await memory.confirm(key.memory_type, key.first)
    elif verdict is ReviewVerdict.FORGET:
        await memory.forget(key.memory_type, key.first)
    elif not await memory.dead_letters.requeue(episode_id=key.first):
        raise NotFoundError("dead letter", key.first)


def _replaced(review: FactReview) -> Item:
    key = ItemId(kind=ItemKind.FACTS, first=str(review.id))
    return Item(
        id=str(key),
        topic=Topic.REPLACED,
        reason=review.reason,
        about=f"{review.subject} {review.predicate}",
        sides=_old_and_new(
            MemoryType.FACT, (review.old_id, review.old_content), (review.new_id, review.new_content)
        ),
        verdicts=key.verdicts,
        since=review.created_at,
        decision=DecisionRecord.of(review.decision, by=review.decided_by, at=review.decided_at),
    )


def _opposed(pair: OpposedPair) -> Item:
    kind = pair.memory_type
    key = ItemId(
        kind=ItemKind.OPPOSED, first=short_id(kind, pair.older_id), second=short_id(kind, pair.newer_id)
    )
    return Item(
        id=str(key),
        topic=Topic.DOUBT,
        reason=pair.reason,
        about="",
        sides=_old_and_new(kind, (pair.older_id, pair.older_text), (pair.newer_id, pair.newer_text)),
        verdicts=key.verdicts,
        since=pair.since,
    )


def _duplicate(pair: DuplicatePair) -> Item:
    kind = pair.memory_type
    key = ItemId(
        kind=ItemKind.DUPLICATE, first=short_id(kind, pair.older_id), second=short_id(kind, pair.newer_id)
    )
    return Item(
        id=str(key),
        topic=Topic.DUPLICATE,
        reason=_LIKENESSES[pair.reason],
        about="",
        sides=_old_and_new(kind, (pair.older_id, pair.older_text), (pair.newer_id, pair.newer_text)),
        verdicts=key.verdicts,
    )


def _old_and_new(kind: str, old: tuple[object, str], new: tuple[object, str]) -> tuple[Side, Side]:
    """Return both sides of a pair, each from an id and a text."""
    return (
        Side(role="Old", kind=kind, id=str(old[0]), text=old[1]),
        Side(role="New", kind=kind, id=str(new[0]), text=new[1]),
    )


def _subject(candidate: SubjectCandidate) -> Item:
    key = ItemId(
        kind=ItemKind.SUBJECT,
        first=short_id(MemoryType.FACT, candidate.fact_id),
        second=short_id("entity", candidate.entity_id),
    )
    entity = f"{candidate.canonical_name} ({candidate.entity_type})"
    return Item(
        id=str(key),
        topic=Topic.SUBJECT,
        reason="The subject of the fact may be this entity.",
        about=candidate.subject,
        sides=(
            Side(role="This", kind=MemoryType.FACT, id=str(candidate.fact_id), text=candidate.text),
            Side(role="This", kind="entity", id=str(candidate.entity_id), text=entity),
        ),
        verdicts=key.verdicts,
    )


def _single(memory: WaitingMemory) -> Item:
    key = ItemId(kind=ItemKind.MEMORY, first=short_id(memory.memory_type, memory.id))
    topic = Topic(memory.reason)
    return Item(
        id=str(key),
        topic=topic,
        reason=REASONS[topic],
        about="" if memory.contradicts is None else f"Contradicts: {memory.contradicts}",
        sides=(Side(role="This", kind=memory.memory_type, id=str(memory.id), text=memory.text),),
        verdicts=key.verdicts,
        since=memory.last_confirmed_at,
    )


def _failure(letter: DeadLetter) -> Item:
    key = ItemId(kind=ItemKind.EPISODE, first=short_id(MemoryType.EPISODE, letter.id))
    error = letter.last_error or "No reason was recorded."
    return Item(
        id=str(key),
        topic=Topic.FAILED,
        reason=f"Consolidation failed {letter.retry_count} times. Forgetting an episode cannot be undone.",
        about=letter.butler,
        sides=(Side(role="Failed", kind=MemoryType.EPISODE, id=str(letter.id), text=error),),
        verdicts=key.verdicts,
        since=letter.created_at,
    )
