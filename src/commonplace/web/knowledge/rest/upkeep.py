"""What operators do with knowledge memory: read the audit stream, sweep, clean up."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from commonplace.web.access import KnowledgeOfCaller, admin, reader
from commonplace.web.knowledge.rest.shapes import CleanedShape, EntriesShape, SweptShape
from commonplace.web.paging import WantedPage
from commonplace.web.problems import INVALID_INPUT, may_answer

MAX_EPISODES: Final = 100_000_000

router = APIRouter(prefix="/api/v1/knowledge", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT))


@router.get(
    "/events",
    operation_id="knowledgeEvents",
    dependencies=[Depends(reader)],
    response_description="The entries of the page",
    summary="Read the audit stream",
)
async def list_events(
    memory: KnowledgeOfCaller,
    page: WantedPage,
    event_type: Annotated[
        str | None,
        Query(
            alias="eventType",
            min_length=1,
            max_length=100,
            pattern=r"^\w+$",
            description="such as `fact_created`",
        ),
    ] = None,
    memory_id: Annotated[
        UUID | None, Query(alias="memoryId", description="about one episode, fact, rule or entity")
    ] = None,
) -> EntriesShape:
    """The latest first. Entries say what a memory was and became, and hold none of its text."""
    found = await memory.list_events(
        event_type=event_type, memory_id=memory_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(EntriesShape, "events", found)


@router.post(
    "/sweep",
    operation_id="sweepKnowledge",
    dependencies=[Depends(admin)],
    response_description="What it did",
    summary="Let facts and rules fade",
)
async def sweep(memory: KnowledgeOfCaller) -> SweptShape:
    """What has lost its confidence fades, and then expires; what was confirmed since recovers."""
    return SweptShape.model_validate(await memory.run_decay_sweep())


@router.post(
    "/cleanup",
    operation_id="cleanUpKnowledge",
    dependencies=[Depends(admin)],
    response_description="What it did",
    summary="Delete episodes that are over",
)
async def cleanup(
    memory: KnowledgeOfCaller,
    max_entries: Annotated[
        int | None,
        Query(
            alias="maxEntries",
            ge=0,
            le=MAX_EPISODES,
            description="most episodes to keep; what the setting `episode_max_entries` says where it is not given",
        ),
    ] = None,
) -> CleanedShape:
    """Expired ones, then the oldest consolidated ones beyond a number. They are gone for good."""
    most = memory.database.settings.episode_max_entries if max_entries is None else max_entries
    return CleanedShape.model_validate(await memory.run_episode_cleanup(max_entries=most))
