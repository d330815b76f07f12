"""Pages of facts, with their history, confidence and sources."""

from dataclasses import replace
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import PrivateAttr

from commonplace.knowledge import (
    FAINT,
    GONE,
    Fact,
    FactCriteria,
    FactOrder,
    KnowledgeMemory,
    MemoryType,
    Rule,
    Validity,
)
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.pages.knowledge.bulk import add_bulk_changes
from commonplace.web.pages.knowledge.decay_curve import DecayCurve, decay_curve
from commonplace.web.pages.knowledge.listing import ItemId, KnowledgeFilters, Name, show_memories
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import present
from commonplace.web.pages.layout.rendering import render

PATH: Final = "/knowledge/facts"
FADING: Final = "fading"
"""Active facts that the sweep marked as fading; this is not a validity."""

WORDS: Final = {Validity.SUPERSEDED: "replaced", Validity.RETRACTED: "forgotten"}
"""States in the words of all kinds of memories."""

State = Validity | Literal["", "fading"]
STATES: Final = (
    ("", "Any"),
    ("active", "Active"),
    (FADING, "Fading"),
    *((each, WORDS.get(each, each).title()) for each in Validity if each is not Validity.ACTIVE),
)

MOST_OTHERS: Final = 5
"""The maximum number of entities shown for one name."""

router = pages(PATH, reader)


class FactFilters(KnowledgeFilters):
    """The filters of the list of facts."""

    state: State = ""
    entity: Name = ""
    sort: FactOrder | Literal[""] = ""

    _entity_id: UUID | None = PrivateAttr(None)

    def about(self, entity_id: UUID | None) -> None:
        """Narrow the list to an entity; ``None`` for the subject with the name of the filter, if it is set."""
        self._entity_id = entity_id

    @property
    def given(self) -> dict[str, Any]:
        """The filters of knowledge memory."""
        fading = self.state == FADING
        subject = self.entity or None if self._entity_id is None else None
        return present(
            validity=Validity.ACTIVE if fading else self.state,
            narrowing=replace(self.narrowing, entity_id=self._entity_id),
            criteria=FactCriteria(fading=fading or None, subject=subject, **self.shared),
            sort=self.sort,
        )


@router.get("")
async def facts_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[FactFilters, Query()]
) -> Response:
    """Show facts in an order, by default the newest first."""
    about = await find_named(knowledge, wanted.entity)
    wanted.about(about[0][0] if about else None)
    return await show_memories(
        request,
        knowledge,
        MemoryType.FACT,
        wanted,
        knowledge.lists.facts,
        states=STATES,
        about=about[0][1] if about else "",
        others=[(name, wanted.url_of(PATH, entity=key)) for key, name in about[1:MOST_OTHERS]],
    )


async def find_named(knowledge: KnowledgeMemory, name: str) -> list[tuple[UUID, str]]:
    """Return the ids and names of the entities that an id or a name may refer to, most likely first."""
    if not name:
        return []
    try:
        entity = await knowledge.entities.get(UUID(name))
    except ValueError:
        return [(each.entity_id, each.canonical_name) for each in await knowledge.entities.resolve(name)]
    return [(entity.id, entity.canonical_name)] if entity else []


add_bulk_changes(router, MemoryType.FACT, PATH)


@router.get("/{fact_id:uuid}")
async def fact_page(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> HTMLResponse:
    """Show one fact with its history, decay and sources."""
    fact = await knowledge.read("fact", fact_id)
    return render(
        request,
        "knowledge/facts/one.html",
        fact=fact,
        later=await knowledge.history.later_facts([fact]),
        chain=await knowledge.history.chain(fact_id),
        links=await knowledge.links.memories("fact", fact_id),
        entity=await knowledge.entities.get(fact.entity_id) if fact.entity_id else None,
        curve=curve_of(knowledge, fact),
        thresholds=[("fades", FAINT), ("expires", GONE)],
    )


def curve_of(knowledge: KnowledgeMemory, memory: Fact | Rule) -> DecayCurve | None:
    """Return the decay of a fact or rule."""
    since = memory.last_confirmed_at or memory.created_at
    return decay_curve(memory.confidence, memory.decay_rate, since, knowledge.clock())
