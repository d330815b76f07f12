"""What a model proposes for a group of episodes, read from its answer (KNW-13)."""

from dataclasses import dataclass, field
from uuid import UUID

from commonplace.knowledge.permanence import Permanence


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact to store; ``importance`` from 1 to 10."""

    subject: str
    predicate: str
    content: str
    permanence: Permanence = Permanence.STANDARD
    importance: float = 5.0
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()
    """The episodes that it was learned from, where the model says which; empty: all of the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedFact:
    """A fact to store in place of another, in that one's scope (R-KNW-3)."""

    target_id: UUID
    subject: str
    predicate: str
    content: str
    permanence: Permanence = Permanence.STANDARD
    importance: float = 5.0
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule to store, as a candidate."""

    content: str
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The actions of one answer, in the order in which they are applied, and what of the answer could not be read."""

    new_facts: list[NewFact] = field(default_factory=list[NewFact])
    updated_facts: list[UpdatedFact] = field(default_factory=list[UpdatedFact])
    new_rules: list[NewRule] = field(default_factory=list[NewRule])
    confirmations: list[UUID] = field(default_factory=list[UUID])
    """Ids of facts and rules that the episodes confirm."""
    parse_errors: list[str] = field(default_factory=list[str])
