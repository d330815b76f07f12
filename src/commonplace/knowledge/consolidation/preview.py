"""A plan of consolidation as a diff for people: what would be added, changed and confirmed, before it is. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from commonplace.core.text import collapse_whitespace, visible
from commonplace.knowledge.consolidation.prompt import KnownFact, KnownRule
from commonplace.knowledge.consolidation.results import ConsolidationResult, NewFact, UpdatedFact

ADDED: Final = "+"
CHANGED: Final = "~"
CONFIRMED: Final = "="

Sign = Literal["+", "~", "="]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One action of a plan, every text on one line and safe for a terminal.

    Attributes:
        sign: ``+`` is new, ``~`` takes the place of something, ``=`` confirms something.
        what: What it is about, in words, for example ``"fact [anna] likes"``.
        before: What is known now; ``None`` where nothing is.
        after: What will be known; ``None`` where the action will be refused, and ``what`` says why.
        evidence_count: How many episodes of the group it was learned from.
    """

    sign: Sign
    what: str
    before: str | None
    after: str | None
    evidence_count: int


def plan_rows(
    result: ConsolidationResult,
    *,
    facts: Mapping[UUID, KnownFact],
    rules: Mapping[UUID, KnownRule],
    episode_ids: Collection[UUID],
    scope: str,
) -> list[PlannedChange]:
    """Return a plan's actions in the order in which they are applied.

    Args:
        result: The plan.
        facts: What is known, by id.
        rules: Likewise.
        episode_ids: The episodes of the group; evidence outside of it does not count, and where none is left, all
            of the group do.
        scope: Into which new facts go; one whose key is known there takes that fact's place, or confirms it where
            it says the same.
    """
    group = set(episode_ids)
    active = {_key(scope, fact): fact.content for fact in facts.values() if fact.scope == scope}
    changes = [_new_fact(new, active, scope, _evidence(new.evidence, group)) for new in result.new_facts]
    changes += [
        _update(update, facts.get(update.target_id), _evidence(update.evidence, group))
        for update in result.updated_facts
    ]
    changes += [
        PlannedChange(
            sign=ADDED,
            what="rule",
            before=None,
            after=_shown(rule.content),
            evidence_count=_evidence(rule.evidence, group),
        )
        for rule in result.new_rules
    ]
    return changes + [_confirmation(one, facts, rules, len(group)) for one in result.confirmations]


def _new_fact(new: NewFact, active: dict[tuple[str, str, str], str], scope: str, count: int) -> PlannedChange:
    """Return the change, and note the fact as active: of two with one key the later takes the earlier's place."""
    before = active.get(_key(scope, new))
    active[_key(scope, new)] = new.content
    sign: Sign = ADDED if before is None else CONFIRMED if before == new.content else CHANGED
    return PlannedChange(
        sign=sign,
        what=_fact(new),
        before=None if before is None else _shown(before),
        after=_shown(new.content),
        evidence_count=count,
    )


def _update(update: UpdatedFact, target: KnownFact | None, count: int) -> PlannedChange:
    if target is None:
        what = f"{_fact(update)} (refused: no known fact {update.target_id})"
        return PlannedChange(sign=CHANGED, what=what, before=None, after=None, evidence_count=count)
    old, new = _fact(target), _fact(update)
    return PlannedChange(
        sign=CHANGED,
        what=new if old == new else f"{new} (was {old})",
        before=_shown(target.content),
        after=_shown(update.content),
        evidence_count=count,
    )


def _confirmation(
    confirmed: UUID, facts: Mapping[UUID, KnownFact], rules: Mapping[UUID, KnownRule], count: int
) -> PlannedChange:
    fact, rule = facts.get(confirmed), rules.get(confirmed)
    if fact is not None:
        what, content = _fact(fact), _shown(fact.content)
    elif rule is not None:
        what, content = "rule", _shown(rule.content)
    else:
        what, content = f"confirmation (refused: no known fact or rule {confirmed})", None
    return PlannedChange(sign=CONFIRMED, what=what, before=content, after=content, evidence_count=count)


def _evidence(evidence: Sequence[UUID], group: set[UUID]) -> int:
    return len(group.intersection(evidence)) or len(group)


def _key(scope: str, fact: NewFact | KnownFact) -> tuple[str, str, str]:
    return scope, fact.subject, fact.predicate


def _fact(fact: NewFact | UpdatedFact | KnownFact) -> str:
    return f"fact [{_shown(fact.subject)}] {_shown(fact.predicate)}"


def _shown(text: str) -> str:
    return visible(collapse_whitespace(text))
