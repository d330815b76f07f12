"""Cards of knowledge memory on the overview; each card loads itself, because the server may be starting or down."""

from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import Request

from commonplace.knowledge import (
    FactCriteria,
    FailedJob,
    RunState,
    worker_status,
)
from commonplace.web.http.access import knowledge_of, memories
from commonplace.web.pages.layout import learning
from commonplace.web.pages.layout.cards import Card, Reader

if TYPE_CHECKING:
    from commonplace.web.http.health import Checks

SHOWN: Final = 5
FAILURES: Final = 2
"""The maximum number of failures of each kind."""


async def figures(request: Request) -> dict[str, Any]:
    """Read the counts of the tenant, and the number of new memories per day."""
    knowledge = knowledge_of(request)
    since = learning.first_day(knowledge.clock())
    days = learning.per_day(await knowledge.history.learned_by_day(since=since), since)
    return {"stats": await knowledge.stats(), "days": days}


async def learned(request: Request) -> dict[str, Any]:
    """Read the tenant's newest facts and rules."""
    knowledge = knowledge_of(request)
    facts = await knowledge.lists.facts(validity="active", limit=SHOWN)
    rules = await knowledge.lists.rules(forgotten=False, limit=SHOWN)
    both = sorted([*facts, *rules], key=lambda memory: memory.created_at, reverse=True)
    return {"items": both[:SHOWN]}


async def fading(request: Request) -> dict[str, Any]:
    """Read the tenant's fading facts; nothing if no fact fades."""
    found = await knowledge_of(request).lists.facts(
        validity="active", criteria=FactCriteria(fading=True), limit=SHOWN
    )
    return {"facts": found} if found else {}


async def failed(request: Request) -> dict[str, Any]:
    """Read failed runs, failed jobs and dead letters; nothing if there are none."""
    knowledge = knowledge_of(request)
    runs = [
        *await knowledge.runs.list(state=RunState.FAILED, limit=FAILURES),
        *await knowledge.runs.list(state=RunState.REFUSED, limit=FAILURES),
    ]
    runs.sort(key=lambda run: run.started_at, reverse=True)
    failures = {
        "runs": runs[:FAILURES],
        "dead_letters": await knowledge.lists.episodes(status="dead_letter", limit=FAILURES),
        "jobs": await _failed_jobs(request),
    }
    return failures if any(failures.values()) else {}


async def _failed_jobs(request: Request) -> list[FailedJob]:
    """Return failed jobs; an empty list if the service runs without settings."""
    settings = cast("Checks", request.app.state.checks).settings
    if settings is None:
        return []
    return (await worker_status(memories(request).knowledge, settings)).failures[:FAILURES]


def is_starting(request: Request) -> bool:
    """Return whether the database has not been opened yet."""
    return not memories(request).knowledge.database.was_tried


def _card(title: str, read: Reader, *, key: str, url: str, hides_empty: bool = False) -> Card:
    """Return a card that loads itself; its template is named like its key."""
    template = f"cards/{key.replace('-', '_')}.html"
    return Card(
        title=title,
        template=template,
        read=read,
        url=url,
        key=key,
        hides_empty=hides_empty,
        is_starting=is_starting,
    )


FIGURES: Final = _card("Knowledge", figures, key="knowledge", url="/knowledge")
LEARNED: Final = _card("New facts and rules", learned, key="knowledge-learned", url="/knowledge/facts")
FADING: Final = _card(
    "Fading facts", fading, key="knowledge-fading", url="/knowledge/facts?state=fading", hides_empty=True
)
FAILED: Final = _card(
    "Failed background work", failed, key="knowledge-failed", url="/knowledge/runs", hides_empty=True
)
