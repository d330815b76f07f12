"""Pages of rules, with their effectiveness and operator feedback."""

from collections.abc import Awaitable
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import (
    FAINT,
    GONE,
    KnowledgeMemory,
    Maturity,
    MemoryType,
    RuleCriteria,
    RuleOrder,
)
from commonplace.web.http.access import KnowledgeOfCaller, reader, writer
from commonplace.web.pages.knowledge.bulk import add_bulk_changes
from commonplace.web.pages.knowledge.facts import curve_of
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId, KnowledgeFilters, show_memories
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.paging import present
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done, render, render_dialog

PATH: Final = "/knowledge/rules"
SHOWN_APPLICATIONS: Final = 50
FORGOTTEN: Final = "forgotten"
GONE_BEFORE: Final = "a rule that is not forgotten"

Standing = Maturity | Literal["", "forgotten"]
STANDINGS: Final = (
    ("", "Any"),
    *((maturity, maturity.replace("_", "-").title()) for maturity in Maturity),
    (FORGOTTEN, "Forgotten"),
)

router = pages(PATH, reader)
WRITE: Final = [Depends(writer)]


class RuleFilters(KnowledgeFilters):
    """The filters of the list of rules."""

    state: Standing = ""
    sort: RuleOrder | Literal[""] = ""

    @property
    def given(self) -> dict[str, Any]:
        """The filters of knowledge memory."""
        forgotten = self.state == FORGOTTEN
        return present(
            forgotten=forgotten if self.state else None,
            narrowing=self.narrowing,
            criteria=RuleCriteria(maturity=None if forgotten else self.state or None, **self.shared),
            sort=self.sort,
        )


@router.get("")
async def rules_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[RuleFilters, Query()]
) -> Response:
    """Show rules in an order, by default the newest first."""
    return await show_memories(
        request, knowledge, MemoryType.RULE, wanted, knowledge.lists.rules, states=STANDINGS
    )


add_bulk_changes(router, MemoryType.RULE, PATH)


@router.get("/{rule_id:uuid}")
async def rule_page(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Show one rule with its applications, decay and sources."""
    rule = await knowledge.read("rule", rule_id)
    return render(
        request,
        "knowledge/rules/one.html",
        rule=rule,
        applications=await knowledge.lists.applications(rule_id, limit=SHOWN_APPLICATIONS),
        links=await knowledge.links.memories("rule", rule_id),
        curve=curve_of(knowledge, rule),
        thresholds=[("fades", FAINT), ("forgotten", GONE)],
    )


@router.post("/{rule_id:uuid}/helpful", dependencies=WRITE)
async def helpful(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Mark a rule as helpful."""
    await _changed(knowledge.mark_helpful(rule_id), knowledge, rule_id)
    return done(request, "The rule was marked as helpful.", changed=CHANGED)


@router.get("/{rule_id:uuid}/harmful", dependencies=WRITE)
async def harmful_form(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Ask for the reason before a rule is marked as harmful."""
    return await _dialog(request, knowledge, rule_id, "rules/harmful", reason="")


@router.post("/{rule_id:uuid}/harmful", dependencies=WRITE)
async def harmful(
    request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId, reason: Text = ""
) -> Response:
    """Mark a rule as harmful."""
    try:
        marking = knowledge.mark_harmful(rule_id, reason=reason.strip() or None)
        await _changed(marking, knowledge, rule_id)
    except InvalidInputError as error:
        errors = {"reason": message_of(error)}
        return await _dialog(request, knowledge, rule_id, "rules/harmful", reason=reason, errors=errors)
    return done(request, "The rule was marked as harmful.", changed=CHANGED)


@router.get("/{rule_id:uuid}/invert", dependencies=WRITE)
async def invert_form(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Ask before a rule is turned into a warning."""
    return await _ask_inversion(request, knowledge, rule_id)


@router.post("/{rule_id:uuid}/invert", dependencies=WRITE)
async def invert(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Turn a harmful rule into a warning."""
    try:
        await _changed(knowledge.upkeep.invert_rule(rule_id), knowledge, rule_id)
    except InvalidInputError as error:
        return await _ask_inversion(request, knowledge, rule_id, error=message_of(error))
    return done(request, "The rule is now a warning.", changed=CHANGED)


async def _changed(change: Awaitable[object], knowledge: KnowledgeMemory, rule_id: UUID) -> None:
    """Await the change of a rule.

    Raises:
        InvalidInputError: The rule is forgotten.
        NotFoundError: The rule does not exist.
    """
    try:
        await change
    except NotFoundError:
        await knowledge.read("rule", rule_id)
        raise InvalidInputError("rule", GONE_BEFORE, "a forgotten rule") from None


async def _dialog(
    request: Request, knowledge: KnowledgeMemory, rule_id: UUID, name: str, **values: object
) -> HTMLResponse:
    """Return a form about a rule, with the rule's content and no errors unless the values contain some."""
    rule = await knowledge.read("rule", rule_id)
    shown: dict[str, object] = {"memory": rule, "content": rule.content, "errors": {}, **values}
    return render_dialog(request, f"knowledge/{name}.html", **shown)


async def _ask_inversion(
    request: Request, knowledge: KnowledgeMemory, rule_id: UUID, *, error: str = ""
) -> HTMLResponse:
    rule = await knowledge.read("rule", rule_id)
    question = Question(
        title="Turn this rule into a warning?",
        texts=(
            "The rule did more harm than good. As a warning, it says what not to do and why.",
            "The original text stays with the rule.",
        ),
        quote=rule.content,
        button="Turn into a warning",
        is_dangerous=False,
    )
    return ask(request, question, error=error)
