"""Merging two entities, with a preview, and undoing a merge."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import Form, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.knowledge import Entity, KnowledgeMemory
from commonplace.web.http.access import KnowledgeOfCaller, admin
from commonplace.web.pages.knowledge.entities import PATH
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId, Name, SomeId
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done, render_dialog

MOST_CANDIDATES: Final = 8

router = pages(PATH, admin)


@router.get("/{entity_id:uuid}/merge")
async def merge_form(
    request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId, name: Name = "", target: SomeId = None
) -> HTMLResponse:
    """Ask for the target of a merge, then show its preview."""
    source = await knowledge.entities.get(entity_id)
    if target is None:
        return await _choice(request, knowledge, source, name.strip())
    try:
        preview = await knowledge.entities.preview_merge(entity_id, target)
    except InvalidInputError as error:
        return await _choice(request, knowledge, source, name.strip(), error=message_of(error))
    return render_dialog(request, "knowledge/entities/merge.html", preview=preview)


@router.post("/{entity_id:uuid}/merge")
async def merge(
    request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId, target: Annotated[UUID, Form()]
) -> Response:
    """Merge an entity into another."""
    source = await knowledge.entities.get(entity_id)
    try:
        receipt = await knowledge.entities.merge(entity_id, target)
    except InvalidInputError as error:
        return await _choice(request, knowledge, source, "", error=message_of(error))
    notice = f"The entities were merged; {plural(receipt.facts_repointed, 'fact')} moved."
    return done(request, notice, location=f"{PATH}/{target}", changed=CHANGED)


async def _choice(
    request: Request, knowledge: KnowledgeMemory, source: Entity, name: str, *, error: str = ""
) -> HTMLResponse:
    found = await knowledge.entities.resolve(name, enable_fuzzy=True) if name else []
    candidates = [one for one in found if one.entity_id != source.id][:MOST_CANDIDATES]
    values = {"source": source, "name": name, "candidates": candidates, "error": error}
    return render_dialog(request, "knowledge/entities/merge_choice.html", **values)


@router.get("/{entity_id:uuid}/unmerge")
async def unmerge_form(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> HTMLResponse:
    """Ask before a merge is undone."""
    return ask(request, await _unmerging(knowledge, entity_id))


@router.post("/{entity_id:uuid}/unmerge")
async def unmerge(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> Response:
    """Undo a merge."""
    try:
        receipt = await knowledge.entities.unmerge(entity_id)
    except InvalidInputError as error:
        return ask(request, await _unmerging(knowledge, entity_id), error=message_of(error))
    kept = f" {plural(len(receipt.kept), 'later change')} stayed." if receipt.kept else ""
    notice = f"The merge was undone; {plural(receipt.facts_restored, 'fact')} moved back.{kept}"
    return done(request, notice, changed=CHANGED)


async def _unmerging(knowledge: KnowledgeMemory, entity_id: UUID) -> Question:
    source = await knowledge.entities.get(entity_id)
    target = None if source.merged_into is None else await knowledge.entities.get(source.merged_into)
    into = target.canonical_name if target else "another entity"
    return Question(
        title=f"Undo the merge of {source.canonical_name}?",
        texts=(
            f"{source.canonical_name} becomes an entity of its own again. Its facts and names move back from {into}.",
            f"Changes since the merge stay. Facts stored since the merge stay with {into}.",
            "The audit log lists the changes that stay.",
        ),
        button="Undo merge",
        is_dangerous=False,
    )
