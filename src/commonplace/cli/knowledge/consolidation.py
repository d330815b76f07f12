"""``commonplace knowledge consolidate`` and ``runs``."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.output import console, shown, table
from commonplace.cli.frame.question import confirmed
from commonplace.cli.knowledge.options import ButlerOption, IdArgument, opened
from commonplace.core.json_values import json_safe
from commonplace.core.text import plural, trim_to
from commonplace.knowledge import (
    LIST_LIMIT,
    ConsolidationPlan,
    ConsolidationReport,
    KnowledgeMemory,
    Limit,
    Run,
    RunState,
    short_id,
)

SHOWN_CHARS = 120
"""Maximum number of characters of a text in a table; ``--json`` prints the whole text."""

RUN_COLUMNS = (
    *("run", "butler", "state", "started (UTC)", "episodes"),
    *(name.replace("_", " ") for name in Run.COUNTS),
    "not done",
)

app = typer.Typer()
runs_app = typer.Typer(help="List, show and undo consolidation runs.", no_args_is_help=True)
command, runs_command = commands(app, opened), commands(runs_app, opened)


@command("consolidate")
async def consolidate_command(
    memory: KnowledgeMemory,
    *,
    butler: ButlerOption = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show each plan, and ask before it is applied.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --preview: apply each plan without asking.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Count waiting episodes and list the planned runs without calling a model.",
        ),
    ] = False,
) -> Answer:
    """Turn waiting episodes into facts and rules with the configured model; without a model, count the episodes."""
    if yes and not preview:
        said = "works only with --preview; without --preview, plans are applied without asking"
        raise typer.BadParameter(said, param_hint="--yes")
    if dry_run and preview:
        raise typer.BadParameter("makes no plan that --preview could show", param_hint="--dry-run")
    talk = console(stderr=True)

    async def approve(plan: ConsolidationPlan) -> bool:
        _show_plan(talk, plan)
        return yes or await confirmed("Apply this plan?")

    with talk.status("consolidating") as status:
        if preview or dry_run:
            status.stop()
        report = await memory.runs.consolidate_as_configured(
            butler=butler,
            dry_run=dry_run,
            approve=approve if preview else None,
            notify=lambda run: status.update(
                f"consolidating: {plural(len(run.episode_ids), 'episode')} of {shown(run.butler)}"
            ),
        )
    return Answer(report.to_json(), lambda out: _show_report(out, report), "" if report.failed else None)


def _show_plan(out: Console, plan: ConsolidationPlan) -> None:
    rows = [
        (each.sign, each.what, cut(each.before), cut(each.after), each.evidence_count)
        for each in plan.changes
    ]
    title = f"{plural(len(plan.lease.episodes), 'episode')} of {plan.lease.butler}"
    out.print(table("", "memory", "now", "then", "episodes", title=title, rows=rows))
    _show_messages(out, "[cyan]note:[/]", plan.rehearsal.notes)
    _show_messages(out, "[yellow]not possible:[/]", plan.rehearsal.errors)


def _show_report(out: Console, report: ConsolidationReport) -> None:
    if not report.groups:
        out.print("No episodes are waiting.")
        return
    if report.dry_run:
        _show_planned(out, report)
    elif report.runs:
        out.print(_runs_table(report.runs))
    if report.busy:
        out.print(f"another worker holds the episodes of {shown(', '.join(report.busy))}")
    if report.waiting:
        out.print(f"waiting after a failure: episodes of {shown(', '.join(report.waiting))}")
    for run in report.runs:
        _show_messages(out, "[cyan]note:[/]", run.notes)
    _show_messages(out, "[red]not done:[/]", report.errors)
    if report.again_at is not None:
        out.print(f"due again at {report.again_at:%Y-%m-%d %H:%M:%S} (UTC)")
    if report.note:
        out.print(shown(report.note), style="dim", soft_wrap=True)


def _show_messages(out: Console, label: str, messages: Sequence[str]) -> None:
    for message in messages:
        out.print(f"{label} {shown(message)}", soft_wrap=True)


def _show_planned(out: Console, report: ConsolidationReport) -> None:
    out.print(table("butler", "waiting episodes", rows=list(report.groups.items())))
    rows = [
        (number, run.butler, len(run.episode_ids), run.oldest_at, run.newest_at)
        for number, run in enumerate(report.planned, start=1)
    ]
    if rows:
        out.print(table("run", "butler", "episodes", "from (UTC)", "to (UTC)", rows=rows))


@runs_command("list")
async def list_runs(
    memory: KnowledgeMemory,
    *,
    butler: ButlerOption = None,
    state: Annotated[RunState | None, typer.Option(help="Only this state.", show_default="any")] = None,
    limit: Annotated[int, bounded(Limit, help="Maximum number of runs.")] = LIST_LIMIT,
) -> Answer:
    """List runs, latest first."""
    found = await memory.runs.list(butler=butler, state=state, limit=limit)
    return listing("runs", found, RUN_COLUMNS, _run_row, if_empty="No runs.")


@runs_command("show")
async def show_run(memory: KnowledgeMemory, run_id: IdArgument) -> Answer:
    """Show the changes that a run made, and the current state of each memory."""
    record = await memory.runs.get(run_id)
    rows = [
        (
            each.action.replace("_", " "),
            short_id(each.action.memory_type, each.memory_id),
            f"{each.subject} {each.predicate}" if each.subject else "",
            cut(each.content),
            each.state,
        )
        for each in record.actions
    ]

    def text(out: Console) -> None:
        out.print(_runs_table([record.run]))
        out.print(table("action", "id", "about", "text", "state", rows=rows) if rows else "No changes.")
        _show_messages(out, "[cyan]note:[/]", record.run.notes)
        _show_messages(out, "[red]not done:[/]", record.run.errors)

    return Answer(record, text)


@runs_command()
async def undo(
    memory: KnowledgeMemory,
    run_id: IdArgument,
    *,
    requeue: Annotated[bool, typer.Option("--requeue", help="Consolidate the run's episodes again.")] = False,
) -> Answer:
    """Undo a run: retract the memories that it stored and restore the memories that it replaced, if unchanged since."""
    report = await memory.runs.undo(run_id, requeue=requeue)
    if report.already_undone:
        return Answer(report, f"run {report.run_id} was already undone; nothing was changed")
    counts = [(name.replace("_", " "), n) for name, n in json_safe(report).items() if type(n) is int]

    def text(out: Console) -> None:
        out.print(table("change", "number", rows=counts))
        _show_messages(out, "[yellow]kept:[/]", report.kept)

    return Answer(report, text)


def _runs_table(runs: Sequence[Run]) -> Table:
    return table(*RUN_COLUMNS, rows=map(_run_row, runs))


def _run_row(run: Run) -> tuple[object, ...]:
    counts = (getattr(run, name) for name in Run.COUNTS)
    return (
        *(run.id, run.butler, run.state, run.started_at, len(run.episode_ids)),
        *counts,
        len(run.errors),
    )


def cut(text: str | None) -> str | None:
    """Return a text cut for a table."""
    return None if text is None else trim_to(text, SHOWN_CHARS)
