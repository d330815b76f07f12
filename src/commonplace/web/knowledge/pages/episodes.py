"""Pages of episodes, with the state of their consolidation."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.text import plural
from commonplace.knowledge import EpisodeStatus
from commonplace.web.access import KnowledgeOfCaller, admin, reader, writer
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import ONE_MORE, cut_page
from commonplace.web.dashboard.questions import Question, ask
from commonplace.web.dashboard.rendering import done, link, render
from commonplace.web.knowledge.pages.listing import CHANGED, ItemId, Name
from commonplace.web.paging import Offset

PATH: Final = "/knowledge/episodes"

Status = EpisodeStatus | Literal[""]
STATES: Final = (("", "Any"), *((status, status.replace("_", " ").capitalize()) for status in EpisodeStatus))

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(reader)]
)


@router.get("")
async def episodes_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    state: Annotated[Status, Query()] = "",
    butler: Name = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show episodes, newest first."""
    found = await knowledge.list_episodes(
        status=state or None, butler=butler.strip() or None, limit=ONE_MORE, offset=offset
    )
    query = {"state": state, "butler": butler.strip()}
    rows, pager = cut_page(found, PATH, query, offset)
    return render(
        request,
        "knowledge/episodes/list.html",
        episodes=rows,
        pager=pager,
        query=query,
        states=STATES,
        present=knowledge.clock(),
    )


@router.get("/requeue", dependencies=[Depends(admin)])
async def requeue_form(request: Request, knowledge: KnowledgeOfCaller, butler: Name = "") -> HTMLResponse:
    """Ask before dead letters are retried."""
    letters = await knowledge.list_dead_letters(butler=butler.strip() or None)
    whose = f" of {butler.strip()}" if butler.strip() else ""
    return ask(
        request,
        Question(
            title=f"Retry {plural(len(letters), 'dead letter')}{whose}?",
            texts=(
                "These episodes failed on every attempt. The list shows their errors.",
                "They wait for consolidation again, with all attempts. Expired episodes stay dead letters.",
            ),
            url=link(f"{PATH}/requeue", butler=butler.strip()),
            button="Retry",
            back=link(PATH, state="dead_letter", butler=butler.strip()),
            is_dangerous=False,
        ),
    )


@router.post("/requeue", dependencies=[Depends(admin)])
async def requeue(request: Request, knowledge: KnowledgeOfCaller, butler: Name = "") -> Response:
    """Retry dead letters."""
    count = await knowledge.requeue_dead_letters(butler=butler.strip() or None)
    notice = f"{plural(count, 'episode')} will be retried."
    return done(request, notice, location=PATH, changed=CHANGED)


@router.get("/{episode_id:uuid}")
async def episode_page(request: Request, knowledge: KnowledgeOfCaller, episode_id: ItemId) -> HTMLResponse:
    """Show one episode with the facts and rules learned from it."""
    return render(
        request,
        "knowledge/episodes/one.html",
        episode=await knowledge.read_memory("episode", episode_id),
        links=await knowledge.list_linked("episode", episode_id),
        present=knowledge.clock(),
    )


@router.get("/{episode_id:uuid}/forget", dependencies=[Depends(writer)])
async def forget_form(request: Request, knowledge: KnowledgeOfCaller, episode_id: ItemId) -> HTMLResponse:
    """Ask before an episode is forgotten."""
    episode = await knowledge.read_memory("episode", episode_id)
    return ask(
        request,
        Question(
            title="Forget this episode?",
            texts=(
                "Searches and consolidation no longer find the episode, and the next cleanup deletes it.",
                "Facts and rules learned from the episode stay.",
            ),
            quote=episode.content[:1_000],
            url=f"{PATH}/{episode_id}/forget",
            button="Forget",
            back=f"{PATH}/{episode_id}",
        ),
    )


@router.post("/{episode_id:uuid}/forget", dependencies=[Depends(writer)])
async def forget(request: Request, knowledge: KnowledgeOfCaller, episode_id: ItemId) -> Response:
    """Expire an episode now."""
    await knowledge.forget_memory("episode", episode_id)
    return done(request, "The episode was forgotten.", location=f"{PATH}/{episode_id}", changed=CHANGED)
