"""Pages of entities: the subjects of facts, with their names."""

from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import Entity, EntityType, Narrowing
from commonplace.web.http.access import KnowledgeOfCaller, reader, writer
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId, Name
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.paging import ONE_MORE, PAGE_SIZE, ListFilters, cut_page, present
from commonplace.web.pages.layout.rendering import done, render, render_dialog

PATH: Final = "/knowledge/entities"

TYPES: Final = (("", "Any"), *((kind, kind.title()) for kind in EntityType))
STATES: Final = (("", "Current"), ("merged", "Merged"))

router = pages(PATH, reader)
WRITE: Final = [Depends(writer)]


class EntityFilters(ListFilters):
    """The filters of the list of entities."""

    name: Name = ""
    kind: EntityType | Literal[""] = ""
    state: Literal["", "merged"] = ""

    @property
    def given(self) -> dict[str, Any]:
        """The filters of knowledge memory."""
        return present(name=self.name, entity_type=self.kind, merged=self.state == "merged")


@router.get("")
async def entities_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[EntityFilters, Query()]
) -> HTMLResponse:
    """Show entities by name."""
    entities, pager = await cut_page(request, wanted, knowledge.lists.entities)
    return render(
        request, "knowledge/entities/list.html", entities=entities, pager=pager, types=TYPES, states=STATES
    )


class EntityForm(BaseModel):
    """The values of the form of an entity; each alias has its own line."""

    canonical_name: str = ""
    entity_type: str = ""
    aliases: str = ""


Given = Annotated[EntityForm, Form()]


@router.get("/new", dependencies=WRITE)
async def new_form(request: Request) -> HTMLResponse:
    """Show the form for a new entity."""
    return _form(request, None, EntityForm(), None)


@router.post("", dependencies=WRITE)
async def create(request: Request, knowledge: KnowledgeOfCaller, given: Given) -> Response:
    """Add an entity, or show the form again with the error."""
    try:
        entity = await knowledge.entities.create(
            canonical_name=given.canonical_name, entity_type=given.entity_type, aliases=_lines(given.aliases)
        )
    except InvalidInputError as error:
        return _form(request, None, given, error)
    notice = f"{entity.canonical_name} was added."
    return done(request, notice, location=f"{PATH}/{entity.id}", changed=CHANGED)


@router.get("/{entity_id:uuid}")
async def entity_page(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> HTMLResponse:
    """Show one entity with its facts, or the entity that it was merged into."""
    entity = await knowledge.entities.get(entity_id)
    merged = entity.merged_into is not None
    facts = await knowledge.lists.facts(
        validity="active", narrowing=Narrowing(entity_id=entity_id), limit=ONE_MORE
    )
    return render(
        request,
        "knowledge/entities/one.html",
        entity=entity,
        facts=facts,
        later=await knowledge.history.later_facts(facts),
        most=PAGE_SIZE,
        survivor=await knowledge.entities.get(entity.survivor_id) if merged else None,
        entries=await knowledge.events.list(memory_id=entity_id, limit=10),
    )


@router.get("/{entity_id:uuid}/edit", dependencies=WRITE)
async def edit_form(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId) -> HTMLResponse:
    """Show the form with an entity's names."""
    entity = await knowledge.entities.get(entity_id)
    names = EntityForm(canonical_name=entity.canonical_name, aliases="\n".join(entity.aliases))
    return _form(request, entity, names, None)


@router.post("/{entity_id:uuid}", dependencies=WRITE)
async def update(request: Request, knowledge: KnowledgeOfCaller, entity_id: ItemId, given: Given) -> Response:
    """Change an entity's names, or show the form again with the error."""
    entity = await knowledge.entities.get(entity_id)
    try:
        await knowledge.entities.update(
            entity_id, canonical_name=given.canonical_name, aliases=_lines(given.aliases)
        )
    except InvalidInputError as error:
        return _form(request, entity, given, error)
    return done(request, "Saved.", location=f"{PATH}/{entity_id}", changed=CHANGED)


def _form(
    request: Request, entity: Entity | None, values: EntityForm, error: InvalidInputError | None
) -> HTMLResponse:
    return render_dialog(
        request,
        "knowledge/entities/form.html",
        entity=entity,
        values=values,
        errors=_errors(error) if error else {},
        types=list(EntityType),
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _errors(error: InvalidInputError) -> dict[str, str]:
    """Return an error by form field; an error in one alias belongs to the whole list."""
    known = ("canonical_name", "entity_type", "aliases")
    field = next((name for name in known if error.field.startswith(name)), "canonical_name")
    return {field: message_of(error)}
