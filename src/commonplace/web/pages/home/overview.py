"""The overview: health, counts, new memories, fading memories and failures.

The problems and new memories of operational, app and workspace memory are part of the page. Slow cards, and cards of
knowledge memory, whose server may be starting or down, load themselves.
"""

import asyncio
from collections import Counter
from datetime import UTC, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final, cast

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from commonplace.access import Principal
from commonplace.core.errors import NotFoundError
from commonplace.operational import EventLevel, SessionStatus
from commonplace.services.sample import is_loaded
from commonplace.web.http.access import installation_reader, knowledge_of, memories, reader
from commonplace.web.http.health import Checks, state_of
from commonplace.web.pages.home import reviewing
from commonplace.web.pages.knowledge import cards as knowledge_cards
from commonplace.web.pages.layout import learning
from commonplace.web.pages.layout.cards import FIRST_S, Card, read_card, read_cards
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import NOT_KEPT, events, link, render, wants_fragment
from commonplace.web.pages.layout.stamps import is_same_state, stamp_of
from commonplace.web.pages.layout.waiting_counts import list_waiting, total_waiting

SHOWN: Final = 3
"""The maximum number of problems, or of fading memories, on a card."""
MOST_LEARNED: Final = 8
WEEK: Final = timedelta(days=7)
HEALTH_S: Final = 8.0
"""Longer than the time limits of the health check and of the warnings for a part."""


async def health(request: Request) -> dict[str, Any]:
    """Read the health of each part of the service, and the warnings."""
    checks = cast("Checks", request.app.state.checks)
    parts, warnings = await asyncio.gather(checks.run(), checks.warnings(memories(request)))
    return {"parts": parts, "state": state_of(parts), "warnings": warnings}


async def start(request: Request) -> dict[str, Any]:
    """Return values if the home has no memories and no sessions yet, or if it has the sample memories."""
    all_four = memories(request)
    has_sessions = bool((await all_four.operational.sessions.page(limit=1)).items)
    if await is_loaded(all_four):
        return {"is_sample": True, "has_sessions": has_sessions}
    if has_sessions or await learning.latest(all_four, limit=1):
        return {}
    knowledge = await knowledge_of(request).stats()
    stored = knowledge.episodes.total or knowledge.facts.active or knowledge.rules.candidate
    return {} if stored else {"is_sample": False, "has_sessions": False}


async def operations(request: Request) -> dict[str, Any]:
    """Read the counts of operational memory, and the number of its new memories per day."""
    operational = memories(request).operational
    since = learning.first_day(operational.now())
    days = learning.per_day(await operational.figures.learned_by_day(since=since), since)
    return {
        "figures": await operational.figures.total(),
        "days": days,
        "grace_days": operational.grace.days,
    }


async def agents(request: Request) -> dict[str, Any]:
    """Read the counts of app and workspace memory, and the number of their new memories per day."""
    both = memories(request)
    facts = (await both.workspace.search(limit=None)).memories
    since = learning.first_day(both.operational.now())
    stored = Counter(one.created_at.astimezone(UTC).date() for one in facts)
    return {
        "apps": await both.apps.figures.total(),
        "facts": len(facts),
        "config": both.workspace.config,
        "digest_days": learning.per_day(await both.apps.figures.created_by_day(since=since), since),
        "note_days": learning.per_day(stored, since),
    }


async def learned(request: Request) -> dict[str, Any]:
    """Read the newest operational, app and workspace memories."""
    return {"items": await learning.latest(memories(request), limit=MOST_LEARNED)}


async def fading(request: Request) -> dict[str, Any]:
    """Read fading memories; nothing if no memory fades."""
    found = await memories(request).operational.figures.fading(limit=SHOWN)
    return {"memories": found} if found else {}


async def failed(request: Request) -> dict[str, Any]:
    """Read the failed sessions of the last seven days; nothing if no session failed."""
    operational = memories(request).operational
    since = operational.now() - WEEK
    found = (await operational.sessions.page(status=SessionStatus.FAILED, limit=SHOWN)).items
    recent = [one for one in found if one.started_at >= since]
    return {"sessions": recent} if recent else {}


async def reviews(request: Request) -> dict[str, Any]:
    """Read the items that wait for a decision, kind by kind; nothing if no item waits."""
    items = (await list_waiting(request)).items
    request.state.waiting_reviews = waiting = await total_waiting(request)
    return {"waiting": waiting, "items": items[:SHOWN], "names": reviewing.NAMES} if items else {}


