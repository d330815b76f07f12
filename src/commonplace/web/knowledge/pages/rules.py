"""The pages of rules: what agents were taught, how well it serves, and what an operator says to that."""

from collections.abc import Awaitable
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge.kinds import Rule
from commonplace.knowledge.lifecycle.maturity import Maturity
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.upkeep.decay import FAINT, GONE
from commonplace.web.access import KnowledgeOfCaller, reader, writer
from commonplace.web.dashboard.errors import PageRoute, message_of
from commonplace.web.dashboard.forms import INVALID, Text
from commonplace.web.dashboard.paging import ONE_MORE, cut_page
from commonplace.web.dashboard.questions import Question, ask
from commonplace.web.dashboard.rendering import done, render, render_dialog
from commonplace.web.knowledge.pages.facts import curve_of
from commonplace.web.knowledge.pages.listing import CHANGED, ItemId, Name
from commonplace.web.paging import Offset

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

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(reader)]
)
WRITE: Final = [Depends(writer)]


@router.get("")
async def rules_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    state: Annotated[Standing, Query()] = "",
    scope: Name = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show rules, newest first."""
    found = await knowledge.list_rules(
        maturity=state if state and state != FORGOTTEN else None,
        forgotten=None if not state else state == FORGOTTEN,
        scope=scope.strip() or None,
        limit=ONE_MORE,
        offset=offset,
    )
    query = {"state": state, "scope": scope.strip()}
    rows, pager = cut_page(found, PATH, query, offset)
    return render(
        request, "knowledge/rules/list.html", rules=rows, pager=pager, query=query, states=STANDINGS
    )


@router.get("/{rule_id:uuid}")
async def rule_page(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Show one rule: how it served, how sure it still is, and where it comes from."""
    rule = await knowledge.read_memory("rule", rule_id)
    return render(
        request,
        "knowledge/rules/one.html",
        rule=rule,
        applications=await knowledge.list_applications(rule_id, limit=SHOWN_APPLICATIONS),
        links=await knowledge.list_linked("rule", rule_id),
        curve=curve_of(knowledge, rule),
        thresholds=[("fades", FAINT), ("is forgotten", GONE)],
    )


@router.post("/{rule_id:uuid}/helpful", dependencies=WRITE)
async def helpful(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Count that a rule helped."""
    await _changed(knowledge.mark_helpful(rule_id), knowledge, rule_id)
    return _done(request, rule_id, "Noted: it helped.")


@router.get("/{rule_id:uuid}/harmful", dependencies=WRITE)
async def harmful_form(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Ask what harm a rule did."""
    return _harmful_form(request, await knowledge.read_memory("rule", rule_id), "", {})


@router.post("/{rule_id:uuid}/harmful", dependencies=WRITE)
async def harmful(
    request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId, reason: Text = ""
) -> Response:
    """Count that a rule did harm, which weighs four times."""
    try:
        marking = knowledge.mark_harmful(rule_id, reason=reason.strip() or None)
        await _changed(marking, knowledge, rule_id)
    except InvalidInputError as error:
        rule = await knowledge.read_memory("rule", rule_id)
        return _harmful_form(request, rule, reason, {"reason": message_of(error)})
    return _done(request, rule_id, "Noted: it did harm.")


@router.post("/{rule_id:uuid}/confirm", dependencies=WRITE)
async def confirm(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Start its decay over."""
    await _changed(knowledge.confirm_memory("rule", rule_id), knowledge, rule_id)
    return _done(request, rule_id, "Confirmed: its decay starts over.")


@router.get("/{rule_id:uuid}/invert", dependencies=WRITE)
async def invert_form(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Ask whether a rule is to become the warning against itself."""
    rule = await knowledge.read_memory("rule", rule_id)
    return ask(request, _inversion(rule))


@router.post("/{rule_id:uuid}/invert", dependencies=WRITE)
async def invert(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Turn a rule that keeps doing harm into the warning against itself."""
    try:
        await _changed(knowledge.invert_to_anti_pattern(rule_id), knowledge, rule_id)
    except InvalidInputError as error:
        rule = await knowledge.read_memory("rule", rule_id)
        return ask(request, _inversion(rule), error=message_of(error))
    return _done(request, rule_id, "It is a warning now.")


@router.get("/{rule_id:uuid}/forget", dependencies=WRITE)
async def forget_form(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> HTMLResponse:
    """Ask whether a rule is to be forgotten."""
    rule = await knowledge.read_memory("rule", rule_id)
    return ask(
        request,
        Question(
            title="Forget this rule?",
            texts=(
                "It disappears from every search and every prompt at once. The row stays in the history.",
            ),
            quote=rule.content,
            url=f"{PATH}/{rule_id}/forget",
            button="Forget",
            back=f"{PATH}/{rule_id}",
        ),
    )


@router.post("/{rule_id:uuid}/forget", dependencies=WRITE)
async def forget(request: Request, knowledge: KnowledgeOfCaller, rule_id: ItemId) -> Response:
    """Mark a rule as forgotten."""
    await knowledge.forget_memory("rule", rule_id)
    return _done(request, rule_id, "The rule was forgotten.")


def _done(request: Request, rule_id: UUID, notice: str) -> Response:
    return done(request, notice, location=f"{PATH}/{rule_id}", changed=CHANGED)


async def _changed(change: Awaitable[object], knowledge: KnowledgeMemory, rule_id: UUID) -> None:
    """Await the change of a rule.

    Raises:
        InvalidInputError: The rule is forgotten.
        NotFoundError: The rule does not exist.
    """
    try:
        await change
    except NotFoundError:
        await knowledge.read_memory("rule", rule_id)
        raise InvalidInputError("rule", GONE_BEFORE, "one that is forgotten") from None


def _inversion(rule: Rule) -> Question:
    return Question(
        title="Turn this rule into a warning?",
        texts=(
            "It did harm more often than it helped. From now on it says what not to do, and why.",
            "Its old words are kept with it.",
        ),
        quote=rule.content,
        url=f"{PATH}/{rule.id}/invert",
        button="Turn into a warning",
        back=f"{PATH}/{rule.id}",
        is_dangerous=False,
    )


def _harmful_form(request: Request, rule: Rule, reason: str, errors: dict[str, str]) -> HTMLResponse:
    return render_dialog(
        request,
        "knowledge/rules/harmful.html",
        http_status=INVALID if errors else 200,
        rule=rule,
        reason=reason,
        errors=errors,
    )
