"""Cooldowns page: restarts and redeployments by the agent (OPS-20.3)."""

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.operational import MAX_SERVICE_CHARS
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import ListFilters, read_page
from commonplace.web.pages.layout.rendering import render

router = pages("/cooldowns", installation_reader)


class CooldownFilters(ListFilters):
    """The filters of the list of cooldowns."""

    service: Annotated[str, Field(max_length=MAX_SERVICE_CHARS)] = ""


@router.get("")
async def cooldowns_page(
    request: Request, memories: OpenMemories, wanted: Annotated[CooldownFilters, Query()]
) -> HTMLResponse:
    """Show cooldown actions, newest first."""
    page, pager = await read_page(request, wanted, memories.operational.cooldowns.page)
    return render(request, "cooldowns/list.html", cooldowns=page.items, pager=pager)
