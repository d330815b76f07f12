"""Cooldowns page: restarts and redeployments by the agent (OPS-20.3)."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.operational import MAX_SERVICE_CHARS
from commonplace.web.access import OpenMemories, installation_reader
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import PAGE_SIZE, read_page
from commonplace.web.dashboard.rendering import render
from commonplace.web.paging import Offset

PATH: Final = "/cooldowns"

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(installation_reader)]
)


@router.get("")
async def cooldowns_page(
    request: Request,
    memories: OpenMemories,
    service: Annotated[str, Query(max_length=MAX_SERVICE_CHARS)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show cooldown actions, newest first."""
    views = memories.operational.views
    name = service.strip() or None
    page, pager = await read_page(
        lambda at: views.cooldowns(service=name, limit=PAGE_SIZE, offset=at),
        PATH,
        {"service": service},
        offset,
    )
    return render(
        request,
        "cooldowns/list.html",
        cooldowns=page.items,
        service=service,
        pager=pager,
    )
