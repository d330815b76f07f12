"""The page of background work: workers, schedules, queue and failures."""

from typing import TYPE_CHECKING, Final, cast

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.knowledge import worker_status
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import render

if TYPE_CHECKING:
    from commonplace.web.http.health import Checks

PATH: Final = "/workers"

router = pages(PATH, installation_reader)


@router.get("")
async def workers_page(request: Request, memories: OpenMemories) -> HTMLResponse:
    """Show the background work of all tenants."""
    settings = cast("Checks", request.app.state.checks).settings
    status = None if settings is None else await worker_status(memories.knowledge, settings)
    return render(request, "knowledge/workers.html", status=status)
