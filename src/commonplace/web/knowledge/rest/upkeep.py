"""The audit trail, the decay sweep and the cleanup under ``/api/v1/knowledge``."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from commonplace.web.access import KnowledgeOfCaller, admin, reader
from commonplace.web.knowledge.rest.shapes import CleanedShape, EventsShape, SweptShape
from commonplace.web.paging import WantedPage
from commonplace.web.problems import INVALID_INPUT, may_answer

MAX_EPISODES: Final = 100_000_000

router = APIRouter(prefix="/api/v1/knowledge", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT))


@router.get(
    "/events",
    operation_id="knowledgeEvents",
    dependencies=[Depends(reader)],
    response_description="The events of the page",
    summary="Read the audit trail",
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
) -> EventsShape:
    """The latest first. An event holds the state of a memory before and after, without its text."""
    found = await memory.list_events(
        event_type=event_type, memory_id=memory_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(EventsShape, "events", found)


@router.post(
    "/sweep",
    operation_id="sweepKnowledge",
    dependencies=[Depends(admin)],
    response_description="The receipt",
    summary="Run the decay sweep",
)
async def sweep(memory: KnowledgeOfCaller) -> SweptShape:
    """Facts and rules with low confidence fade, then expire; confirmed ones recover."""
    return SweptShape.model_validate(await memory.run_decay_sweep())


@router.post(
    "/cleanup",
    operation_id="cleanUpKnowledge",
    dependencies=[Depends(admin)],
    response_description="The receipt",
    summary="Delete expired and surplus episodes",
)
async def cleanup(
    memory: KnowledgeOfCaller,
    max_entries: Annotated[
        int | None,
        Query(
            alias="maxEntries",
            ge=0,
            le=MAX_EPISODES,
            description="the number of episodes to keep; by default the setting `episode_max_entries`",
        ),
    ] = None,
) -> CleanedShape:
    """Expired episodes, then the oldest consolidated episodes over the limit. They cannot be restored."""
    return CleanedShape.model_validate(await memory.run_episode_cleanup(max_entries=max_entries))
