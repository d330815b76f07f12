"""Consolidation under ``/api/v1/knowledge/consolidation``: list, make and undo runs."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from pydantic import Field

from commonplace.knowledge import ActionKind, RunState, model_spawner, without_model
from commonplace.llm import Model  # noqa: TC001 - beside names of the module that are needed when it runs
from commonplace.web.access import KnowledgeOfCaller, admin, reader
from commonplace.web.limits import MAX_OFFSET
from commonplace.web.paging import DEFAULT_LIMIT, Page, PageShape
from commonplace.web.problems import INVALID_INPUT, NOT_FOUND, REFUSED, may_answer
from commonplace.web.shape import Shape, Wanted

MAX_RUNS: Final = 500

Butler = Annotated[str | None, Query(min_length=1, max_length=200, description="only this butler's episodes")]
RunId = Annotated[UUID, Path(alias="runId", description="the id of a run")]

router = APIRouter(
    prefix="/api/v1/knowledge/consolidation", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT)
)


class RunShape(Shape):
    """A run: one answer of a model to one group of a butler's episodes."""

    id: UUID = Field(description="also the `run_id` of the events that the run caused")
    butler: str
    worker: str
    model: str | None
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    episode_ids: list[UUID]
    facts_created: int
    facts_updated: int
    facts_confirmed: int
    facts_retracted: int
    rules_created: int
    rules_updated: int
    rules_confirmed: int
    rules_retracted: int
    notes: list[str] = Field(
        description="what the run did that the answer does not say, such as superseded facts"
    )
    errors: list[str]
    undone_at: datetime | None
    undone_by: str | None


class RunsShape(PageShape):
    """A page of runs, the latest first."""

    runs: list[RunShape]


class RunActionShape(Shape):
    """A change by a run, with the present content and state of the memory."""

    position: int
    action: ActionKind
    memory_id: UUID
    superseded_ids: list[UUID]
    subject: str | None
    predicate: str | None
    content: str | None
    state: str | None


class RunRecordShape(Shape):
    """A run with its actions."""

    run: RunShape
    actions: list[RunActionShape]


class WantedUndo(Wanted):
    """Options for undoing a run."""

    requeue: bool = Field(default=False, description="consolidate the run's episodes again")


class UndoneShape(Shape):
    """The report of undoing a run."""

    run_id: UUID
    already_undone: bool
    facts_retracted: int
    facts_restored: int
    rules_forgotten: int
    rules_restored: int
    retractions_undone: int
    confirmations_undone: int
    episodes_requeued: int
    episodes_expired: int = Field(description="episodes that could not be requeued because they have expired")
    kept: list[str] = Field(description="memories that stay because they changed after the run")


class ConsolidatedShape(Shape):
    """The report of a consolidation."""

    dry_run: bool = Field(description="whether episodes were only counted, because no model is set")
    groups: dict[str, int] = Field(description="the number of waiting episodes at the start, by butler")
    runs: list[RunShape]
    failed: list[str] = Field(description="butlers with a group that failed; it is tried again later")
    busy: list[str] = Field(description="butlers whose oldest episodes another worker holds")
    waiting: list[str] = Field(description="butlers whose oldest episodes failed and are not due yet")
    errors: list[str]
    note: str


@router.get(
    "/runs",
    operation_id="listRuns",
    dependencies=[Depends(reader)],
    response_description="The runs of the page",
    summary="List consolidation runs",
)
async def list_runs(
    memory: KnowledgeOfCaller,
    butler: Butler = None,
    state: Annotated[RunState | None, Query(description="only runs in this state")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS, description="the most runs to return")] = DEFAULT_LIMIT,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="the number of runs to skip")] = 0,
) -> RunsShape:
    """The latest first."""
    page = Page(limit=limit, offset=offset)
    found = await memory.list_runs(butler=butler, state=state, limit=page.one_more, offset=page.offset)
    return page.envelope(RunsShape, "runs", found)


@router.get(
    "/runs/{runId}",  # noqa: FAST003 - RunId takes it, here and below
    operation_id="getRun",
    dependencies=[Depends(reader)],
    response_description="The run",
    summary="Read a consolidation run",
    responses=may_answer(NOT_FOUND),
)
async def get_run(memory: KnowledgeOfCaller, run_id: RunId) -> RunRecordShape:
    """With its actions."""
    return RunRecordShape.model_validate(await memory.get_run(run_id))


@router.post(
    "/runs/{runId}/undo",  # noqa: FAST003
    operation_id="undoRun",
    dependencies=[Depends(admin)],
    response_description="The report",
    summary="Undo a consolidation run",
    responses=may_answer(NOT_FOUND, REFUSED, INVALID_INPUT),
)
async def undo_run(
    memory: KnowledgeOfCaller,
    run_id: RunId,
    wanted: Annotated[WantedUndo | None, Body(description="the options")] = None,
) -> UndoneShape:
    """Undoes the run's changes; the answer names the memories that stay because they changed since."""
    requeue = wanted is not None and wanted.requeue
    return UndoneShape.model_validate(await memory.undo_run(run_id, requeue=requeue))


@router.post(
    "/run",
    operation_id="consolidate",
    dependencies=[Depends(admin)],
    response_description="The report",
    summary="Consolidate the episodes that are due",
)
async def run(request: Request, memory: KnowledgeOfCaller, butler: Butler = None) -> ConsolidatedShape:
    """Answers when all episodes are done, which takes as long as the model needs. Workers do the same on a schedule.

    Without a model episodes are only counted.
    """
    model: Model | None = request.app.state.model
    spawner = None if model is None else model_spawner(model)
    report = await memory.run_consolidation(spawner, butler=butler)
    return ConsolidatedShape.model_validate(without_model(report) if spawner is None else report)
