"""Items that wait for a person: one list, one way to decide and to undo.

An item has the id that ``commonplace review`` shows: ``7`` for a pair of observations, ``k7`` for a fact that replaced
an important one, ``f:3k7q2+f:9x2vd`` for two memories that may say the same, ``f:3k7q2+UUID`` for a fact and the entity
that its subject may refer to, ``f:3k7q2`` for one memory of knowledge memory, ``o:12``, ``a:7`` or ``w:m-2`` for a
memory of another kind that looks like an instruction; :mod:`commonplace.services.quarantined` decides about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.instructions import in_words
from commonplace.knowledge import (
    DeadLetter,
    DuplicatePair,
    Fact,
    FactReview,
    KnowledgeMemory,
    MemoryType,
    Rule,
    SubjectCandidate,
    WaitingMemory,
    short_id,
)
from commonplace.operational import GENERAL, OperationalMemory, Review
from commonplace.services.quarantined import LETTERS, Quarantined

OF_FACTS: Final = "k"
"""The first letter of the id of a pair of facts."""

_KINDS: Final = {"f": MemoryType.FACT, "r": MemoryType.RULE, "e": MemoryType.EPISODE}
"""The kinds of memory by the first letter of their short ids."""

MOST: Final = 100
"""The maximum number of items of each kind."""


class Topic(StrEnum):
    """A kind of waiting item."""

    DOUBT = "doubt"
    """Two observations that the judge could not tell apart."""
    REPLACED = "replaced"
    """A new fact that replaced a fact that matters."""
    DUPLICATE = "duplicate"
    HELD = "held"
    """A fact that contradicts a more trusted one."""
    FLAGGED = "flagged"
    """A memory that looks like an instruction."""
    SUBJECT = "subject"
    """A fact whose subject may be an entity."""
    FADING = "fading"
    STALE = "stale"
    HARMFUL = "harmful"
    FAILED = "failed"
    """An episode that could not be consolidated."""


class Answer(StrEnum):
    """A decision; the first letter is its key."""

    SAME = "same"
    REFINES = "refines"
    CORRECTS = "corrects"
    DISTINCT = "distinct"
    CONFIRM = "confirm"
    FORGET = "forget"
    RETRY = "retry"


PAIR: Final = (Answer.SAME, Answer.REFINES, Answer.CORRECTS, Answer.DISTINCT)
TWINS: Final = (Answer.SAME, Answer.DISTINCT)
ONE: Final = (Answer.CONFIRM, Answer.FORGET)
FAILURE: Final = (Answer.RETRY, Answer.FORGET)

_REASONS: Final = {
    Topic.HELD: "The fact contradicts a more trusted fact. If you confirm it, it replaces that fact.",
    Topic.FLAGGED: "The text looks like an instruction, so prompts leave it out until you confirm it.",
    Topic.FADING: "The memory is in use, and it fades within 14 days.",
    Topic.STALE: "The source of the memory was replaced or forgotten.",
    Topic.HARMFUL: "The rule did harm since its last confirmation.",
    "spelling": "Their subjects and predicates differ only in spelling.",
    "words": "Their texts are equal.",
    "meaning": "Their meanings are nearly the same.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A memory to decide about: its role, such as "Old", "New" or "This", its kind, its id and its text."""

    role: str
    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A waiting item.

    Attributes:
        id: The id that :func:`decide` takes.
        reason: Why the item waits, as a sentence or a phrase from the judge.
        about: The service and category, or the subject and predicate; may be empty.
        sides: One memory, or the older and the newer memory of a pair.
        since: When the item began to wait, if known.
    """

    id: str
    topic: Topic
    reason: str
    about: str
    sides: tuple[Side, ...]
    answers: tuple[Answer, ...]
    since: datetime | None = None


async def list_lessons(operational: OperationalMemory) -> list[Item]:
    """Return the waiting items of operational memory, oldest first."""
    return [lesson_item(each) for each in await operational.reviews.list(limit=MOST)]


async def list_knowledge(knowledge: KnowledgeMemory) -> list[Item]:
    """Return the waiting items of knowledge memory, kind by kind.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    return [
        *map(_replaced, await knowledge.reviews.list(limit=MOST)),
        *map(_twins, await knowledge.reviews.duplicates.list(limit=MOST)),
        *map(_subject, await knowledge.reviews.subjects.list(limit=MOST)),
        *map(_single, await knowledge.reviews.waiting(limit=MOST)),
        *map(_failure, (await knowledge.dead_letters.list())[:MOST]),
    ]


