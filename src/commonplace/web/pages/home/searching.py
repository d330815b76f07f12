"""One search over all four memories; without a query, their newest items."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.access import Principal
from commonplace.language.times import TimeReader
from commonplace.services.briefing import BriefingPart
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.search.items import (
    MAX_QUERY_CHARS,
    PARTS,
    SearchCriteria,
)
from commonplace.services.search.searching import search_all
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.pages.knowledge.graph import BETWEEN
from commonplace.web.pages.knowledge.listing import Day, Name, project_names
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/search"
MOST: Final = 50
"""The maximum number of items on the page."""

TITLES: Final = {
    BriefingPart.KNOWLEDGE: "Knowledge memory",
    BriefingPart.OPERATIONAL: "Operational memory",
    BriefingPart.APPS: "App memory",
    BriefingPart.WORKSPACE: "Workspace memory",
}
KINDS: Final = (
    ("", "Any"),
    *((kind, "Entities" if kind is MemoryKind.ENTITY else f"{kind.title()}s") for kind in MemoryKind),
)

router = pages(PATH, reader)


class SearchAddress(Address):
    """The question and the filters in the address of the page."""

    q: Annotated[str, Field(max_length=MAX_QUERY_CHARS)] = ""
    kind: MemoryKind | Literal[""] = ""
    about: Name = ""
    since: Day = ""
    until: Day = ""
    on: Day = ""

    @property
    def narrows(self) -> bool:
        """Whether a filter is set."""
        return any((self.kind, self.about, self.since, self.until, self.on))

    def criteria(self, times: TimeReader) -> SearchCriteria:
        """Return the filters of the search.

        Raises:
            InvalidInputError: A day cannot be read.
        """
        return SearchCriteria(
            kinds=[self.kind] if self.kind else (),
            about=self.about,
            since=times.since(self.since or None),
            until=times.until(self.until or None),
            as_of=times.span(self.on, field="on").last if self.on else None,
        )


@router.get("")
async def search_page(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[SearchAddress, Query()],
    who: Annotated[Principal, Depends(reader)],
) -> HTMLResponse:
    """Show the matches of a query in every memory; tenants other than the installation's see knowledge memory only."""
    parts = PARTS if who.of_installation else (BriefingPart.KNOWLEDGE,)
    criteria = wanted.criteria(knowledge.times)
    results = await search_all(
        replace(memories, knowledge=knowledge), wanted.q, criteria=criteria, parts=parts, limit=MOST
    )
    return render(
        request,
        "search.html",
        wanted=wanted,
        day=criteria.as_of,
        connects=len([name for name in BETWEEN.split(wanted.q) if name]) == 2,  # noqa: PLR2004 - two names
        url=link(PATH, **wanted.model_dump()),
        results=results,
        most=MOST,
        titles=TITLES,
        kinds=KINDS,
        projects=dict(project_names(request, knowledge)),
    )
