"""The actions that a model proposes in its answer (KNW-13, CNS-02)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.knowledge.model.permanence import Permanence

NO_JSON_BLOCK: Final = "No JSON block found in consolidation output"
"""The last parse error of an answer without a JSON block of the model's own. Source: KNW-13.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierValue:
    """A value that a changed fact had before, with what the answer says of its period."""

    content: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFact:
    """A fact to store; it replaces the known fact ``target_id``, if given, in that fact's scope (R-KNW-3).

    ``importance`` is 1 to 10. If permanence, importance or tags are ``None``, the value of the replaced fact or the
    default is used. Empty ``evidence`` means that the fact was learned from all episodes of the group. ``valid_from``
    and ``valid_to`` are ``None`` if the answer does not give them; ``was`` has the earlier values, oldest first.
    """

    subject: str
    predicate: str
    content: str
    target_id: UUID | None = None
    permanence: Permanence | None = None
    importance: float | None = None
    tags: tuple[str, ...] | None = None
    evidence: tuple[UUID, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    was: tuple[EarlierValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRule:
    """A rule to store as a candidate; it replaces the known rule ``target_id``, if given, in the scope of that rule.

    If tags are ``None``, the tags of the replaced rule are used.
    """

    content: str
    target_id: UUID | None = None
    tags: tuple[str, ...] | None = None
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A fact or rule that no longer holds and that nothing replaces."""

    target_id: UUID
    evidence: tuple[UUID, ...] = ()


Action = ProposedFact | ProposedRule | Retraction | UUID
"""An action; an id alone is a confirmation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The actions of one answer, and its parse errors.

    Corrections of known memories are applied before new facts, so that a new fact never supersedes an update's target.
    """

    updated_facts: list[ProposedFact] = field(default_factory=list[ProposedFact])
    retractions: list[Retraction] = field(default_factory=list[Retraction])
    new_facts: list[ProposedFact] = field(default_factory=list[ProposedFact])
    updated_rules: list[ProposedRule] = field(default_factory=list[ProposedRule])
    new_rules: list[ProposedRule] = field(default_factory=list[ProposedRule])
    confirmations: list[UUID] = field(default_factory=list[UUID])
    """Ids of facts and rules that the episodes confirm."""
    parse_errors: list[str] = field(default_factory=list[str])
    refused: int = 0
    """The number of actions, or lists of actions, that could not be read; ``parse_errors`` has the reasons."""

    def in_order(self) -> Iterator[tuple[str, Action]]:
        """Yield each action with its index among the readable actions of its kind, in order of application."""
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

        An unreadable answer consumes no episodes (R-KNW-4). An answer without actions is readable and means that the
        model found nothing worth keeping.
        """
        return not self.actions and (self.refused > 0 or NO_JSON_BLOCK in self.parse_errors)
