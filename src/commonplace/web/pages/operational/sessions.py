"""Session pages: the list, and one session with its live output (OPS-20.1)."""

from typing import Annotated, Final, Literal

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.operational import TIERS, OperationalMemory, OutputLine, Session, SessionStatus
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.http.limits import LARGEST_ID
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import ListFilters, read_page
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/sessions"
LINES_AT_ONCE: Final = 500
LINES_BEFORE: Final = 100
"""The number of lines shown before the requested line."""

LISTED: Final = 100
"""The number of events and cooldowns on the page of a session; a link leads to all."""

SessionId = Annotated[int, Path(ge=1, le=LARGEST_ID)]

router = pages(PATH, installation_reader)


class SessionFilters(ListFilters):
    """The filters of the list of sessions."""

    status: SessionStatus | Literal[""] = ""
    tier: Annotated[int, Field(ge=TIERS[0], le=TIERS[-1])] | Literal[""] = ""


@router.get("")
async def sessions_page(
    request: Request, memories: OpenMemories, wanted: Annotated[SessionFilters, Query()]
) -> HTMLResponse:
    """Show sessions, newest first."""
    page, pager = await read_page(request, wanted, memories.operational.sessions.page)
    return render(
        request,
        "sessions/list.html",
        sessions=page.items,
        statuses=[("", "Any"), *((name, name) for name in SessionStatus)],
        tiers=[("", "Any"), *((number, f"Tier {number}") for number in TIERS)],
        pager=pager,
    )


@router.get("/{session_id:int}")
async def session_page(
    request: Request,
    memories: OpenMemories,
    session_id: SessionId,
    memory: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
) -> HTMLResponse:
    """Show a session with its memories, events, cooldowns and output, which begins shortly before a given memory."""
    operational = memories.operational
    place = None if memory is None else await operational.sessions.place_of(memory, session_id)
    after = 0 if place is None or place <= LINES_AT_ONCE else place - LINES_BEFORE
    session, lines, next_url = await _output(operational, session_id, after=after)
    return render(
        request,
        "sessions/one.html",
        session=session,
        lines=lines,
        next_url=next_url,
        place=place,
        is_cut=after > 0,
        learned=await operational.sessions.memories(session_id),
        changes=await operational.sessions.changes(session),
        events=await operational.events.page(session_id=session_id, limit=LISTED),
        cooldowns=await operational.cooldowns.page(session_id=session_id, limit=LISTED),
    )


@router.get("/{session_id:int}/output")
async def session_output(
    request: Request,
    memories: OpenMemories,
    session_id: SessionId,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
) -> HTMLResponse:
    """Show the output of a session after a line; HTMX gets only the lines."""
    session, lines, next_url = await _output(memories.operational, session_id, after=after)
    return render(
        request, "sessions/output.html", session=session, lines=lines, next_url=next_url, place=None
    )


async def _output(
    operational: OperationalMemory, session_id: int, *, after: int
) -> tuple[Session, list[OutputLine], str | None]:
    """Return a session, its output after a line, and the address of later output.

    The session is read first: if it has ended, all of its lines are stored.
    """
    session = await operational.sessions.get(session_id)
    lines = await operational.sessions.output(session_id, after=after, limit=LINES_AT_ONCE)
    goes_on = session.status is SessionStatus.RUNNING or len(lines) == LINES_AT_ONCE
    last = lines[-1].seq if lines else after
    return session, lines, link(f"{PATH}/{session_id}/output", after=last) if goes_on else None
