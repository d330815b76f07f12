"""Rules that did harm: the reasons, and the outcome for each rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.knowledge import Maturity, Rule
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import render

PATH: Final = "/knowledge/harm"
WARNS: Final = "The rule became a warning."
FORGOTTEN: Final = "The rule was forgotten."
WAITS: Final = "The rule still holds and waits to become a warning."
HOLDS: Final = "The rule still holds: its successes outweigh the harm."

router = pages(PATH, reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """A rule that did harm: its harmful text, the reasons, and its current state and outcome."""

    rule: Rule
    text: str
    reasons: Sequence[str]
    state: str
    outcome: str


@router.get("")
async def harm_page(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
    """Show the rules that did harm, most recently judged first."""
    rules = await knowledge.lists.harmful_rules()
    return render(request, "knowledge/harm.html", rules=[harm_of(rule) for rule in rules])


def harm_of(rule: Rule) -> Harm:
    """Return a rule with its outcome."""
    if rule.is_forgotten:
        state, outcome = "forgotten", FORGOTTEN
    elif rule.maturity is Maturity.ANTI_PATTERN:
        state, outcome = str(rule.maturity), WARNS
    else:
        state, outcome = str(rule.maturity), WAITS if rule.needs_inversion else HOLDS
    return Harm(
        rule=rule,
        text=str(rule.metadata.get("original_content") or rule.content),
        reasons=[str(reason) for reason in rule.metadata.get("harmful_reasons", ())],
        state=state,
        outcome=outcome,
    )
