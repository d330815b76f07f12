"""Drafts of facts: their checks and their keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.drafts import Draft, checked
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Moment
from commonplace.knowledge.model.permanence import Permanence

RESERVED_METADATA: Final = frozenset({"status"})
"""``status`` marks a fading fact. Source: KNW-02."""

PERIOD_WORDS: Final = "period_words"
"""The metadata key for the words from which the period of a fact was read."""

_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft(Draft):
    """A fact to store.

    Attributes:
        subject: The person or thing, 1 to 256 characters. With predicate and scope, the key of the fact.
        predicate: The attribute or relation, such as ``lives_in``, 1 to 256 characters.
        content: The statement, 1 to 20,000 characters.
        importance: 0.0 to 10.0.
        permanence: How long the fact is expected to hold: a
            :class:`~commonplace.knowledge.model.permanence.Permanence`.
        scope: ``"global"``, or the butler that the fact is for.
        tags: At most 50, of at most 100 characters.
        entity_id: The entity of the subject, which replaces the subject in the key. ``None`` for the entity that the
            subject names, see :mod:`~commonplace.knowledge.entities.subjects`.
        source_butler: The butler that learned the fact.
        source_episode_id: The episode that the fact was learned from.
        metadata: A JSON object without the key ``status``.
        valid_from: When the fact became true; ``None`` for the time of its source episode, or the time of storing.
        valid_to: When the fact stops being true, after ``valid_from``; from then on only reads with ``valid_at``
            find it. A date is the last day on which the fact is true.
        source: Where the statement comes from, if that is less trusted than the session that stores it: a
            :class:`~commonplace.core.sources.Source`. A memory with a source episode is at most as trusted as the
            episode.
        last_confirmed_at: When the fact was last confirmed; its confidence decays from there. ``None`` for the time of
            storing, as which a later time counts too.
    """

    subject: str
    predicate: str
    content: str
    importance: float = DEFAULT_IMPORTANCE
    permanence: str = Permanence.STANDARD
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] | None = None
    entity_id: UUID | str | None = None
    source_butler: str | None = None
    source_episode_id: UUID | str | None = None
    metadata: Mapping[str, Any] | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    source: str | None = None
    last_confirmed_at: Moment | None = None

    @property
    def key(self) -> str:
        """The key of the fact; see :func:`fact_key`."""
        return fact_key(self.scope, self.predicate, self.entity_id or self.subject)


def checked_fact(draft: FactDraft, *, allow_secrets: bool = False) -> FactDraft:
    """Return a draft that can be stored; see :func:`~commonplace.knowledge.model.drafts.checked`."""
    fact = checked(draft, reserved=RESERVED_METADATA, allow_secrets=allow_secrets)
    if (
        isinstance(fact.valid_from, datetime)
        and isinstance(fact.valid_to, datetime)
        and fact.valid_to <= fact.valid_from
    ):
        raise InvalidInputError(
            "valid_to", f"a moment after valid_from, {fact.valid_from}", str(fact.valid_to)
        )
    return fact


def fact_text(fact: FactDraft) -> str:
    """Return the text that searches match and from which the vector is computed."""
    return f"{fact_heading(fact)}{fact.content}"


def fact_heading(fact: FactDraft) -> str:
    """Return the words before the content in the text of a fact."""
    return f"{fact.subject} {fact.predicate} "


def fact_key(scope: str, predicate: str, about: object) -> str:
    """Return the key of a fact for ``serialise_fact_keys``, which runs once before facts are inserted.

    ``about`` is the entity of the fact, or its subject if it has no entity.
    """
    return _SEPARATOR.join((scope, predicate, str(about)))


def all_keys(facts: Iterable[FactDraft]) -> list[str]:
    """Return the keys of facts by entity and by subject, because a fact may supersede one that has no entity yet."""
    return [key for fact in facts for key in {fact.key, fact_key(fact.scope, fact.predicate, fact.subject)}]