async def decide(knowledge: KnowledgeMemory, item_id: str, answer: Answer) -> None:
    """Decide about an item of knowledge memory.

    Raises:
        InvalidInputError: The id is malformed, or the answer does not fit the item.
        NotFoundError: The item does not exist, or its memories are no longer active.
        StorageUnavailableError: The server cannot be reached.
    """
    answers = answers_of(item_id)
    if answer not in answers:
        raise InvalidInputError("verdict", f"one of {', '.join(answers)}", answer)
    kind, older, newer = _parts(item_id)
    if kind is None:
        await knowledge.reviews.decide(int(item_id[1:]), answer)
    elif newer and ":" not in newer:
        await knowledge.reviews.subjects.decide(older, newer, same=answer is Answer.SAME)
    elif newer:
        await knowledge.reviews.duplicates.decide(kind, older, newer, same=answer is Answer.SAME)
    elif answer is Answer.CONFIRM:
        await knowledge.confirm(kind, older)
    elif answer is Answer.FORGET:
        await knowledge.forget(kind, older)
    elif not await knowledge.dead_letters.requeue(episode_id=older):
        raise NotFoundError("dead letter", older)


async def undo(knowledge: KnowledgeMemory, item_id: str) -> None:
    """Undo a decision about an item of knowledge memory.

    Raises:
        InvalidInputError: The id is malformed, or the decision cannot be undone.
        NotFoundError: The item does not exist.
        StorageUnavailableError: The server cannot be reached.
    """
    kind, older, newer = _parts(item_id)
    if kind is None:
        await knowledge.reviews.undo(int(item_id[1:]))
    elif newer and ":" not in newer:
        await knowledge.reviews.subjects.undo(older, newer)
    elif newer:
        await knowledge.reviews.duplicates.undo(kind, older, newer)
    elif kind is MemoryType.EPISODE:
        await knowledge.dead_letters.undo_requeue(older)
    else:
        memory = await knowledge.read(kind, older)
        is_forgotten = isinstance(memory, Fact | Rule) and memory.is_forgotten
        take_back = knowledge.restore if is_forgotten else knowledge.undo_confirmation
        await take_back(kind, older)


def answers_of(item_id: str) -> tuple[Answer, ...]:
    """Return the answers for an item, by its id.

    Raises:
        InvalidInputError: The id is malformed.
    """
    if item_id.isdecimal():
        return PAIR
    if is_quarantined(item_id):
        return ONE
    kind, _, newer = _parts(item_id)
    if kind is None:
        return PAIR
    if newer:
        return TWINS
    return FAILURE if kind is MemoryType.EPISODE else ONE


def can_undo(item_id: str, answer: Answer) -> bool:
    """Return whether a decision can be undone; nothing restores a forgotten episode or a memory from quarantine."""
    return not is_quarantined(item_id) and (answer is not Answer.FORGET or not item_id.startswith("e:"))


def is_quarantined(item_id: str) -> bool:
    """Return whether an id is that of a memory in quarantine, such as ``o:12``."""
    return item_id[:1] in LETTERS and item_id[1:2] == ":"


def flagged_item(found: Quarantined) -> Item:
    """Return a memory in quarantine as an item."""
    letter, _, memory_id = found.id.partition(":")
    kind, side_id = {"o": ("memory", memory_id), "a": ("digest", found.about), "w": ("note", "")}[letter]
    return Item(
        id=found.id,
        topic=Topic.FLAGGED,
        reason=f"{_REASONS[Topic.FLAGGED]} Forgetting it cannot be undone. Why: {in_words(found.flags)}.",
        about=found.about,
        sides=(Side(role="This", kind=kind, id=side_id, text=found.text),),
        answers=ONE,
    )


