"""``commonplace knowledge consolidate``, ``dead-letters`` and ``runs``."""

from typing import Annotated, Any

import typer
from rich.console import Console

from commonplace.cli.knowledge.options import TENANT, IdArgument, TenantOption, use
from commonplace.cli.output import JsonOption, console, plain, print_json, shown, table
from commonplace.cli.question import confirmed
from commonplace.core.text import plural, trim_to
from commonplace.knowledge import (
    LIST_LIMIT,
    MAX_LIMIT,
    RUN_COUNTS,
    ConsolidationReport,
    KnowledgeMemory,
    Plan,
    Run,
    RunState,
    consolidate,
    plan_rows,
)

SHOWN_CHARS = 120
"""The most characters of a text in a table; ``--json`` prints the whole text."""

app = typer.Typer()
runs_app = typer.Typer(
    add_completion=False, help="List, show and undo consolidation runs.", no_args_is_help=True
)

ButlerOption = Annotated[
    str | None, typer.Option("--butler", help="Only this butler's episodes.", show_default="all butlers")
]


@app.command(name="consolidate")
def consolidate_command(
    *,
    butler: ButlerOption = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show each plan and ask before applying it.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --preview: apply each plan without asking.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Count waiting episodes and list the runs that would be made, without asking a model.",
        ),
    ] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Turn waiting episodes into facts and rules with the configured model; without a model, count the episodes."""
    if yes and not preview:
        raise typer.BadParameter(
            "works only with --preview; without --preview, plans are applied without asking",
            param_hint="--yes",
        )
    if dry_run and preview:
        raise typer.BadParameter("makes no plan for --preview to show", param_hint="--dry-run")
    talk = console(stderr=True)

    async def approve(plan: Plan) -> bool:
        _show_plan(talk, plan)
        return yes or await confirmed("Apply this plan?")

    async def work(memory: KnowledgeMemory) -> ConsolidationReport:
        if dry_run:
            return await consolidate(memory, butler=butler, dry_run=True)
        with talk.status("consolidating") as status:
            if preview:
                status.stop()
            return await consolidate(
                memory,
                butler=butler,
                approve=approve if preview else None,
                notify=lambda run: status.update(
                    f"consolidating: {plural(len(run.episode_ids), 'episode')} of {shown(run.butler)}"
                ),
            )

    report = use(tenant, work)
    _show_report(report, as_json=as_json)
    if report.failed:
        raise typer.Exit(1)


def _show_plan(out: Console, plan: Plan) -> None:
    rows = [
        (each.sign, each.what, _cut(each.before), _cut(each.after), each.evidence_count)
        for each in plan_rows(plan.rehearsal)
    ]
    title = f"{plural(len(plan.lease.episodes), 'episode')} of {plan.lease.butler}"
    out.print(table("", "memory", "now", "then", "episodes", title=title, rows=rows))
    for message in plan.rehearsal.errors:
        out.print(f"[yellow]not possible:[/] {shown(message)}", soft_wrap=True)


def _show_report(report: ConsolidationReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
        return
    out = console()
    if not report.groups:
        out.print("no episodes wait")
        return
    if report.dry_run:
        _show_planned(out, report)
    elif report.runs:
        out.print(_runs_table(report.runs))
    for butlers, said in (
        (report.busy, "another worker holds"),
        (report.waiting, "waiting after a failure:"),
    ):
        if butlers:
            out.print(f"{said} episodes of {shown(', '.join(butlers))}")
    for message in report.errors:
        out.print(f"[red]not done:[/] {shown(message)}", soft_wrap=True)
    if report.again_at is not None:
        out.print(f"due again at {report.again_at:%Y-%m-%d %H:%M:%S} (UTC)")
    if report.note:
        out.print(shown(report.note), style="dim", soft_wrap=True)


def _show_planned(out: Console, report: ConsolidationReport) -> None:
    out.print(table("butler", "waiting episodes", rows=list(report.groups.items())))
    rows = [
        (
            number,
            run.butler,
            len(run.episode_ids),
            f"{run.oldest_at:%Y-%m-%d %H:%M}",
            f"{run.newest_at:%Y-%m-%d %H:%M}",
        )
        for number, run in enumerate(report.planned, start=1)
    ]
    if rows:
        out.print(table("run", "butler", "episodes", "from (UTC)", "to (UTC)", rows=rows))


@app.command(name="dead-letters")
def dead_letters(
    *,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="Retry dead letters from the first attempt.")
    ] = False,
    butler: ButlerOption = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """List episodes with no more retries and their last errors, or requeue them."""
    if requeue:
        number = use(tenant, lambda memory: memory.requeue_dead_letters(butler=butler))
        if as_json:
            print_json({"requeued": number})
        else:
            typer.echo(f"requeued {plural(number, 'episode')}")
        return
    letters = use(tenant, lambda memory: memory.list_dead_letters(butler=butler))
    if as_json:
        print_json({"count": len(letters), "dead_letters": letters})
        return
    rows = [
        (each.id, each.butler, f"{each.created_at:%Y-%m-%d %H:%M}", each.retry_count, _cut(each.last_error))
        for each in letters
    ]
    columns = ("id", "butler", "since (UTC)", "attempts", "last error")
    console().print(table(*columns, rows=rows) if rows else "no dead letters")


@runs_app.callback()
def group() -> None:
    """List, show and undo consolidation runs."""


@runs_app.command(name="list")
def list_command(
    *,
    butler: ButlerOption = None,
    state: Annotated[
        str | None, typer.Option(help=f"Only this state: {', '.join(RunState)}.", show_default="any")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="The most runs to list.")] = LIST_LIMIT,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """List runs, the latest first."""
    found = use(tenant, lambda memory: memory.list_runs(butler=butler, state=state, limit=limit))
    if as_json:
        print_json({"count": len(found), "runs": found})
    else:
        console().print(_runs_table(found) if found else "no runs")


@runs_app.command()
def show(run_id: IdArgument, *, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Show a run's changes and the present state of each memory."""
    record = use(tenant, lambda memory: memory.get_run(run_id))
    if as_json:
        print_json(record)
        return
    out = console()
    out.print(_runs_table([record.run]))
    rows = [
        (
            each.action.replace("_", " "),
            each.memory_id,
            f"{each.subject} {each.predicate}" if each.subject else "",
            _cut(each.content),
            each.state,
        )
        for each in record.actions
    ]
    out.print(table("action", "id", "about", "text", "state", rows=rows) if rows else "no changes")
    for message in record.run.errors:
        out.print(f"[red]not done:[/] {shown(message)}", soft_wrap=True)


