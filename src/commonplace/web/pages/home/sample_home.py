"""The sample memories: a button that loads them into an empty home, and a dialog that removes them."""

from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.text import plural
from commonplace.services.sample import drop, load
from commonplace.web.http.access import OpenMemories, installation_writer
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done

FRONT_PAGE: Final = "/"
CHANGED: Final = "overview-changed"
QUESTION: Final = Question(
    title="Remove the sample memories?",
    texts=(
        "All sample memories and their texts are deleted. This week and the audit log still list that they existed.",
        "Memories that were added since stay.",
    ),
    button="Remove",
    back=FRONT_PAGE,
)

router = pages("/sample", installation_writer)


@router.post("/load")
async def load_sample(request: Request, memories: OpenMemories) -> Response:
    """Store the sample memories."""
    receipt = await load(memories)
    notice = f"{plural(receipt.total, 'sample memory', 'sample memories')} loaded."
    return done(request, notice, location=FRONT_PAGE, changed=CHANGED)


@router.get("/drop")
async def drop_form(request: Request) -> HTMLResponse:
    """Ask before the sample memories are removed."""
    return ask(request, QUESTION)


@router.post("/drop")
async def drop_sample(request: Request, memories: OpenMemories) -> Response:
    """Remove the sample memories."""
    receipt = await drop(memories)
    notice = f"{plural(receipt.total, 'sample memory', 'sample memories')} removed."
    return done(request, notice, location=FRONT_PAGE, changed=CHANGED)
