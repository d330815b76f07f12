"""The steps of an answer, and what it was made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.memories.rules import DECAY_RATE, RuleDraft
from commonplace.knowledge.model.consolidation_results import EarlierValue
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.store.vectors import Embeddings

_NO_VECTORS: Final = Embeddings(vectors=[], model="", version="")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFact:
    """Store a fact that was learned from the episodes ``evidence``; it replaces ``target_id``, if given.

    Attributes:
        place: The position in the answer.
        said: The predicate in the answer.
        said_subject: The subject in the answer.
        said_at: When the episodes happened that the answer names as evidence; empty if it names none.
        period: The period that the words name.
        earlier: The values that the answer says it had before.
        is_apart: Whether its value is a part of the predicate.
        follows: Whether it replaces a fact of the same answer.
        is_change: Whether it takes the place of the fact with its key, also if its period is over.
    """

    place: str
    draft: FactDraft
    said: str
    evidence: tuple[UUID, ...]
    said_subject: str = ""
    said_at: tuple[datetime, ...] = ()
    period: Period | None = None
    earlier: tuple[EarlierValue, ...] = ()
    is_apart: bool = False
    follows: bool = False
    is_change: bool = False
    embeddings: Embeddings = _NO_VECTORS
    target_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRule:
    """Store a rule that was learned from the episodes ``evidence``; it replaces ``target_id``, if given."""

    place: str
    draft: RuleDraft
    evidence: tuple[UUID, ...]
    embeddings: Embeddings = _NO_VECTORS
    target_id: UUID | None = None
    decay_rate: float = DECAY_RATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract:
    """Withdraw a fact or rule that the episodes ``evidence`` contradict."""

    place: str
    memory_type: MemoryType
    memory_id: UUID
    evidence: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Confirm a fact or rule."""

    place: str
    memory_type: MemoryType
    memory_id: UUID


Step = StoreFact | StoreRule | Retract | Confirm


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps in order, and messages about invalid entries of the answer."""

    steps: tuple[Step, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeGroup:
    """The input for an answer: the butler, its episodes, and the known facts and rules that the model was shown."""

    butler: str
    episode_ids: tuple[UUID, ...]
    known: Known
    said_at: Mapping[UUID, datetime]
    """When each episode was stored, in the time zone of the settings."""
    rule_decay_rate: float = DECAY_RATE
    """The share of its confidence that a new rule loses a day."""

    @property
    def last_at(self) -> datetime:
        """When the latest episode was stored."""
        return max(self.said_at.values())

    @property
    def first_at(self) -> datetime:
        """When the earliest episode was stored."""
        return min(self.said_at.values())

    def evidence(self, given: Sequence[UUID]) -> tuple[UUID, ...]:
        """Return the episodes of the group that an entry names, or all episodes of the group."""
        own = set(self.episode_ids)
        return tuple(each for each in dict.fromkeys(given) if each in own) or self.episode_ids

    def said(self, evidence: Sequence[UUID]) -> list[datetime]:
        """Return when some episodes of the group were stored."""
        return [self.said_at[each] for each in evidence]

    def said_by(self, given: Sequence[UUID]) -> tuple[datetime, ...]:
        """Return when the episodes of the group that an entry names were stored; empty if it names none."""
        return tuple(self.said_at[each] for each in dict.fromkeys(given) if each in self.said_at)
