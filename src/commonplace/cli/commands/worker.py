"""``commonplace worker``: does background work and shows its status."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from typing import Final

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.cli.frame.run import run, settings
from commonplace.core.settings import Settings
from commonplace.knowledge import (
    KnowledgeMemory,
    Worker,
    WorkerStatus,
    worker_status,
)
from commonplace.services.background.following import following

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)

app = typer.Typer(add_completion=False)


@app.callback(invoke_without_command=True)
def worker(ctx: typer.Context) -> None:
    """Do background work until Ctrl-C or SIGTERM. Running jobs are finished or returned to the queue."""
    if ctx.invoked_subcommand is None:
        run(_work(settings()))


@commands(app)()
async def status() -> Answer:
    """Show workers, schedules, waiting jobs and failures."""
    chosen = settings()
    async with KnowledgeMemory.open(chosen) as memory:
        seen = await worker_status(memory, chosen)
    return Answer(seen, lambda out: _print(out, seen))


async def _work(chosen: Settings) -> None:
    async with Worker.open(chosen) as working:
        _on_first_signal(working.stop)
        announcing = asyncio.create_task(_announce(working))
        try:
            async with following(chosen, lambda: KnowledgeMemory.open(chosen)):
                await working.run()
        finally:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)


async def _announce(working: Worker) -> None:
    await working.began.wait()
    typer.echo(f"worker {working.name} is running; press Ctrl-C to stop", err=True)


def _on_first_signal(stop: Callable[[], None]) -> None:
    """Call a function on the first signal to stop; a second signal ends the process at once."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in STOPPING:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        typer.echo("stopping when the running jobs are done; a second signal stops at once", err=True)
        stop()

    for number in STOPPING:
        loop.add_signal_handler(number, first)


def _print(out: Console, seen: WorkerStatus) -> None:
    if not any(one.alive for one in seen.workers):
        out.print(
            "[bold red]no worker is alive[/]: start one with `commonplace worker` or `commonplace serve`"
        )
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
        out.print(table("worker", "state", "running jobs", "at most", rows=rows))
    schedules = [
        (one.upkeep, one.cron or "off", one.last_at, one.outcome, _counted(one.jobs), one.next_at)
        for one in seen.schedules
    ]
    columns = ("schedule", "cron (UTC)", "last tick", "outcome", "jobs", "next tick")
    out.print(table(*columns, rows=schedules))
    oldest = seen.oldest_waiting_at
    waiting = f", the oldest since {oldest:%Y-%m-%d %H:%M}" if oldest else ""
    out.print(f"jobs: {_counted(seen.jobs) or 'none'}{waiting}")
    if seen.failures:
        failures = [
            (one.job_id, one.task, "/".join(map(str, one.arguments.values())), one.ended_at, one.error)
            for one in seen.failures
        ]
        columns = ("job", "task", "of", "failed at (UTC)", "error")
        out.print(table(*columns, title="Failed jobs", rows=failures))


def _counted(jobs: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in jobs.items())
