"""A consolidation plan as a diff for people: additions, changes, confirmations and withdrawals. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from commonplace.core.text import collapse_whitespace, visible
from commonplace.knowledge.consolidation.executor import MemoryText, Rehearsal, RehearsedAction
from commonplace.knowledge.consolidation.runs import RunAction
from commonplace.knowledge.model.kinds import Validity

ADDED: Final = "+"
CHANGED: Final = "~"
CONFIRMED: Final = "="
WITHDRAWN: Final = "-"

Sign = Literal["+", "~", "=", "-"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One action of a plan; every text is one line and safe for a terminal.

    Attributes:
        sign: ``+`` adds, ``~`` replaces, ``=`` confirms, ``-`` withdraws.
        what: A description of the memory, for example ``"fact [anna] likes"``.
        before: The present content, if any.
        after: The new content; empty if the memory is withdrawn.
        evidence_count: The number of episodes that the action was learned from.
    """

    sign: Sign
    what: str
    before: str | None
    after: str
    evidence_count: int


def plan_rows(rehearsal: Rehearsal) -> list[PlannedChange]:
    """Return the rehearsed actions, in the order in which they are applied."""
    return [_change(each) for each in rehearsal.actions]


def _change(rehearsed: RehearsedAction) -> PlannedChange:
    action, replaced = rehearsed.action, rehearsed.replaced
    after = _shown(action.content or "")
    sign, before = _sign(action, replaced), None
    if sign == CONFIRMED:
        before = after
    elif sign == WITHDRAWN:
        before, after = after, ""
    elif replaced:
        before = " | ".join(_shown(each.content) for each in replaced)
    return PlannedChange(
        sign=sign,
        what=_what(action, replaced),
        before=before,
        after=after,
        evidence_count=rehearsed.evidence_count,
    )


def _sign(action: RunAction, replaced: Sequence[MemoryText]) -> Sign:
    if action.action.is_confirmation:
        return CONFIRMED
    if action.action.is_retraction:
        return WITHDRAWN
    return CHANGED if replaced else ADDED


def _what(action: RunAction, replaced: Sequence[MemoryText]) -> str:
    if action.subject is None or action.predicate is None:
        return "rule"
    what = _fact(action.subject, action.predicate)
    if action.state == Validity.HELD:
        return f"{what} (held)"
    others = dict.fromkeys(_fact(each.subject or "", each.predicate or "") for each in replaced)
    others.pop(what, None)
    return f"{what} (was {', '.join(others)})" if others else what


def _fact(subject: str, predicate: str) -> str:
    return f"fact [{_shown(subject)}] {_shown(predicate)}"


def _shown(text: str) -> str:
    return visible(collapse_whitespace(text))
