"""Devices: the other devices that have the memories of this home, when this one synced, and what waits.

The page shows what this device knows, and never asks the target. Leaving and revoking need a terminal, as on the page
*Keep safe*, so the page says the commands.
"""

from typing import Final, cast

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.services.sync.home import read_status
from commonplace.services.sync.requested_sync import RequestedSync
from commonplace.web.http.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.http.sync_conflicts import count_conflicts
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import done, render

PATH: Final = "/devices"
CHANGED: Final = "devices-changed"
WAIT_S: Final = 10.0
"""How long a person waits for the end of a sync; it then goes on in the background."""

router = pages(PATH, installation_reader)


@router.get("")
async def devices_page(request: Request, memories: OpenMemories) -> HTMLResponse:
    """Show the devices and the state of sync, or how to begin."""
    status = await read_status(memories.knowledge.database.settings)
    return render(
        request,
        "devices.html",
        status=status,
        conflicts=await count_conflicts(memories.knowledge) if status else None,
        requested=_requested_sync(request),
    )


@router.post("/sync", dependencies=[Depends(installation_writer)])
async def sync_now(request: Request) -> Response:
    """Sync once, and say what came of it, or that it goes on."""
    outcome = await _requested_sync(request).run(wait_s=WAIT_S)
    notice = (
        outcome.text if outcome else "The sync goes on in the background; this page shows when it has ended."
    )
    return done(request, notice, changed=CHANGED, location=PATH)


def _requested_sync(request: Request) -> RequestedSync:
    return cast("RequestedSync", request.app.state.requested_sync)