async def critical(request: Request) -> dict[str, Any]:
    """Read the critical events of the last seven days; nothing if there are none."""
    operational = memories(request).operational
    since = operational.now() - WEEK
    found = (await operational.events.page(level=EventLevel.CRITICAL, limit=SHOWN)).items
    recent = [one for one in found if one.created_at >= since]
    return {"events": recent} if recent else {}


async def digests(request: Request) -> dict[str, Any]:
    """Read waiting and failed digests; nothing if there are none."""
    digests = memories(request).apps.digests
    waiting, failures = await digests.open(), await digests.failed(limit=SHOWN)
    return {"waiting": waiting, "failed": failures} if waiting.total or failures else {}


HEALTH: Final = Card(
    title="Health",
    template="cards/health.html",
    read=health,
    url="",
    key="health",
    every_s=30,
    timeout_s=HEALTH_S,
)

START: Final = Card(
    title="Start here",
    template="cards/start.html",
    read=start,
    url="",
    key="start",
    hides_empty=True,
    is_starting=knowledge_cards.is_starting,
)

FIGURES: Final = [
    Card(
        title="Operations",
        template="cards/operations.html",
        read=operations,
        url="/sessions",
        key="operations",
    ),
    Card(
        title="Apps and workspace",
        template="cards/agents.html",
        read=agents,
        url="/apps",
        key="agents",
    ),
    knowledge_cards.FIGURES,
]
"""One line of figures, with the number of new memories per day."""

PROBLEMS: Final = [
    Card(
        title="Critical events",
        template="cards/critical.html",
        read=critical,
        url="/events?level=critical",
        hides_empty=True,
    ),
    Card(
        title="Failed sessions",
        template="cards/failed.html",
        read=failed,
        url="/sessions?status=failed",
        hides_empty=True,
    ),
    Card(
        title="Waiting and failed digests",
        template="cards/digests.html",
        read=digests,
        url="/apps",
        hides_empty=True,
    ),
    knowledge_cards.FAILED,
    Card(
        title="Waiting for a decision",
        template="cards/reviews.html",
        read=reviews,
        url="/reviews",
        more="Review",
        key="reviews",
        hides_empty=True,
        is_starting=knowledge_cards.is_starting,
    ),
]
"""Cards above the figures, in this order; they are hidden if there are no problems."""

NEWS: Final = [
    Card(title="New lessons, digests and notes", template="cards/learned.html", read=learned, url="/week"),
    knowledge_cards.LEARNED,
    Card(
        title="Fading lessons",
        template="cards/fading.html",
        read=fading,
        url="/memories?sort=confidence",
        hides_empty=True,
    ),
    knowledge_cards.FADING,
]
"""Cards below the figures, in this order."""

PLACES: Final = {"first": [HEALTH, START], "problems": PROBLEMS, "rows": FIGURES, "news": NEWS}
"""The parts of the page by name in the template, from top to bottom."""

APART: Final = {card.key: card for cards in PLACES.values() for card in cards if card.apart}

CHANGED: Final = "overview-changed"
"""The event that makes cards load themselves again."""

OF_TENANTS: Final = "/knowledge"
"""The first page for tenants other than the installation's."""

router = pages("", reader)


@router.get("/")
async def overview(
    request: Request,
    who: Annotated[Principal, Depends(reader)],
    shown: Annotated[str, Query(alias="stamp", max_length=32)] = "",
) -> Response:
    """Show the overview; slow cards load themselves. A tab that already shows the current state gets no content."""
    if not who.of_installation:
        return RedirectResponse(OF_TENANTS, HTTPStatus.SEE_OTHER)
    stamp, refreshes = await stamp_of(request), wants_fragment(request)
    if shown == stamp and refreshes:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=NOT_KEPT)
    # Until the event below, a tab keeps its cards that are apart.
    first_s = 0.0 if refreshes else FIRST_S
    found = await asyncio.gather(*(read_cards(cards, request, first_s=first_s) for cards in PLACES.values()))
    return render(
        request,
        "overview.html",
        headers=None if is_same_state(shown, stamp) else events({CHANGED: None}),
        url=link("/", stamp=stamp),
        places=dict(zip(PLACES, found, strict=True)),
    )


@router.get("/overview/{key}", dependencies=[Depends(installation_reader)])
async def card_apart(request: Request, key: str) -> HTMLResponse:
    """Show a card that loads itself.

    Raises:
        NotFoundError: No such card exists.
    """
    if key not in APART:
        raise NotFoundError("card", key)
    return render(request, "card.html", read=await read_card(APART[key], request))
