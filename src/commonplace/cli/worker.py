"""``commonplace worker``: background work, and what is to be seen of it."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

import typer

from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import run, settings
from commonplace.core.clock import utc_now
from commonplace.core.settings import Settings
from commonplace.knowledge.consolidation.pipeline import this_worker
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers.status import WorkerStatus, worker_status
from commonplace.knowledge.workers.worker import Worker

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)

app = typer.Typer(add_completion=False)


@app.callback(invoke_without_command=True)
def worker(ctx: typer.Context) -> None:
    """Do background work until Ctrl-C or SIGTERM; jobs that are under way are finished first, or handed back."""
    if ctx.invoked_subcommand is None:
        run(_work(settings()))


@app.command()
def status(*, as_json: JsonOption = False) -> None:
    """Show workers, schedules, what waits, and what failed."""
    seen = run(_look(settings()))
    if as_json:
        print_json(_document(seen))
    else:
        _print(seen)


async def _work(chosen: Settings) -> None:
    async with Worker.open(chosen) as working:
        _on_first_signal(working.stop)
        announcing = asyncio.create_task(_announce(working))
        try:
            await working.run()
        finally:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)


async def _announce(working: Worker) -> None:
    await working.began.wait()
    typer.echo(f"worker {this_worker()} does background work (Ctrl-C stops it)", err=True)


def _on_first_signal(stop: Callable[[], None]) -> None:
    """Call a function on the first signal to stop; a second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in STOPPING:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        typer.echo("stopping when the jobs under way are done; a second signal ends it at once", err=True)
        stop()

    for number in STOPPING:
        loop.add_signal_handler(number, first)


async def _look(chosen: Settings) -> WorkerStatus:
    async with KnowledgeMemory.open(chosen) as memory:
        return await worker_status(await memory.database.pool(), chosen, utc_now())


def _document(seen: WorkerStatus) -> dict[str, object]:
    schedules = [
        {
            "upkeep": one.upkeep,
            "cron": one.cron,
            "last_at": one.last_at,
            "ran_at": one.ran_at,
            "next_at": one.next_at,
            "outcome": one.outcome,
            "jobs": one.jobs,
        }
        for one in seen.schedules
    ]
    return {
        "began": seen.began,
        "workers": seen.workers,
        "jobs": seen.jobs,
        "oldest_waiting_at": seen.oldest_waiting_at,
        "schedules": schedules,
        "failures": seen.failures,
    }


def _print(seen: WorkerStatus) -> None:
    out = console()
    if not any(one.alive for one in seen.workers):
        out.print("[bold red]no worker is alive[/]: `commonplace worker` or `commonplace serve` starts one")
    if seen.workers:
        rows = [
            (
                one.name,
                "alive" if one.alive else f"silent for {one.silent_s:.0f} s",
                one.doing,
                one.concurrency,
            )
            for one in seen.workers
        ]
        out.print(table("worker", "state", "doing", "at most", rows=rows))
    out.print(
        table(
            *("what", "cron (UTC)", "last run for", "outcome", "jobs", "next run"),
            rows=[
                (
                    one.upkeep,
                    one.cron or "off",
                    f"{one.last_at:%Y-%m-%d %H:%M}" if one.last_at else None,
                    one.outcome,
                    ", ".join(f"{number} {state}" for state, number in one.jobs.items()),
                    f"{one.next_at:%Y-%m-%d %H:%M}" if one.next_at else None,
                )
                for one in seen.schedules
            ],
        )
    )
    waiting = f", the oldest since {seen.oldest_waiting_at:%Y-%m-%d %H:%M}" if seen.oldest_waiting_at else ""
    counted = ", ".join(f"{number} {state}" for state, number in seen.jobs.items()) or "none"
    out.print(f"jobs: {counted}{waiting}")
    if seen.failures:
        rows = [
            (
                one.job_id,
                one.task,
                "/".join(
                    str(one.arguments[name]) for name in ("tenant_id", "butler") if name in one.arguments
                ),
                f"{one.ended_at:%Y-%m-%d %H:%M}" if one.ended_at else None,
                one.error,
            )
            for one in seen.failures
        ]
        out.print(table("job", "task", "of", "failed at (UTC)", "error", title="Failed", rows=rows))
