"""Pages of consolidation runs, with their results and undo."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory, RunRecord, RunState, Spawner, model_spawner
from commonplace.web.http.access import KnowledgeOfCaller, admin, reader
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId, Name
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.paging import ListFilters, cut_page
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done, render

if TYPE_CHECKING:
    from commonplace.llm import Model

PATH: Final = "/knowledge/runs"
REQUEUE: Final = "requeue"
NO_MODEL: Final = (
    "No language model is set, so episodes cannot be consolidated. Run `commonplace consolidation allow MODEL`, then "
    "restart the service."
)

STATES: Final = (("", "Any"), *((state, state.title()) for state in RunState))

UNDOING: Final = Question(
    title="Undo this run?",
    texts=(
        "Searches will no longer find the memories that the run stored. Facts that it replaced will be active again.",
        "Memories that it confirmed will fade as before.",
        "Later changes will stay. Nothing will be deleted.",
    ),
    button="Undo run",
    tick=(REQUEUE, "Consolidate its episodes again"),
)

router = pages(PATH, reader)


class RunFilters(ListFilters):
    """The filters of the list of runs."""

    state: RunState | Literal[""] = ""
    butler: Name = ""


@router.get("")
async def runs_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[RunFilters, Query()]
) -> HTMLResponse:
    """Show runs, latest first, and the episodes that wait."""
    runs, pager = await cut_page(request, wanted, knowledge.runs.list)
    return render(
        request,
        "knowledge/runs/list.html",
        runs=runs,
        pager=pager,
        states=STATES,
        groups=await knowledge.runs.pending(),
        no_model="" if _spawner(request) else NO_MODEL,
        last=None if pager.narrows else await latest_run(knowledge),
    )


async def latest_run(knowledge: KnowledgeMemory) -> RunRecord | None:
    """Return the latest run that was applied and not undone; ``None`` if there is none.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    runs = await knowledge.runs.list(state=RunState.APPLIED, limit=1)
    return await knowledge.runs.get(runs[0].id) if runs else None


@router.post("/start", dependencies=[Depends(admin)])
async def start(request: Request, knowledge: KnowledgeOfCaller, butler: Name = "") -> Response:
    """Consolidate waiting episodes of one butler or of all.

    Raises:
        ConflictError: No language model is configured.
    """
    spawner = _spawner(request)
    if spawner is None:
        raise ConflictError("model", NO_MODEL, "no model")
    report = await knowledge.runs.consolidate(spawner, butler=butler.strip() or None)
    notice = f"{plural(report.episodes_consolidated, 'episode')} consolidated."
    if report.errors:
        notice += f" {plural(len(report.errors), 'error')}: {report.errors[0]}"
    return done(request, notice, changed=CHANGED)


def _spawner(request: Request) -> Spawner | None:
    """Return what asks the language model; ``None`` if no language model is configured."""
    model: Model | None = request.app.state.model
    return None if model is None else model_spawner(model)


@router.get("/{run_id:uuid}")
async def run_page(request: Request, knowledge: KnowledgeOfCaller, run_id: ItemId) -> HTMLResponse:
    """Show one run with its actions."""
    record = await knowledge.runs.get(run_id)
    return render(request, "knowledge/runs/one.html", run=record.run, actions=record.actions)


@router.get("/{run_id:uuid}/undo", dependencies=[Depends(admin)])
async def undo_form(request: Request, knowledge: KnowledgeOfCaller, run_id: ItemId) -> HTMLResponse:
    """Ask before a run is undone."""
    await knowledge.runs.get(run_id)
    return ask(request, UNDOING)


@router.post("/{run_id:uuid}/undo", dependencies=[Depends(admin)])
async def undo(
    request: Request, knowledge: KnowledgeOfCaller, run_id: ItemId, requeue: Text = ""
) -> Response:
    """Undo a run."""
    try:
        report = await knowledge.runs.undo(run_id, requeue=bool(requeue))
    except InvalidInputError as error:
        return ask(request, UNDOING, error=message_of(error))
    if report.already_undone:
        notice = "This run was already undone."
    else:
        gone = plural(report.facts_retracted + report.rules_forgotten, "memory", "memories")
        back = plural(report.facts_restored, "fact")
        kept = f" {plural(len(report.kept), 'later change')} stayed." if report.kept else ""
        expired = (
            f" {plural(report.episodes_expired, 'episode')} expired in the meantime."
            if report.episodes_expired
            else ""
        )
        notice = f"The run was undone: {gone} removed, {back} restored.{kept}{expired}"
    return done(request, notice, changed=CHANGED)
