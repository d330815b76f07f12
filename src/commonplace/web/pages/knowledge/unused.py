"""Old facts that were never used: a dialog that lists them and forgets the selected facts."""

from datetime import timedelta
from typing import Final

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from commonplace.knowledge import (
    PINNED,
    Fact,
    FactCriteria,
    FactOrder,
    KnowledgeMemory,
    Validity,
)
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import render_dialog

PATH: Final = "/knowledge/unused"
SHOWN: Final = 20
OLD: Final = timedelta(days=30)

router = pages(PATH, writer)


@router.get("", dependencies=[Depends(writer)])
async def unused_facts(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
    """Ask which of the oldest unused facts to forget."""
    return render_dialog(request, "knowledge/unused.html", facts=await find_unused(knowledge), days=OLD.days)


async def find_unused(knowledge: KnowledgeMemory) -> list[Fact]:
    """Return facts, oldest first, that no search or block showed and nobody confirmed or pinned for a month."""
    found = await knowledge.lists.facts(
        validity=Validity.ACTIVE,
        criteria=FactCriteria(unused=True),
        sort=FactOrder.CONFIRMED,
        limit=5 * SHOWN,
    )
    oldest = knowledge.clock() - OLD
    old = [
        one for one in found if (one.last_confirmed_at or one.created_at) < oldest and PINNED not in one.tags
    ]
    return old[:SHOWN]
