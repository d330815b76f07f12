"""Consolidation under ``/api/v1/knowledge/consolidation``: list, make and undo runs."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import Path, Query, Request

from commonplace.core.bounds import Offset
from commonplace.knowledge import (
    ConsolidationReport,
    Run,
    RunAction,
    RunRecord,
    RunState,
    Scope,
    UndoReport,
    model_spawner,
)
from commonplace.llm import Model  # noqa: TC001 - beside names of the module that are needed when it runs
from commonplace.web.http.access import KnowledgeOfCaller, admin, reader
from commonplace.web.http.paging import DEFAULT_LIMIT, PageRequest, PageShape
from commonplace.web.http.problems import INVALID_INPUT, NOT_FOUND, REFUSED, STATE_CONFLICT
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import Api

MAX_RUNS: Final = 500

Butler = Annotated[Scope | None, Query(description="only episodes of this butler")]
RunId = Annotated[UUID, Path(alias="runId", description="the id of a run")]

api = Api("/api/v1/knowledge/consolidation", "knowledge memory")


@shows(Run)
class RunShape(Shape):
    """A run: one answer of a model to one group of a butler's episodes.

    Attributes:
        id: also the `run_id` of the events that the run caused
        notes: effects of the run that the answer does not state, such as superseded facts
    """


class RunsShape(PageShape):
    """A page of runs, the latest first."""

    runs: list[RunShape]


@shows(RunAction, without={"confirmed_before", "confirmed_at"})
class RunActionShape(Shape):
    """A change by a run, with the present content and state of the memory."""


@shows(RunRecord)
class RunRecordShape(Shape):
    """A run with its actions."""

    run: RunShape
    actions: list[RunActionShape]


class UndoRequest(RequestShape):
    """Options for undoing a run.

    Attributes:
        requeue: consolidate the run's episodes again
    """

    requeue: bool = False


@shows(UndoReport)
class UndoneShape(Shape):
    """The report of undoing a run.

    Attributes:
        episodes_expired: episodes that could not be requeued because they have expired
        kept: memories that stay because they changed after the run
    """


@shows(ConsolidationReport, without={"planned", "again_at"})
class ConsolidatedShape(Shape):
    """The report of a consolidation.

    Attributes:
        dry_run: whether episodes were only counted, because no model is set
        groups: the number of waiting episodes at the start, by butler
        failed: butlers with a group that failed; the group is retried later
        busy: butlers whose oldest episodes another worker holds
        waiting: butlers whose oldest episodes failed and are not due yet
    """

    runs: list[RunShape]


@api("GET /runs", reader, "The runs of the page")
async def list_runs(
    memory: KnowledgeOfCaller,
    butler: Butler = None,
    state: RunState | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS)] = DEFAULT_LIMIT,
    offset: Offset = 0,
) -> RunsShape:
    """List consolidation runs.

    Return a page, latest first.

    Parameters:
        state: only runs in this state
        limit: the maximum number of runs
        offset: the number of runs to skip
    """
    page = PageRequest(limit=limit, offset=offset)
    found = await memory.runs.list(butler=butler, state=state, limit=page.one_more, offset=page.offset)
    return page.envelope(RunsShape, "runs", found)


@api("GET /runs/{runId}", reader, "The run", NOT_FOUND)
async def get_run(memory: KnowledgeOfCaller, run_id: RunId) -> RunRecord:
    """Read a consolidation run.

    Return a run with its actions.
    """
    return await memory.runs.get(run_id)


@api("POST /runs/{runId}/undo", admin, "The report", NOT_FOUND, STATE_CONFLICT, REFUSED, INVALID_INPUT)
async def undo_run(memory: KnowledgeOfCaller, run_id: RunId, wanted: UndoRequest | None = None) -> UndoReport:
    """Undo a consolidation run.

    Undo the changes of the run. The response names the memories that stay because they changed since.

    Parameters:
        body: the options
    """
    requeue = wanted is not None and wanted.requeue
    return await memory.runs.undo(run_id, requeue=requeue)


@api("POST /run", admin, "The report")
async def consolidate(
    request: Request, memory: KnowledgeOfCaller, butler: Butler = None
) -> ConsolidationReport:
    """Consolidate the episodes that are due.

    The response arrives when all episodes are done, which takes as long as the model needs. Workers do the same on a
    schedule. Without a model, episodes are only counted.
    """
    model: Model | None = request.app.state.model
    spawner = None if model is None else model_spawner(model)
    report = await memory.runs.consolidate(spawner, butler=butler)
    return report.without_model() if spawner is None else report