@runs_app.command()
def undo(
    run_id: IdArgument,
    *,
    requeue: Annotated[bool, typer.Option("--requeue", help="Consolidate the run's episodes again.")] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Undo a run: retract the memories it stored and restore those it replaced, unless they changed since."""
    report = use(tenant, lambda memory: memory.undo_run(run_id, requeue=requeue))
    if as_json:
        print_json(report)
        return
    if report.already_undone:
        typer.echo(f"run {report.run_id} was already undone; nothing was changed")
        return
    out = console()
    numbers = {name: value for name, value in plain(report).items() if type(value) is int}
    out.print(table("change", "number", rows=[(name.replace("_", " "), n) for name, n in numbers.items()]))
    for said in report.kept:
        out.print(f"[yellow]kept:[/] {shown(said)}", soft_wrap=True)


def _runs_table(runs: list[Run] | tuple[Run, ...]) -> Any:  # noqa: ANN401 - rich's table
    columns = (
        "run",
        "butler",
        "state",
        "started (UTC)",
        "episodes",
        *(name.replace("_", " ") for name in RUN_COUNTS),
    )
    rows = [
        (
            run.id,
            run.butler,
            run.state,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            len(run.episode_ids),
            *(getattr(run, name) for name in RUN_COUNTS),
        )
        for run in runs
    ]
    return table(
        *columns, "not done", rows=[(*row, len(run.errors)) for row, run in zip(rows, runs, strict=True)]
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else trim_to(text, SHOWN_CHARS)
