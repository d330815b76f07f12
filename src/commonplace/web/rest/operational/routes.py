"""REST routes of operational memory under ``/api/v1/operational``. Source: OPS-13, OPS-16, OPS-17, OPS-18, OPS-20."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Query

from commonplace.operational import (
    EventLevel,
    Lesson,
    MemoryCategory,
    MemoryContext,
    MemoryFilter,
    OperationalMemory,
    Review,
    Session,
    SessionStatus,
    Sort,
)
from commonplace.web.http.access import (
    OpenMemories,
    installation_admin,
    installation_reader,
    installation_writer,
)
from commonplace.web.http.limits import LARGEST_ID, FilterText, WantedBudget, row_id
from commonplace.web.http.paging import WantedPage
from commonplace.web.http.problems import NOT_FOUND, STATE_CONFLICT
from commonplace.web.rest.api import BODY, Api
from commonplace.web.rest.operational import shapes

MAX_OUTPUT_LINES: Final = 2000

OfService = Annotated[FilterText, Query(description="only this service; case does not matter")]
OfSession = Annotated[
    int | None, Query(alias="sessionId", ge=1, le=LARGEST_ID, description="only this session")
]
MemoryId = Annotated[int, Depends(row_id("lesson", "memoryId"))]
ReviewId = Annotated[int, Depends(row_id("review", "reviewId"))]
SessionId = Annotated[int, Depends(row_id("session", "sessionId"))]


async def operational(memories: OpenMemories) -> OperationalMemory:
    """Return operational memory."""
    return memories.operational


Operational = Annotated[OperationalMemory, Depends(operational)]
api = Api("/api/v1/operational", "operational memory")


@api("GET /memories", installation_reader, "The lessons of the page")
async def list_observations(
    memory: Operational,
    page: WantedPage,
    service: FilterText = None,
    category: MemoryCategory | None = None,
    *,
    active: bool | None = None,
    search: FilterText = None,
    sort: Sort = "service",
) -> shapes.ObservationsShape:
    """List the lessons of the scheduled agent.

    Return a page of lessons, active and inactive ones unless `active` is set.

    Parameters:
        service: only this service, or `general`; case does not matter
        category: only this category
        active: only active or only inactive lessons
        search: text in the observation; case does not matter
        sort: `service`: grouped by service, general last; `confidence`, `recency`: highest first
    """
    general = service == "general"
    found = await memory.page(
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
        shapes.ObservationsShape,
        "memories",
        found.memories,
        total=totals[active],
        active=found.active,
        inactive=found.inactive,
    )


@api("POST /memories", installation_writer, "The lesson as stored", *BODY, status=HTTPStatus.CREATED)
async def add_observation(memory: Operational, wanted: shapes.NewObservation) -> Lesson:
    """Add a lesson by hand.

    Store the lesson without comparing it with others.

    Parameters:
        body: the lesson
    """
    return (await memory.add(**wanted.model_dump())).memory


@api("POST /memories/bulk-edit", installation_writer, "The lessons as they are now", NOT_FOUND, *BODY)
async def edit_observations(
    memory: Operational, wanted: shapes.ChangedConfidences
) -> shapes.ChangedRowsShape:
    """Set the confidence of several lessons.

    All of the lessons change, or none if an id is unknown.

    Parameters:
        body: the lessons and their confidence
    """
    changed = await memory.edit(wanted.ids, confidence=wanted.confidence)
    return shapes.ChangedRowsShape.model_validate({"memories": changed})


@api("POST /memories/bulk-delete", installation_writer, "The ids of the deleted lessons", NOT_FOUND, *BODY)
async def delete_observations(memory: Operational, wanted: shapes.RowSelection) -> shapes.DeletedRowsShape:
    """Delete several lessons.

    All of the lessons are deleted, or none if an id is unknown. Their history stays, without its texts.

    Parameters:
        body: the lessons
    """
    return shapes.DeletedRowsShape(deleted=await memory.delete(wanted.ids))


@api("GET /memories/{memoryId}", installation_reader, "The lesson", NOT_FOUND)
async def get_observation(memory: Operational, memory_id: MemoryId) -> Lesson:
    """Read one lesson.

    Return a lesson, active or inactive.
    """
    return await memory.get(memory_id)


@api("PATCH /memories/{memoryId}", installation_writer, "The lesson as it is now", NOT_FOUND, *BODY)
async def edit_observation(
    memory: Operational, memory_id: MemoryId, wanted: shapes.ChangedObservation
) -> Lesson:
    """Change one lesson.

    Change the text, the confidence, or both. A new text alone keeps the confidence.

    Parameters:
        body: the changes
    """
    (changed,) = await memory.edit([memory_id], observation=wanted.observation, confidence=wanted.confidence)
    return changed


@api("DELETE /memories/{memoryId}", installation_writer, "The id of the deleted lesson", NOT_FOUND)
async def delete_observation(memory: Operational, memory_id: MemoryId) -> shapes.DeletedRowsShape:
    """Delete one lesson.

    Delete a lesson permanently. Its history stays, without its texts.
    """
    return shapes.DeletedRowsShape(deleted=await memory.delete([memory_id]))


@api("GET /memories/{memoryId}/history", installation_reader, "The changes", NOT_FOUND)
async def observation_history(memory: Operational, memory_id: MemoryId) -> shapes.HistoryShape:
    """List the changes of a lesson.

    Return changes, oldest first. A deleted lesson keeps its history; an unknown lesson has no changes.
    """
    changes = await memory.history(memory_id)
    return shapes.HistoryShape.model_validate({"changes": changes})


@api("GET /memories/{memoryId}/wordings", installation_reader, "The wordings", NOT_FOUND)
async def observation_wordings(memory: Operational, memory_id: MemoryId) -> shapes.WordingsShape:
    """List all wordings of a lesson.

    Return every text that the lesson has or had, in order of first use.
    """
    found = await memory.wordings.list(memory_id)
    return shapes.WordingsShape.model_validate({"wordings": found})


@api("POST /memories/{memoryId}/restore", installation_writer, "The lesson as it is now", NOT_FOUND, *BODY)
async def restore_observation(
    memory: Operational, memory_id: MemoryId, wanted: shapes.WordingRequest
) -> Lesson:
    """Restore a wording of a lesson.

    The confidence stays the same.

    Parameters:
        body: the wording
    """
    return await memory.wordings.restore(memory_id, wanted.number)


@api("GET /reviews", installation_reader, "The pairs of the page")
async def list_reviews(
    memory: Operational, page: WantedPage, *, decided: bool = False
) -> shapes.ReviewsShape:
    """List pairs of lessons that wait for a decision.

    Return a page, oldest first.

    Parameters:
        decided: list the decided pairs instead, newest first
    """
    found = await memory.reviews.list(decided=decided, limit=page.one_more, offset=page.offset)
    return page.envelope(
        shapes.ReviewsShape, "reviews", found, total=await memory.reviews.count(decided=decided)
    )


@api(
    "POST /reviews/{reviewId}", installation_writer, "The pair as it is now", NOT_FOUND, STATE_CONFLICT, *BODY
)
async def decide_review(memory: Operational, review_id: ReviewId, wanted: shapes.DecisionRequest) -> Review:
    """Decide a pair of lessons.

    The decision is applied, and remembered for the two texts.

    Parameters:
        body: the decision
    """
    return await memory.reviews.decide(review_id, wanted.verdict)


@api("GET /sessions", installation_reader, "The sessions of the page")
async def list_sessions(
    memory: Operational,
    page: WantedPage,
    status: SessionStatus | None = None,
    tier: Annotated[int | None, Query(ge=1, le=3)] = None,
) -> shapes.SessionsShape:
    """List the sessions of the scheduled agent.

    Return a page, newest first.

    Parameters:
        status: only this status
        tier: only this tier
    """
    found = await memory.sessions.page(status=status, tier=tier, limit=page.one_more, offset=page.offset)
    return page.envelope(shapes.SessionsShape, "sessions", found.items, total=found.total)


@api("GET /sessions/{sessionId}", installation_reader, "The session", NOT_FOUND)
async def get_session(memory: Operational, session_id: SessionId) -> Session:
    """Read one session.

    Return a session, running or ended.
    """
    return await memory.sessions.get(session_id)


@api("GET /sessions/{sessionId}/output", installation_reader, "The lines", NOT_FOUND)
async def session_output(
    memory: Operational,
    session_id: SessionId,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_OUTPUT_LINES)] = 500,
) -> shapes.OutputShape:
    """Read the output of a session.

    Return lines of a session. While the session runs, request again with the last `seq`.

    Only the newest lines are stored, so the first numbers may be missing.

    Parameters:
        after: the `seq` of the last known line; 0 starts with the first line
        limit: the maximum number of lines
    """
    await memory.sessions.get(session_id)
    lines = await memory.sessions.output(session_id, after=after, limit=limit)
    return shapes.OutputShape.model_validate({"lines": lines})


@api("GET /events", installation_reader, "The events of the page")
async def list_events(
    memory: Operational,
    page: WantedPage,
    level: EventLevel | None = None,
    service: OfService = None,
    session_id: OfSession = None,
) -> shapes.EventsShape:
    """List events.

    Return a page, newest first.

    Parameters:
        level: only this level
    """
    found = await memory.events.page(
        level=level, service=service, session_id=session_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(shapes.EventsShape, "events", found.items, total=found.total)


@api("GET /cooldowns", installation_reader, "The actions of the page")
async def list_cooldowns(
    memory: Operational, page: WantedPage, service: OfService = None, session_id: OfSession = None
) -> shapes.CooldownsShape:
    """List cooldown actions.

    Return a page, newest first.
    """
    found = await memory.cooldowns.page(
        service=service, session_id=session_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(shapes.CooldownsShape, "cooldowns", found.items, total=found.total)


@api("GET /context", installation_reader, "The block")
async def operational_context(
    memory: Operational,
    budget_tokens: WantedBudget = None,
    services: Annotated[list[str] | None, Query(alias="service", max_length=100)] = None,
) -> MemoryContext:
    """Read the block for the next session's system prompt.

    Return active lessons by confidence until the budget is spent, grouped by service.

    Parameters:
        service: services that the session will check; their lessons come first
    """
    return await memory.context(budget_tokens=budget_tokens, services=services or ())


@api("POST /decay", installation_admin, "The lessons whose confidence changed")
async def decay_observations(memory: Operational) -> shapes.DecayShape:
    """Lower the confidence of lessons that were not reinforced.

    Run the staleness check. Each week is charged once, however often the check runs.
    """
    return shapes.DecayShape.model_validate({"effects": await memory.upkeep.decay()})
