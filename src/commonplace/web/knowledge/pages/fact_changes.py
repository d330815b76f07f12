"""Changes of a fact by an operator: confirm, correct, forget."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import Fact, Validity
from commonplace.web.access import KnowledgeOfCaller, writer
from commonplace.web.dashboard.errors import PageRoute, message_of
from commonplace.web.dashboard.forms import INVALID, Text
from commonplace.web.dashboard.questions import Question, ask
from commonplace.web.dashboard.rendering import done, render_dialog
from commonplace.web.knowledge.pages.facts import PATH
from commonplace.web.knowledge.pages.listing import CHANGED, ItemId

NOT_ACTIVE: Final = "an active fact; other facts cannot be confirmed or corrected"

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(writer)]
)


@router.post("/{fact_id:uuid}/confirm")
async def confirm(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> Response:
    """Confirm a fact, which restarts its decay."""
    fact = await knowledge.read_memory("fact", fact_id)
    if fact.validity is not Validity.ACTIVE:
        raise InvalidInputError("fact", NOT_ACTIVE, f"a fact that is {fact.validity}")
    await knowledge.confirm_memory("fact", fact_id)
    return done(
        request,
        "The fact was confirmed. Its decay starts again.",
        location=f"{PATH}/{fact_id}",
        changed=CHANGED,
    )


@router.get("/{fact_id:uuid}/forget")
async def forget_form(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> HTMLResponse:
    """Ask before a fact is forgotten."""
    fact = await knowledge.read_memory("fact", fact_id)
    return ask(
        request,
        Question(
            title="Forget this fact?",
            texts=(
                "Searches and prompts no longer show the fact. It is marked as retracted.",
                "The fact stays in the history. Facts that it superseded stay superseded.",
            ),
            quote=f"{fact.subject} {fact.predicate}: {fact.content}",
            url=f"{PATH}/{fact_id}/forget",
            button="Forget",
            back=f"{PATH}/{fact_id}",
        ),
    )


@router.post("/{fact_id:uuid}/forget")
async def forget(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> Response:
    """Retract a fact."""
    await knowledge.forget_memory("fact", fact_id)
    return done(request, "The fact was forgotten.", location=f"{PATH}/{fact_id}", changed=CHANGED)


@router.get("/{fact_id:uuid}/correct")
async def correction_form(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> HTMLResponse:
    """Show the form for a correction."""
    fact = await knowledge.read_memory("fact", fact_id)
    return _correction_form(request, fact, fact.content, {})


@router.post("/{fact_id:uuid}/correct")
async def correct(
    request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId, content: Text = ""
) -> Response:
    """Store the correction, which supersedes the fact."""
    fact = await knowledge.read_memory("fact", fact_id)
    try:
        _require_change(fact, content)
        receipt = await knowledge.store_fact(
            content=content,
            subject=fact.subject,
            predicate=fact.predicate,
            scope=fact.scope,
            importance=fact.importance,
            permanence=fact.permanence,
            tags=fact.tags,
            entity_id=fact.entity_id,
        )
    except InvalidInputError as error:
        return _correction_form(request, fact, content, {error.field: message_of(error)})
    return done(request, "The correction was stored.", location=f"{PATH}/{receipt.id}", changed=CHANGED)


def _require_change(fact: Fact, content: str) -> None:
    if fact.validity is not Validity.ACTIVE:
        raise InvalidInputError("content", NOT_ACTIVE, f"a fact that is {fact.validity}")
    if content.strip() == fact.content:
        raise InvalidInputError("content", "a text that differs from the fact", content)


def _correction_form(request: Request, fact: Fact, content: str, errors: dict[str, str]) -> HTMLResponse:
    return render_dialog(
        request,
        "knowledge/facts/correct.html",
        http_status=INVALID if errors else 200,
        fact=fact,
        content=content,
        errors=errors,
    )
