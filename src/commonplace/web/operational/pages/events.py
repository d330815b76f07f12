"""Events page: events that the agent reported (OPS-20.2)."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.operational import MAX_SERVICE_CHARS, EventLevel
from commonplace.web.access import OpenMemories, installation_reader
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import PAGE_SIZE, read_page
from commonplace.web.dashboard.rendering import render
from commonplace.web.paging import Offset

PATH: Final = "/events"

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(installation_reader)]
)


@router.get("")
async def events_page(
    request: Request,
    memories: OpenMemories,
    level: Annotated[EventLevel | Literal[""], Query()] = "",
    service: Annotated[str, Query(max_length=MAX_SERVICE_CHARS)] = "",
    session: Annotated[str, Query(pattern=r"^\d{0,9}$")] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show events, newest first."""
    views = memories.operational.views
    chosen, name, session_id = level or None, service.strip() or None, int(session) if session else None
    query = {"level": level, "service": service, "session": session}
    page, pager = await read_page(
        lambda at: views.events(
            level=chosen, service=name, session_id=session_id, limit=PAGE_SIZE, offset=at
        ),
        PATH,
        query,
        offset,
    )
    return render(
        request,
        "events/list.html",
        events=page.items,
        query=query,
        levels=[("", "Any"), *((name, name) for name in EventLevel)],
        pager=pager,
    )
