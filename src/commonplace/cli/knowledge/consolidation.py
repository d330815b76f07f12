"""The part of ``commonplace knowledge`` that turns episodes into facts and rules, and looks after how that went."""

from typing import Annotated, Any

import typer
from rich.console import Console

from commonplace.cli.knowledge.options import TENANT, IdArgument, TenantOption, use
from commonplace.cli.output import JsonOption, console, print_json, shown, table
from commonplace.cli.question import confirmed
from commonplace.core.text import plural, trim_to
from commonplace.knowledge.consolidation.configured import COUNTS, consolidate, outcome, planned
from commonplace.knowledge.consolidation.pipeline import ConsolidationReport, Plan
from commonplace.knowledge.consolidation.preview import plan_rows
from commonplace.knowledge.consolidation.runs import DEFAULT_LIMIT, MAX_LIMIT, Run
from commonplace.knowledge.memory import KnowledgeMemory

SHOWN_CHARS = 120
"""Of a text in a table; ``--json`` shows it whole."""

app = typer.Typer()
runs_app = typer.Typer(
    add_completion=False, help="Runs of consolidation: what each did; undo one.", no_args_is_help=True
)

ButlerOption = Annotated[
    str | None, typer.Option("--butler", help="Only this butler's episodes.", show_default="all butlers")
]


@app.command(name="consolidate")
def consolidate_command(
    *,
    butler: ButlerOption = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show each plan and ask before it is applied.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --preview: show each plan, and apply it.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Count what waits, and name the runs to be made; no model is asked."),
    ] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Have the configured model turn episodes that wait into facts and rules; without one, count what waits."""
    if yes and not preview:
        raise typer.BadParameter(
            "goes with --preview; without it, plans are applied without asking", param_hint="--yes"
        )
    if dry_run and preview:
        raise typer.BadParameter("asks for no plan that could be shown", param_hint="--dry-run")
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
    out.print(table("", "what", "now", "then", "episodes", title=title, rows=rows))
    for message in plan.rehearsal.errors:
        out.print(f"[yellow]will not be done:[/] {shown(message)}", soft_wrap=True)


def _show_report(report: ConsolidationReport, *, as_json: bool) -> None:
    counted: dict[str, Any] = {
        "episodes_pending": report.episodes_pending,
        "groups": dict(report.groups),
        "consolidated": report.episodes_consolidated > 0,
    }
    if as_json:
        print_json(counted | (planned(report) if report.dry_run else outcome(report)))
        return
    out = console()
    if not report.groups:
        out.print("no episodes wait")
        return
    if report.dry_run:
        _show_planned(out, report)
    elif report.runs:
        out.print(_runs_table(report.runs))
    for butlers, said in ((report.busy, "another worker has"), (report.waiting, "waiting after a failure:")):
        if butlers:
            out.print(f"{said} episodes of {shown(', '.join(butlers))}")
    for message in report.errors:
        out.print(f"[red]not done:[/] {shown(message)}", soft_wrap=True)
    if report.again_at is not None:
        out.print(f"due again at {report.again_at:%Y-%m-%d %H:%M:%S} (UTC)")
    if report.note:
        out.print(shown(report.note), style="dim", soft_wrap=True)


def _show_planned(out: Console, report: ConsolidationReport) -> None:
    out.print(table("butler", "episodes that wait", rows=list(report.groups.items())))
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
        bool, typer.Option("--requeue", help="Have them tried again, from the first attempt.")
    ] = False,
    butler: ButlerOption = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Show the episodes on which every attempt failed, with the last error; or have them tried again."""
    if requeue:
        number = use(tenant, lambda memory: memory.requeue_dead_letters(butler=butler))
        if as_json:
            print_json({"requeued": number})
        else:
            typer.echo(plural(number, "episode waits again", "episodes wait again"))
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
    """Runs of consolidation: what each did; undo one."""


@runs_app.command(name="list")
def list_command(
    *,
    butler: ButlerOption = None,
    state: Annotated[
        str | None, typer.Option(help="running, applied, failed, refused or undone.", show_default="any")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="At most so many.")] = DEFAULT_LIMIT,
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
    """Show what a run did, and what of that still stands."""
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
    out.print(table("did", "id", "about", "text", "is now", rows=rows) if rows else "it changed nothing")
    for message in record.run.errors:
        out.print(f"[red]not done:[/] {shown(message)}", soft_wrap=True)


@runs_app.command()
def undo(
    run_id: IdArgument,
    *,
    requeue: Annotated[bool, typer.Option("--requeue", help="Have its episodes consolidated again.")] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Undo a run: what it stored is taken back, what it replaced holds again, unless somebody changed it since."""
    report = use(tenant, lambda memory: memory.undo_run(run_id, requeue=requeue))
    if as_json:
        print_json(report)
        return
    if report.already_undone:
        typer.echo(f"run {report.run_id} had been undone before; nothing was done")
        return
    out = console()
    names = (
        "facts_retracted",
        "facts_restored",
        "rules_forgotten",
        "confirmations_undone",
        "episodes_requeued",
        "episodes_expired",
    )
    out.print(
        table("what", "number", rows=[(name.replace("_", " "), getattr(report, name)) for name in names])
    )
    for said in report.kept:
        out.print(f"[yellow]left:[/] {shown(said)}", soft_wrap=True)


def _runs_table(runs: list[Run] | tuple[Run, ...]) -> Any:  # noqa: ANN401 - rich's table
    columns = (
        "run",
        "butler",
        "state",
        "started (UTC)",
        "episodes",
        *(name.replace("_", " ") for name in COUNTS),
    )
    rows = [
        (
            run.id,
            run.butler,
            run.state,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            len(run.episode_ids),
            *(getattr(run, name) for name in COUNTS),
        )
        for run in runs
    ]
    return table(
        *columns, "not done", rows=[(*row, len(run.errors)) for row, run in zip(rows, runs, strict=True)]
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else trim_to(text, SHOWN_CHARS)
