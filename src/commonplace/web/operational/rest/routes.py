"""REST routes of operational memory under ``/api/v1/operational``. Source: OPS-13, OPS-16, OPS-17, OPS-18, OPS-20."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Body, Depends, Query

from commonplace.operational import (
    EventLevel,
    MemoryCategory,
    MemoryFilter,
    OperationalMemory,
    SessionStatus,
    Sort,
)
from commonplace.web.access import OpenMemories, installation_admin, installation_reader, installation_writer
from commonplace.web.limits import LARGEST_ID, MAX_BUDGET_TOKENS
from commonplace.web.operational.rest.shapes import (
    ChangedConfidences,
    ChangedObservation,
    ChangedRowsShape,
    ChangeShape,
    CooldownsShape,
    DecayShape,
    DeletedRowsShape,
    EffectShape,
    EventsShape,
    HistoryShape,
    NewObservation,
    ObservationShape,
    ObservationsShape,
    OperationalContextShape,
    OutputLineShape,
    OutputShape,
    ReviewShape,
    ReviewsShape,
    SessionShape,
    SessionsShape,
    WantedDecision,
    WantedRows,
    WantedWording,
    WordingShape,
    WordingsShape,
)
from commonplace.web.paging import WantedPage
from commonplace.web.problems import INVALID_INPUT, NOT_FOUND, REFUSED, SECRET_REFUSED, TOO_LARGE, may_answer
from commonplace.web.rows import row_id

MAX_FILTER_CHARS: Final = 1000
MAX_OUTPUT_LINES: Final = 2000

Text = Annotated[str | None, Query(min_length=1, max_length=MAX_FILTER_CHARS, pattern=r"^[^\x00]+$")]
OfService = Annotated[Text, Query(description="only this service; case does not matter")]
OfSession = Annotated[
    int | None, Query(alias="sessionId", ge=1, le=LARGEST_ID, description="only this session")
]
MemoryId = Annotated[int, Depends(row_id("memory", "memoryId"))]
ReviewId = Annotated[int, Depends(row_id("review", "reviewId"))]
SessionId = Annotated[int, Depends(row_id("session", "sessionId"))]


def operational(memories: OpenMemories) -> OperationalMemory:
    """Return operational memory."""
    return memories.operational


Operational = Annotated[OperationalMemory, Depends(operational)]
READ: Final = [Depends(installation_reader)]
WRITE: Final = [Depends(installation_writer)]
ADMINISTER: Final = [Depends(installation_admin)]
BODY: Final = may_answer(REFUSED, INVALID_INPUT, SECRET_REFUSED, TOO_LARGE)

router = APIRouter(
    prefix="/api/v1/operational", tags=["operational memory"], responses=may_answer(INVALID_INPUT)
)


@router.get(
    "/memories",
    operation_id="listObservations",
    dependencies=READ,
    response_description="The memories of the page",
    summary="List the memories of the scheduled agent",
)
async def list_memories(
    memory: Operational,
    page: WantedPage,
    service: Annotated[
        Text, Query(description="only this service, or `general`; case does not matter")
    ] = None,
    category: Annotated[MemoryCategory | None, Query(description="only this category")] = None,
    active: Annotated[bool | None, Query(description="only active or only inactive memories")] = None,
    search: Annotated[Text, Query(description="text in the observation; case does not matter")] = None,
    sort: Annotated[
        Sort,
        Query(description="`service` groups, general last; `confidence` and `recency` put the highest first"),
    ] = "service",
) -> ObservationsShape:
    """Return a page of memories, active and inactive ones unless `active` is set."""
    general = service == "general"
    found = await memory.views.memories(
        MemoryFilter(
            service=None if general else service,
            general=general,
            category=category,
            active=active,
            search=search,
            sort=sort,
            limit=page.one_more,
            offset=page.offset,
        )
    )
    totals = {True: found.active, False: found.inactive, None: found.active + found.inactive}
    return page.envelope(
        ObservationsShape,
        "memories",
        found.memories,
        total=totals[active],
        active=found.active,
        inactive=found.inactive,
    )


@router.post(
    "/memories",
    operation_id="addObservation",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="The memory as stored",
    summary="Add a memory by hand",
    responses=BODY,
)
async def add_memory(
    memory: Operational, wanted: Annotated[NewObservation, Body(description="the memory")]
) -> ObservationShape:
    """Store the memory without comparing it with others."""
    receipt = await memory.add(
        category=wanted.category,
        observation=wanted.observation,
        service=wanted.service,
        confidence=wanted.confidence,
    )
    return ObservationShape.model_validate(receipt.memory)


@router.post(
    "/memories/bulk-edit",
    operation_id="editObservations",
    dependencies=WRITE,
    response_description="The memories as they are now",
    summary="Set the confidence of several memories",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def edit_memories(
    memory: Operational,
    wanted: Annotated[ChangedConfidences, Body(description="the memories and their confidence")],
) -> ChangedRowsShape:
    """Change all of the memories, or none if an id is unknown."""
    changed = await memory.edit(wanted.ids, confidence=wanted.confidence)
    return ChangedRowsShape(memories=[ObservationShape.model_validate(one) for one in changed])


@router.post(
    "/memories/bulk-delete",
    operation_id="deleteObservations",
    dependencies=WRITE,
    response_description="The ids of the deleted memories",
    summary="Delete several memories",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def delete_memories(
    memory: Operational, wanted: Annotated[WantedRows, Body(description="the memories")]
) -> DeletedRowsShape:
    """Delete all of the memories, or none if an id is unknown. Their history stays, without its texts."""
    return DeletedRowsShape(deleted=await memory.delete(wanted.ids))


@router.get(
    "/memories/{memoryId}",  # noqa: FAST003 - MemoryId takes it, here and below
    operation_id="getObservation",
    dependencies=READ,
    response_description="The memory",
    summary="Read one memory",
    responses=may_answer(NOT_FOUND),
)
async def get_memory(memory: Operational, memory_id: MemoryId) -> ObservationShape:
    """Return a memory, active or inactive."""
    return ObservationShape.model_validate(await memory.get(memory_id))


@router.patch(
    "/memories/{memoryId}",  # noqa: FAST003
    operation_id="editObservation",
    dependencies=WRITE,
    response_description="The memory as it is now",
    summary="Change one memory",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def edit_memory(
    memory: Operational,
    memory_id: MemoryId,
    wanted: Annotated[ChangedObservation, Body(description="the changes")],
) -> ObservationShape:
    """Change the text, the confidence, or both. A new text alone keeps the confidence."""
    (changed,) = await memory.edit([memory_id], observation=wanted.observation, confidence=wanted.confidence)
    return ObservationShape.model_validate(changed)


@router.delete(
    "/memories/{memoryId}",  # noqa: FAST003
    operation_id="deleteObservation",
    dependencies=WRITE,
    response_description="The id of the deleted memory",
    summary="Delete one memory",
    responses=may_answer(NOT_FOUND),
)
async def delete_memory(memory: Operational, memory_id: MemoryId) -> DeletedRowsShape:
    """Delete a memory permanently. Its history stays, without its texts."""
    return DeletedRowsShape(deleted=await memory.delete([memory_id]))


@router.get(
    "/memories/{memoryId}/history",  # noqa: FAST003
    operation_id="observationHistory",
    dependencies=READ,
    response_description="The changes",
    summary="List the changes of a memory",
    responses=may_answer(NOT_FOUND),
)
async def history(memory: Operational, memory_id: MemoryId) -> HistoryShape:
    """Return changes, oldest first. A deleted memory keeps them; an unknown memory has none."""
    changes = await memory.history(memory_id)
    return HistoryShape(changes=[ChangeShape.model_validate(one) for one in changes])


@router.get(
    "/memories/{memoryId}/wordings",  # noqa: FAST003
    operation_id="observationWordings",
    dependencies=READ,
    response_description="The wordings",
    summary="List every text by which a memory was known",
    responses=may_answer(NOT_FOUND),
)
async def wordings(memory: Operational, memory_id: MemoryId) -> WordingsShape:
    """In the order of first use."""
    found = await memory.wordings(memory_id)
    return WordingsShape(wordings=[WordingShape.model_validate(one) for one in found])


@router.post(
    "/memories/{memoryId}/restore",  # noqa: FAST003
    operation_id="restoreObservation",
    dependencies=WRITE,
    response_description="The memory as it is now",
    summary="Give a memory one of its wordings",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def restore(
    memory: Operational, memory_id: MemoryId, wanted: Annotated[WantedWording, Body(description="which one")]
) -> ObservationShape:
    """The confidence stays."""
    return ObservationShape.model_validate(await memory.restore(memory_id, wanted.number))


@router.get(
    "/reviews",
    operation_id="listReviews",
    dependencies=READ,
    response_description="The pairs of the page",
    summary="List pairs of memories that wait for a decision",
)
async def list_reviews(
    memory: Operational,
    page: WantedPage,
    decided: Annotated[bool, Query(description="the decided pairs instead, newest first")] = False,  # noqa: FBT002
) -> ReviewsShape:
    """Oldest first."""
    found = await memory.reviews(decided=decided, limit=page.one_more, offset=page.offset)
    return page.envelope(ReviewsShape, "reviews", found, total=await memory.count_reviews(decided=decided))


@router.post(
    "/reviews/{reviewId}",  # noqa: FAST003
    operation_id="decideReview",
    dependencies=WRITE,
    response_description="The pair as it is now",
    summary="Decide a pair of memories",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def decide_review(
    memory: Operational,
    review_id: ReviewId,
    wanted: Annotated[WantedDecision, Body(description="the decision")],
) -> ReviewShape:
    """The decision is applied, and remembered for the two texts."""
    return ReviewShape.model_validate(await memory.decide(review_id, wanted.verdict))


@router.get(
    "/sessions",
    operation_id="listSessions",
    dependencies=READ,
    response_description="The sessions of the page",
    summary="List the sessions of the scheduled agent",
)
async def list_sessions(
    memory: Operational,
    page: WantedPage,
    status: Annotated[SessionStatus | None, Query(description="only this status")] = None,
    tier: Annotated[int | None, Query(ge=1, le=3, description="only this tier")] = None,
) -> SessionsShape:
    """Return a page, newest first."""
    found = await memory.views.sessions(status=status, tier=tier, limit=page.one_more, offset=page.offset)
    return page.envelope(SessionsShape, "sessions", found.items, total=found.total)


@router.get(
    "/sessions/{sessionId}",  # noqa: FAST003 - SessionId takes it, here and below
    operation_id="getSession",
    dependencies=READ,
    response_description="The session",
    summary="Read one session",
    responses=may_answer(NOT_FOUND),
)
async def get_session(memory: Operational, session_id: SessionId) -> SessionShape:
    """Return a session, running or ended."""
    return SessionShape.model_validate(await memory.views.session(session_id))


@router.get(
    "/sessions/{sessionId}/output",  # noqa: FAST003
    operation_id="sessionOutput",
    dependencies=READ,
    response_description="The lines",
    summary="Read the output of a session",
    responses=may_answer(NOT_FOUND),
)
async def session_output(
    memory: Operational,
    session_id: SessionId,
    after: Annotated[
        int,
        Query(ge=0, le=LARGEST_ID, description="the `seq` of the last known line; 0 starts with the first"),
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_OUTPUT_LINES, description="largest number of lines")] = 500,
) -> OutputShape:
    """Return lines of a session. While it runs, ask again with the last `seq`.

    Only the newest lines are stored, so the first numbers may be missing.
    """
    await memory.views.session(session_id)
    lines = await memory.session_output(session_id, after=after, limit=limit)
    return OutputShape(lines=[OutputLineShape.model_validate(one) for one in lines])


@router.get(
    "/events",
    operation_id="listEvents",
    dependencies=READ,
    response_description="The events of the page",
    summary="List events",
)
async def list_events(
    memory: Operational,
    page: WantedPage,
    level: Annotated[EventLevel | None, Query(description="only this level")] = None,
    service: OfService = None,
    session_id: OfSession = None,
) -> EventsShape:
    """Return a page, newest first."""
    found = await memory.views.events(
        level=level, service=service, session_id=session_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(EventsShape, "events", found.items, total=found.total)


@router.get(
    "/cooldowns",
    operation_id="listCooldowns",
    dependencies=READ,
    response_description="The actions of the page",
    summary="List cooldown actions",
)
async def list_cooldowns(
    memory: Operational,
    page: WantedPage,
    service: OfService = None,
    session_id: OfSession = None,
) -> CooldownsShape:
    """Return a page, newest first."""
    found = await memory.views.cooldowns(
        service=service, session_id=session_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(CooldownsShape, "cooldowns", found.items, total=found.total)


@router.get(
    "/context",
    operation_id="operationalContext",
    dependencies=READ,
    response_description="The block",
    summary="Read the block for the next session's system prompt",
)
async def context(
    memory: Operational,
    budget_tokens: Annotated[
        int | None,
        Query(
            alias="budgetTokens",
            ge=0,
            le=MAX_BUDGET_TOKENS,
            description="for the whole block; by default the configured budget",
        ),
    ] = None,
    services: Annotated[
        list[str] | None,
        Query(
            alias="service",
            max_length=100,
            description="services that the session will check; their memories come first",
        ),
    ] = None,
) -> OperationalContextShape:
    """Return active memories by confidence until the budget is spent, grouped by service."""
    block = await memory.context(budget_tokens=budget_tokens, services=services or ())
    return OperationalContextShape.model_validate(block)


@router.post(
    "/decay",
    operation_id="decayObservations",
    dependencies=ADMINISTER,
    response_description="The memories whose confidence changed",
    summary="Lower the confidence of memories that were not reinforced",
)
async def decay(memory: Operational) -> DecayShape:
    """Run the staleness check. Each week is charged once, however often it runs."""
    return DecayShape(effects=[EffectShape.model_validate(one) for one in await memory.run_decay()])
