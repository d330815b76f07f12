"""One search over all four memories, and the newest items of each memory without a query."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.access import Principal
from commonplace.services.briefing import BriefingPart
from commonplace.services.search import MAX_QUERY_CHARS, PARTS, search_all
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.pages.knowledge.graph import BETWEEN
from commonplace.web.pages.knowledge.listing import project_names
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/search"
TITLES: Final = {
    BriefingPart.KNOWLEDGE: "Knowledge",
    BriefingPart.OPERATIONAL: "Lessons of operations",
    BriefingPart.APPS: "Digests of apps",
    BriefingPart.WORKSPACE: "Notes of the workspace",
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
    parts = PARTS if who.of_installation and day is None else (BriefingPart.KNOWLEDGE,)
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
    )
