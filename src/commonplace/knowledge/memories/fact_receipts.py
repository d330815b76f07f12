"""The receipts of stored facts: what each fact replaced, met and waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.rules.near_facts import SubjectFact
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.rules.supersession import Placement
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class NearFact(Noun):
    """An active fact whose key is another spelling of the key of a new fact.

    See :mod:`~commonplace.knowledge.model.keys`.
    """

    id: UUID
    subject: str
    predicate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReceipt:
    """The outcome of storing a fact.

    Attributes:
        id: The id of the new fact.
        superseded_id: The fact that was replaced, if any: that with the same key, else the fact that the call named.
        entity_id: The entity of the fact, if any, given or named by the subject.
        period: The period that was read from the words of the fact, if any.
        superseded_text: The text of the fact that was replaced, if any.
        superseded_until: When the replaced fact stops being true, if it still holds because the new fact begins later.
        review_id: The review in which a person may keep both facts, because the replaced fact matters.
        current_id: The fact with the same key that stays current, because the period of the new fact has ended; the new
            fact is kept as history.
        current_text: The text of the fact that stays current, if any.
        contradicts_id: The more trusted fact with the same key, or that the call named; the new fact is held until a
            person confirms or forgets it.
        flags: The reasons why the text looks like an instruction; blocks leave the fact out until a person confirms it.
        near: The active fact of the scope whose key is another spelling of the new key, if a fact was stored alone and
            replaced none. Both facts are current.
        reworded: Whether the replaced fact says the same in other words.
        opposed_ids: Active facts about the subject that the new fact may contradict; each pair waits for a person.
    """

    id: UUID
    superseded_id: UUID | None
    period: Period | None = None
    contradicts_id: UUID | None = None
    flags: tuple[str, ...] = ()
    entity_id: UUID | None = None
    superseded_text: str | None = None
    superseded_until: datetime | None = None
    review_id: int | None = None
    current_id: UUID | None = None
    current_text: str | None = None
    near: NearFact | None = None
    reworded: bool = False
    opposed_ids: tuple[UUID, ...] = ()


def receipt_of(placement: Placement, reviews: Mapping[tuple[UUID, UUID], int]) -> FactReceipt:
    """Return the receipt of a placement, with the review of the fact of its key that it replaced."""
    superseded_id, current_id = placement.superseded_id, placement.current_id
    entity_id = placement.draft.entity_id
    text = None if placement.active is None else placement.active.content
    return FactReceipt(
        id=placement.id,
        superseded_id=superseded_id,
        entity_id=None if entity_id is None else UUID(str(entity_id)),
        contradicts_id=placement.contradicts_id,
        flags=placement.flags,
        superseded_text=superseded_id and text,
        superseded_until=placement.active_until,
        review_id=superseded_id and reviews.get((superseded_id, placement.id)),
        reworded=placement.is_reworded,
        current_id=current_id,
        current_text=current_id and text,
    )


def with_hints(
    fact: FactDraft, receipt: FactReceipt, period: Period | None, near: Sequence[SubjectFact]
) -> FactReceipt:
    """Return the receipt of a single fact with its period, if that was stored, and with the fact of a near key."""
    is_dated = fact.valid_from is not None or fact.valid_to is not None or receipt.current_id is not None
    stands_alone = receipt.superseded_id is None and receipt.contradicts_id is None and not receipt.current_id
    spelt = [each for each in near if each.is_spelling and not each.has_own_key and stands_alone]
    return replace(
        receipt,
        period=period if is_dated else None,
        near=next(
            (NearFact(id=each.id, subject=each.subject, predicate=each.predicate) for each in spelt), None
        ),
    )