def lesson_item(found: Review) -> Item:
    """Return a pair of observations as an item."""
    return Item(
        id=str(found.id),
        topic=Topic.DOUBT,
        reason=found.reason,
        about=f"{found.category}: {found.service or GENERAL}",
        sides=_pair("memory", found.old_id, found.old_observation, found.new_id, found.new_observation),
        answers=PAIR,
        since=found.created_at,
    )


def _replaced(found: FactReview) -> Item:
    return Item(
        id=f"{OF_FACTS}{found.id}",
        topic=Topic.REPLACED,
        reason=found.reason,
        about=f"{found.subject} {found.predicate}",
        sides=_pair(MemoryType.FACT, found.old_id, found.old_content, found.new_id, found.new_content),
        answers=PAIR,
        since=found.created_at,
    )


def _twins(found: DuplicatePair) -> Item:
    kind = found.memory_type
    return Item(
        id=f"{short_id(kind, found.older_id)}+{short_id(kind, found.newer_id)}",
        topic=Topic.DUPLICATE,
        reason=_REASONS[found.reason],
        about="",
        sides=_pair(kind, found.older_id, found.older_text, found.newer_id, found.newer_text),
        answers=TWINS,
    )


def _pair(kind: str, older: object, old_text: str, newer: object, new_text: str) -> tuple[Side, Side]:
    return (
        Side(role="Old", kind=kind, id=str(older), text=old_text),
        Side(role="New", kind=kind, id=str(newer), text=new_text),
    )


def _subject(found: SubjectCandidate) -> Item:
    entity = f"{found.canonical_name} ({found.entity_type})"
    return Item(
        id=f"{short_id(MemoryType.FACT, found.fact_id)}+{found.entity_id.hex}",
        topic=Topic.SUBJECT,
        reason="The subject of the fact may be this entity.",
        about=found.subject,
        sides=(
            Side(role="This", kind=MemoryType.FACT, id=str(found.fact_id), text=found.text),
            Side(role="This", kind="entity", id=str(found.entity_id), text=entity),
        ),
        answers=TWINS,
    )


def _single(found: WaitingMemory) -> Item:
    topic = Topic(found.reason)
    return Item(
        id=short_id(found.memory_type, found.id),
        topic=topic,
        reason=_REASONS[topic],
        about="" if found.contradicts is None else f"Contradicts: {found.contradicts}",
        sides=(Side(role="This", kind=found.memory_type, id=str(found.id), text=found.text),),
        answers=ONE,
        since=found.last_confirmed_at,
    )


def _failure(found: DeadLetter) -> Item:
    return Item(
        id=short_id(MemoryType.EPISODE, found.id),
        topic=Topic.FAILED,
        reason=f"Consolidation failed {found.retry_count} times. Forgetting an episode cannot be undone.",
        about=found.butler,
        sides=(
            Side(
                role="Failed",
                kind=MemoryType.EPISODE,
                id=str(found.id),
                text=found.last_error or "No reason was recorded.",
            ),
        ),
        answers=FAILURE,
        since=found.created_at,
    )


def _parts(item_id: str) -> tuple[MemoryType | None, str, str]:
    """Return the kind and the short ids of the memories of an item; no kind for a pair of :data:`OF_FACTS`."""
    if item_id.startswith(OF_FACTS) and item_id[1:].isdecimal():
        return None, item_id, ""
    older, _, newer = item_id.partition("+")
    kind = _KINDS.get(older.partition(":")[0])
    is_pair = newer[:2] == older[:2] or (kind is MemoryType.FACT and _is_uuid(newer))
    if kind is None or ":" not in older or (newer and not is_pair):
        expected = "an id of the list, such as k7, f:3k7q2, f:3k7q2+f:9x2vd or f:3k7q2+UUID"
        raise InvalidInputError("ID", expected, item_id)
    return kind, older, newer


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def count_by_topic(items: Sequence[Item]) -> dict[Topic, int]:
    """Return the number of items by kind, without empty kinds, in the order of :class:`Topic`."""
    return {topic: n for topic in Topic if (n := sum(item.topic is topic for item in items))}
