"""Pages of facts, with their history, confidence and sources."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.knowledge import FAINT, GONE, Fact, KnowledgeMemory, Rule, Validity
from commonplace.web.access import KnowledgeOfCaller, reader
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import ONE_MORE, cut_page
from commonplace.web.dashboard.rendering import render
from commonplace.web.knowledge.pages.decay_curve import DecayCurve, decay_curve
from commonplace.web.knowledge.pages.listing import ItemId, Name, SomeId
from commonplace.web.paging import Offset

PATH: Final = "/knowledge/facts"
FADING: Final = "fading"
"""Active and marked by the sweep; not a validity of its own."""

State = Validity | Literal["", "fading"]
STATES: Final = (
    ("", "Any"),
    ("active", "Active"),
    (FADING, "Fading"),
    *((each, each.title()) for each in Validity if each is not Validity.ACTIVE),
)

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(reader)]
)


@router.get("")
async def facts_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    state: Annotated[State, Query()] = "",
    scope: Name = "",
    entity: SomeId = None,
    offset: Offset = 0,
) -> HTMLResponse:
    """Show facts, newest first."""
    found = await knowledge.list_facts(
        validity="active" if state == FADING else state or None,
        fading=True if state == FADING else None,
        scope=scope.strip() or None,
        entity_id=entity,
        limit=ONE_MORE,
        offset=offset,
    )
    query = {"state": state, "scope": scope.strip(), "entity": entity}
    rows, pager = cut_page(found, PATH, query, offset)
    return render(
        request,
        "knowledge/facts/list.html",
        facts=rows,
        pager=pager,
        query=query,
        states=STATES,
        entity=None if entity is None else await knowledge.entity_get(entity),
    )


@router.get("/{fact_id:uuid}")
async def fact_page(request: Request, knowledge: KnowledgeOfCaller, fact_id: ItemId) -> HTMLResponse:
    """Show one fact with its history, decay and sources."""
    return render(request, "knowledge/facts/one.html", **await fact_values(knowledge, fact_id))


async def fact_values(knowledge: KnowledgeMemory, fact_id: UUID) -> dict[str, Any]:
    """Return the values of the page of one fact.

    Raises:
        NotFoundError: No fact has this id.
    """
    fact = await knowledge.read_memory("fact", fact_id)
    return {
        "fact": fact,
        "chain": await knowledge.fact_chain(fact_id),
        "links": await knowledge.list_linked("fact", fact_id),
        "entity": await knowledge.entity_get(fact.entity_id) if fact.entity_id else None,
        "curve": curve_of(knowledge, fact),
        "thresholds": [("fades", FAINT), ("expires", GONE)],
    }


def curve_of(knowledge: KnowledgeMemory, memory: Fact | Rule) -> DecayCurve | None:
    """Return the decay of a fact or rule."""
    since = memory.last_confirmed_at or memory.created_at
    return decay_curve(memory.confidence, memory.decay_rate, since, knowledge.clock())
