"""The actions that a model proposes in its answer (KNW-13)."""

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
class UpdatedFact(NewFact):
    """A fact that replaces another fact, in the other's scope (R-KNW-3)."""

    target_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule to store as a candidate."""

    content: str
    tags: tuple[str, ...] = ()
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The actions of one answer, in the order in which they are applied, and its parse errors."""

    new_facts: list[NewFact] = field(default_factory=list[NewFact])
    updated_facts: list[UpdatedFact] = field(default_factory=list[UpdatedFact])
    new_rules: list[NewRule] = field(default_factory=list[NewRule])
    confirmations: list[UUID] = field(default_factory=list[UUID])
    """Ids of facts and rules that the episodes confirm."""
    parse_errors: list[str] = field(default_factory=list[str])
    refused: int = 0
    """The number of actions, or lists of actions, that could not be read; ``parse_errors`` has the reasons."""

    @property
    def actions(self) -> int:
        """The number of actions."""
        return sum(map(len, (self.new_facts, self.updated_facts, self.new_rules, self.confirmations)))

    @property
    def unreadable(self) -> bool:
        """Whether no part of the answer can be used: it has no block, or all entries were refused.

        An unreadable answer consumes no episode (R-KNW-4). An answer with four empty lists is readable: the model found
        nothing worth keeping.
        """
        return not self.actions and (self.refused > 0 or NO_JSON_BLOCK in self.parse_errors)
