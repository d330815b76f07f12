"""One search over all four memories, and the newest items of each memory without a query."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.access import Principal
from commonplace.services.briefing import Part
from commonplace.services.search import MAX_QUERY_CHARS, PARTS, Item, Kind, search_all
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.pages.knowledge.graph import BETWEEN
from commonplace.web.pages.knowledge.listing import project_names
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/search"
TITLES: Final = {
    Part.KNOWLEDGE: "Knowledge",
    Part.OPERATIONAL: "Lessons of operations",
    Part.APPS: "Digests of apps",
    Part.WORKSPACE: "Notes of the workspace",
}
_PLACES: Final = {
    Kind.ENTITY: "/knowledge/entities/{}",
    Kind.FACT: "/knowledge/facts/{}",
    Kind.RULE: "/knowledge/rules/{}",
    Kind.EPISODE: "/knowledge/episodes/{}",
    Kind.LESSON: "/memories/{}",
    Kind.NOTE: "/workspace#{}",
}
_DELETING: Final = {
    Kind.FACT: ("Forget", "/knowledge/facts/{}/forget"),
    Kind.RULE: ("Forget", "/knowledge/rules/{}/forget"),
    Kind.EPISODE: ("Forget", "/knowledge/episodes/{}/forget"),
    Kind.LESSON: ("Delete", "/memories/delete?ids={}"),
    Kind.NOTE: ("Delete", "/workspace/{}/delete"),
}

router = pages(PATH, reader)


class SearchAddress(Address):
    """The question in the address of the page."""

    q: Annotated[str, Field(max_length=MAX_QUERY_CHARS)] = ""
    on: date | Literal[""] = ""


@router.get("")
async def search_page(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[SearchAddress, Query()],
    who: Annotated[Principal, Depends(reader)],
) -> HTMLResponse:
    """Show the matches of a query in every memory; tenants other than the installation's see knowledge memory only."""
    day = wanted.on or None
    parts = PARTS if who.of_installation and day is None else (Part.KNOWLEDGE,)
    end = None if day is None else datetime.combine(day, time.max, tzinfo=UTC)
    return render(
        request,
        "search.html",
        query=wanted.q,
        day=day,
        connects=len([name for name in BETWEEN.split(wanted.q) if name]) == 2,  # noqa: PLR2004 - two names
        url=link(PATH, q=wanted.q, on=day),
        results=await search_all(replace(memories, knowledge=knowledge), wanted.q, parts=parts, as_of=end),
        titles=TITLES,
        projects=dict(project_names(request, knowledge)),
        url_of=url_of,
        deleting=deleting,
    )


def url_of(item: Item) -> str:
    """Return the page of an item; a digest is on the page of its app."""
    return f"/apps/{item.about}" if item.kind is Kind.DIGEST else _PLACES[item.kind].format(item.id)


def deleting(item: Item) -> tuple[str, str] | None:
    """Return the label and the address of the dialog that removes an item; ``None`` if there is no such dialog."""
    if item.kind is Kind.DIGEST:
        return "Delete", f"/apps/{item.about}/memories/{item.id}/delete"
    if item.kind not in _DELETING:
        return None
    word, address = _DELETING[item.kind]
    return word, address.format(item.id)
