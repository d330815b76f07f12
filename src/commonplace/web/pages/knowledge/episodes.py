"""Pages of episodes, with the state of their consolidation."""

from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from commonplace.core.errors import NotFoundError, UndoRefusedError
from commonplace.core.text import plural
from commonplace.knowledge import EpisodeStatus, Narrowing
from commonplace.web.http.access import KnowledgeOfCaller, admin, reader
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId, Label, Name
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.notices import Undo
from commonplace.web.pages.layout.paging import ListFilters, cut_page, present
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done, link, render

PATH: Final = "/knowledge/episodes"

STATES: Final = (("", "Any"), *((status, status.replace("_", " ").capitalize()) for status in EpisodeStatus))

router = pages(PATH, reader)


class EpisodeFilters(ListFilters):
    """The filters of the list of episodes."""

    status: EpisodeStatus | Literal[""] = Field(default="", alias="state")
    butler: Label = ""

    @property
    def given(self) -> dict[str, Any]:
        """The filters of knowledge memory."""
        return present(status=self.status, narrowing=Narrowing(scope=self.butler or None))


@router.get("")
async def episodes_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[EpisodeFilters, Query()]
) -> HTMLResponse:
    """Show episodes, newest first."""
    episodes, pager = await cut_page(request, wanted, knowledge.lists.episodes)
    return render(
        request,
        "knowledge/episodes/list.html",
        episodes=episodes,
        pager=pager,
        states=STATES,
        present=knowledge.clock(),
    )


@router.get("/requeue", dependencies=[Depends(admin)])
async def requeue_form(request: Request, knowledge: KnowledgeOfCaller, butler: Name = "") -> HTMLResponse:
    """Ask before dead letters are retried."""
    letters = await knowledge.dead_letters.list(butler=butler.strip() or None)
    whose = f" of {butler.strip()}" if butler.strip() else ""
    return ask(
        request,
        Question(
            title=f"Retry {plural(len(letters), 'dead letter')}{whose}?",
            texts=(
                "These episodes failed on every attempt. The list shows their errors.",
                "They wait for consolidation again, with all attempts. Expired episodes stay dead letters.",
            ),
            button="Retry",
            back=link(PATH, state="dead_letter", butler=butler.strip()),
            is_dangerous=False,
        ),
    )


@router.post("/requeue", dependencies=[Depends(admin)])
async def requeue(request: Request, knowledge: KnowledgeOfCaller, butler: Name = "") -> Response:
    """Retry dead letters."""
    wanted = butler.strip() or None
    letters = await knowledge.dead_letters.list(butler=wanted)
    count = await knowledge.dead_letters.requeue(butler=wanted)
    notice = f"{plural(count, 'episode')} will be retried."
    present = knowledge.clock()
    ids = [str(letter.id) for letter in letters if letter.expires_at is None or letter.expires_at > present]
    undo = Undo(url=f"{PATH}/requeue/undo", fields=(("ids", ",".join(ids)),)) if ids else None
    return done(request, notice, changed=CHANGED, undo=undo)


@router.post("/requeue/undo", dependencies=[Depends(admin)])
async def undo_requeue(request: Request, knowledge: KnowledgeOfCaller, ids: Text) -> Response:
    """Undo retries; episodes that a run has taken since are consolidated anyway."""
    kept = 0
    wanted = ids.split(",")
    for each in wanted:
        try:
            await knowledge.dead_letters.undo_requeue(each)
        except (UndoRefusedError, NotFoundError):
            kept += 1
    notice = f"The retry of {plural(len(wanted) - kept, 'episode')} was undone."
    if kept:
        notice += f" A run has taken {plural(kept, 'episode')} since."
    return done(request, notice, changed=CHANGED, location=PATH)


@router.get("/{episode_id:uuid}")
async def episode_page(request: Request, knowledge: KnowledgeOfCaller, episode_id: ItemId) -> HTMLResponse:
    """Show one episode with the facts and rules learned from it."""
    return render(
        request,
        "knowledge/episodes/one.html",
        episode=await knowledge.read("episode", episode_id),
        links=await knowledge.links.memories("episode", episode_id),
        present=knowledge.clock(),
    )
