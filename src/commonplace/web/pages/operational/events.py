"""Events page: events that the agent reported (OPS-20.2)."""

from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.operational import MAX_SERVICE_CHARS, EventLevel
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.http.limits import LARGEST_ID
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import ListFilters, read_page
from commonplace.web.pages.layout.rendering import render

router = pages("/events", installation_reader)


class EventFilters(ListFilters):
    """The filters of the list of events."""

    level: EventLevel | Literal[""] = ""
    service: Annotated[str, Field(max_length=MAX_SERVICE_CHARS)] = ""
    session_id: Annotated[int, Field(ge=0, le=LARGEST_ID)] | Literal[""] = Field(default="", alias="session")


@router.get("")
async def events_page(
    request: Request, memories: OpenMemories, wanted: Annotated[EventFilters, Query()]
) -> HTMLResponse:
    """Show events, newest first."""
    page, pager = await read_page(request, wanted, memories.operational.events.page)
    levels = [("", "Any"), *((level, level) for level in EventLevel)]
    return render(request, "events/list.html", events=page.items, levels=levels, pager=pager)
