"""Changes of a fact by an operator: confirm, correct, forget."""

from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge import Fact, MemoryType, Validity
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.knowledge.bulk import ChangeName, undo_of
from commonplace.web.pages.knowledge.facts import PATH
from commonplace.web.pages.knowledge.forgetting import add_forgetting
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId
from commonplace.web.pages.knowledge.pinning import add_pinning
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.rendering import done, render_dialog

TEMPLATE: Final = "knowledge/correct.html"
NOT_ACTIVE: Final = "an active fact; other facts cannot be confirmed or corrected"

router = pages(PATH, writer)


@router.post("/{fact_id:uuid}/confirm")
async def confirm(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> Response:
    """Confirm a fact: its decay starts again, and a held fact replaces the fact that it contradicts."""
    fact = await knowledge.read("fact", fact_id)
    if fact.validity not in {Validity.ACTIVE, Validity.HELD}:
        raise InvalidInputError("fact", NOT_ACTIVE, f"a fact that is {fact.validity}")
    await knowledge.confirm("fact", fact_id)
    effect = (
        "It replaces the fact that it contradicts."
        if fact.validity is Validity.HELD
        else "Its decay starts again."
    )
    undo = undo_of(MemoryType.FACT, ChangeName.CONFIRM, [fact_id])
    return done(request, f"The fact was confirmed. {effect}", changed=CHANGED, undo=undo)


add_forgetting(
    router,
    MemoryType.FACT,
    "Searches and prompts no longer show the fact. It is marked as retracted.",
    "The fact stays in the history. Facts that it superseded stay superseded.",
)


add_pinning(router, MemoryType.FACT)


@router.get("/{fact_id:uuid}/correct")
async def correction_form(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> HTMLResponse:
    """Show the form for a correction."""
    fact = await knowledge.read("fact", fact_id)
    return render_dialog(request, TEMPLATE, memory=fact, content=fact.content, errors={})


@router.post("/{fact_id:uuid}/correct")
async def correct(
    request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId, content: Text = ""
) -> Response:
    """Store the correction, which supersedes the fact."""
    fact = await knowledge.read("fact", fact_id)
    try:
        _require_change(fact, content)
        corrected = await knowledge.edit("fact", fact_id, content)
    except InvalidInputError as error:
        errors = {error.field: message_of(error)}
        return render_dialog(request, TEMPLATE, memory=fact, content=content, errors=errors)
    notice = f"The correction was stored. It replaced: {trim_to(collapse_whitespace(fact.content), 100)}"
    return done(request, notice, location=f"{PATH}/{corrected.id}", changed=CHANGED)


def _require_change(fact: Fact, content: str) -> None:
    if fact.validity is not Validity.ACTIVE:
        raise InvalidInputError("content", NOT_ACTIVE, f"a fact that is {fact.validity}")
    if content.strip() == fact.content:
        raise InvalidInputError("content", "a text that differs from the fact", content)
