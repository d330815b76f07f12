"""Pages of entities: the subjects of facts, with their names."""

from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import Entity, EntityType, KnowledgeMemory
from commonplace.web.access import KnowledgeOfCaller, reader, writer
from commonplace.web.dashboard.errors import PageRoute, message_of
from commonplace.web.dashboard.forms import INVALID, Text
from commonplace.web.dashboard.paging import ONE_MORE, PAGE_SIZE, cut_page
from commonplace.web.dashboard.rendering import done, render, render_dialog
from commonplace.web.knowledge.pages.listing import CHANGED, ItemId, Name
from commonplace.web.paging import Offset

PATH: Final = "/knowledge/entities"

Type = EntityType | Literal[""]
Merged = Literal["", "merged"]
TYPES: Final = (("", "Any"), *((kind, kind.title()) for kind in EntityType))
STATES: Final = (("", "Current"), ("merged", "Merged"))

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(reader)]
)
WRITE: Final = [Depends(writer)]


@router.get("")
async def entities_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    name: Name = "",
    kind: Annotated[Type, Query()] = "",
    state: Annotated[Merged, Query()] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show entities by name."""
    found = await knowledge.list_entities(
        name=name.strip() or None,
        entity_type=kind or None,
        merged=state == "merged",
        limit=ONE_MORE,
        offset=offset,
    )
    query = {"name": name.strip(), "kind": kind, "state": state}
    rows, pager = cut_page(found, PATH, query, offset)
    return render(
        request,
        "knowledge/entities/list.html",
        entities=rows,
        pager=pager,
        query=query,
        types=TYPES,
        states=STATES,
    )


@router.get("/new", dependencies=WRITE)
async def new_form(request: Request) -> HTMLResponse:
    """Show the form for a new entity."""
    return _form(request, None, {"canonical_name": "", "entity_type": "", "aliases": ""}, {})


@router.post("", dependencies=WRITE)
async def create(
    request: Request,
    knowledge: KnowledgeOfCaller,
    canonical_name: Text = "",
    entity_type: Text = "",
    aliases: Text = "",
) -> Response:
    """Add an entity, or show the form again with the error."""
    try:
        entity = await knowledge.entity_create(
            canonical_name=canonical_name, entity_type=entity_type, aliases=_lines(aliases)
        )
    except InvalidInputError as error:
        values = {"canonical_name": canonical_name, "entity_type": entity_type, "aliases": aliases}
        return _form(request, None, values, _errors(error))
    return done(
        request, f"{entity.canonical_name} was added.", location=f"{PATH}/{entity.id}", changed=CHANGED
    )


@router.get("/{entity_id:uuid}")
async def entity_page(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> HTMLResponse:
    """Show one entity with its facts, or the entity that it was merged into."""
    entity = await require_entity(knowledge, entity_id)
    merged = entity.merged_into is not None
    return render(
        request,
        "knowledge/entities/one.html",
        entity=entity,
        facts=await knowledge.list_facts(validity="active", entity_id=entity_id, limit=ONE_MORE),
        most=PAGE_SIZE,
        survivor=await knowledge.entity_get(entity.survivor_id) if merged else None,
        entries=await knowledge.list_events(memory_id=entity_id, limit=10),
    )


@router.get("/{entity_id:uuid}/edit", dependencies=WRITE)
async def edit_form(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> HTMLResponse:
    """Show the form with an entity's names."""
    entity = await require_entity(knowledge, entity_id)
    values = {
        "canonical_name": entity.canonical_name,
        "entity_type": str(entity.entity_type),
        "aliases": "\n".join(entity.aliases),
    }
    return _form(request, entity, values, {})


@router.post("/{entity_id:uuid}", dependencies=WRITE)
async def update(
    request: Request,
    knowledge: KnowledgeOfCaller,
    entity_id: ItemId,
    canonical_name: Text = "",
    aliases: Text = "",
) -> Response:
    """Change an entity's names, or show the form again with the error."""
    entity = await require_entity(knowledge, entity_id)
    try:
        await knowledge.entity_update(entity_id, canonical_name=canonical_name, aliases=_lines(aliases))
    except InvalidInputError as error:
        values = {
            "canonical_name": canonical_name,
            "entity_type": str(entity.entity_type),
            "aliases": aliases,
        }
        return _form(request, entity, values, _errors(error))
    return done(request, "Saved.", location=f"{PATH}/{entity_id}", changed=CHANGED)


async def require_entity(knowledge: KnowledgeMemory, entity_id: UUID) -> Entity:
    """Return an entity.

    Raises:
        NotFoundError: There is none of this id.
    """
    return await knowledge.entity_get(entity_id)


def _form(
    request: Request, entity: Entity | None, values: dict[str, str], errors: dict[str, str]
) -> HTMLResponse:
    return render_dialog(
        request,
        "knowledge/entities/form.html",
        http_status=INVALID if errors else 200,
        entity=entity,
        values=values,
        errors=errors,
        types=list(EntityType),
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _errors(error: InvalidInputError) -> dict[str, str]:
    """Return an error by its field of the form; that of one alias is one of the whole list."""
    known = ("canonical_name", "entity_type", "aliases")
    field = next((name for name in known if error.field.startswith(name)), "canonical_name")
    return {field: message_of(error)}
