"""The actions that a model proposes in its answer (KNW-13, CNS-02)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from commonplace.knowledge.facts import DEFAULT_IMPORTANCE
from commonplace.knowledge.lifecycle.permanence import Permanence

NO_JSON_BLOCK: Final = "No JSON block found in consolidation output"
"""The parse error of an answer without a JSON block of the model's own. Source: KNW-13.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact to store; ``importance`` from 1 to 10."""

    subject: str
    predicate: str
    content: str
    permanence: Permanence = Permanence.STANDARD
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()
    """The episodes that the fact was learned from; empty means all episodes of the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedFact:
    """A fact that replaces another fact, in the other's scope (R-KNW-3).

    ``None`` for permanence, importance or tags means those of the other fact.
    """

    target_id: UUID
    subject: str
    predicate: str
    content: str
    permanence: Permanence | None = None
    importance: float | None = None
    tags: tuple[str, ...] | None = None
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule to store as a candidate."""

    content: str
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedRule:
    """A rule that replaces another rule, in the other's scope; ``None`` for tags means those of the other rule."""

    target_id: UUID
    content: str
    tags: tuple[str, ...] | None = None
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A fact or rule that no longer holds and that nothing replaces."""

    target_id: UUID
    evidence: tuple[UUID, ...] = ()


Action = NewFact | UpdatedFact | NewRule | UpdatedRule | Retraction | UUID
"""An action; an id alone is a confirmation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The actions of one answer, and its parse errors.

    Corrections of known memories are applied before new facts, so that a new fact never takes an update's target.
    """

    updated_facts: list[UpdatedFact] = field(default_factory=list[UpdatedFact])
    retractions: list[Retraction] = field(default_factory=list[Retraction])
    new_facts: list[NewFact] = field(default_factory=list[NewFact])
    updated_rules: list[UpdatedRule] = field(default_factory=list[UpdatedRule])
    new_rules: list[NewRule] = field(default_factory=list[NewRule])
    confirmations: list[UUID] = field(default_factory=list[UUID])
    """Ids of facts and rules that the episodes confirm."""
    parse_errors: list[str] = field(default_factory=list[str])
    refused: int = 0
    """The number of actions, or lists of actions, that could not be read; ``parse_errors`` has the reasons."""

    def in_order(self) -> Iterator[tuple[str, Action]]:
        """Yield each action with its place among the readable actions of its kind, in the order of application."""
        for name, actions in (
            ("updated fact", self.updated_facts),
            ("retraction", self.retractions),
            ("new fact", self.new_facts),
            ("updated rule", self.updated_rules),
            ("new rule", self.new_rules),
            ("confirmation", self.confirmations),
        ):
            for number, action in enumerate(actions, start=1):
                yield f"{name} {number}", action

    @property
    def actions(self) -> int:
        """The number of actions."""
        return sum(1 for _ in self.in_order())

    @property
    def unreadable(self) -> bool:
        """Whether no part of the answer can be used: it has no block, or all entries were refused.

        An unreadable answer consumes no episode (R-KNW-4). An answer without actions is readable: the model found
        nothing worth keeping.
        """
        return not self.actions and (self.refused > 0 or NO_JSON_BLOCK in self.parse_errors)
