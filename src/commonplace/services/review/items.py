"""Items that wait for a person, the verdicts about them, and the receipts of decisions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.core.choices import count_members


class Topic(StrEnum):
    """A kind of item, by the reason why it waits."""

    DOUBT = "doubt"
    """Two observations, rules or notes of which the newer one may correct the older one."""
    REPLACED = "replaced"
    """A new fact that replaced a fact that matters."""
    DUPLICATE = "duplicate"
    """Two facts, or two rules, that may say the same."""
    HELD = "held"
    """A fact that contradicts a more trusted one."""
    FLAGGED = "flagged"
    """A memory that looks like an instruction."""
    SUBJECT = "subject"
    """A fact whose subject may be an entity."""
    FADING = "fading"
    """A memory that is in use and fades soon."""
    STALE = "stale"
    """A memory whose source no longer holds."""
    DELETED = "deleted"
    """A memory whose note was deleted in a mirror."""
    HARMFUL = "harmful"
    """A rule that did harm."""
    FAILED = "failed"
    """An episode that could not be consolidated."""


class ReviewVerdict(StrEnum):
    """A decision about an item; on the dashboard, its first letter is its key."""

    SAME = "same"
    REFINES = "refines"
    CORRECTS = "corrects"
    DISTINCT = "distinct"
    CONFIRM = "confirm"
    FORGET = "forget"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A memory to decide about.

    Attributes:
        role: Old, New, This or Failed.
        kind: The kind of memory: memory (of operational memory), fact, rule, episode, entity, digest or note.
        id: The id of the memory, or of its app for a digest; empty for a single note.
        text: The text of the memory, or its beginning; for a failed episode, the last error.
    """

    role: str
    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """The decision about a pair.

    Attributes:
        by: The actor who decided.
        explanation: The reason, if a model decided.
    """

    verdict: ReviewVerdict
    by: str
    explanation: str
    at: datetime | None

    @classmethod
    def of(
        cls, verdict: str | None, *, by: str | None, at: datetime | None, explanation: str = ""
    ) -> "DecisionRecord | None":
        """Return the record of a decision, or ``None`` if the pair waits."""
        if verdict is None:
            return None
        return cls(verdict=ReviewVerdict(verdict), by=by or "", explanation=explanation, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item that waits, or a decided pair.

    Attributes:
        id: The id that decisions take; see :mod:`commonplace.services.review.ids`.
        reason: Why the item waits, as a sentence or a phrase from the judge.
        about: The service and category, the subject and predicate, or the contradicted fact; may be empty.
        sides: One memory, or the older and the newer memory of a pair.
        verdicts: The verdicts that fit the item.
        since: When the item began to wait, if known.
        decision: The decision about a decided pair; null while the item waits.
    """

    id: str
    topic: Topic
    reason: str
    about: str
    sides: tuple[Side, ...]
    verdicts: tuple[ReviewVerdict, ...]
    since: datetime | None = None
    decision: DecisionRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """The effect of a decision on one memory of a pair of observations; confidences are 0 to 1.

    Attributes:
        rewritten: Whether the text of the memory changed.
    """

    id: int
    confidence_before: float
    confidence: float
    active_before: bool
    active: bool
    rewritten: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReceipt:
    """The result of a decision, or of undoing one.

    Attributes:
        id: The id of the item.
        verdict: The decision; null if it was undone, so that the item waits again.
        undoable: Whether the decision can be undone.
        item: The pair as it is now, if its memory stores decided pairs.
        changes: The effects on both memories of a pair of observations.
    """

    id: str
    verdict: ReviewVerdict | None
    undoable: bool
    item: Item | None = None
    changes: tuple[MemoryChange, ...] = ()


def count_by_topic(items: Iterable[Item]) -> dict[Topic, int]:
    """Return the number of items by topic, without empty topics, in the order of :class:`Topic`."""
    counts = count_members(Topic, (item.topic for item in items))
    return {topic: count for topic, count in counts.items() if count}
