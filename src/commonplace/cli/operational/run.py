"""``commonplace ops run`` and ``commonplace ops watch``: live sessions of the agent."""

import asyncio
import logging
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.output import JsonOption, console, print_json, shown
from commonplace.cli.frame.run import run, settings
from commonplace.cli.frame.session_options import (
    ClaudeOption,
    ExtraArguments,
    TimeoutOption,
    parse_span,
)
from commonplace.cli.operational.output import receipt_line, second_opinion_line
from commonplace.core.clock import utc_now
from commonplace.core.errors import StorageError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.core.text import plural
from commonplace.operational import (
    OperationalMemory,
    OutputKind,
    Receipt,
    RunLock,
    RunOutcome,
    RunReport,
    RunRequest,
    SecondOpinion,
    SessionStatus,
    Shown,
    Stop,
    Tier,
    Watcher,
    find_claude,
    first_due,
    load_prompt,
    require_arguments,
    require_service,
    run_schedule,
    run_session,
)

SCHEDULED: Final = "scheduled"
LOCK_EVERY_S: Final = 1.0

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_MARKUP: Final = {
    OutputKind.TEXT: "{}",
    OutputKind.TOOL: "[cyan]→ {}[/]",
    OutputKind.TOOL_RESULT: "[dim]  {}[/]",
    OutputKind.TOOL_ERROR: "[red]  {}[/]",
    OutputKind.NOTICE: "[yellow]{}[/]",
    OutputKind.RESULT: "[bold]{}[/]",
}

log = logging.getLogger(__name__)


TierOption = Annotated[int, bounded(Tier, "--tier", help="1 observes, 2 investigates, 3 remediates.")]
PromptOption = Annotated[
    Path | None, typer.Option("--prompt", metavar="FILE", help="Prompt that replaces the tier's prompt.")
]
ServicesOption = Annotated[
    list[str] | None,
    typer.Option("--service", help="A service to check; its lessons are chosen first. Repeatable."),
]


def run_once(
    arguments: ExtraArguments = None,
    *,
    tier: TierOption = 1,
    prompt: PromptOption = None,
    service: ServicesOption = None,
    timeout: TimeoutOption = None,
    claude: ClaudeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a session of the agent, show it live, and store its lessons as they arrive.

    Exit status 1 if the session failed, took too long, or ended without a result; 130 after Ctrl-C, 143 after SIGTERM.
    A second Ctrl-C kills the session at once. An unreachable database does not stop the session.

    After the session, its CLI is asked about doubtful pairs of lessons, unless the setting judge says otherwise.
    """
    loaded = settings()
    told = load_prompt(tier, prompt, directory=loaded.prompts_directory)
    request = _request(tier, told, service, timeout, claude, arguments, trigger="manual")
    screen = None if as_json else _Screen(console())

    async def work() -> tuple[RunReport, Stop]:
        with _stop_on_signals() as stop, RunLock(loaded.home) as lock:
            if not lock.acquire():
                raise StorageUnavailableError(f"{lock.path}: another session is running; wait until it ends")
            return await run_session(loaded, request, lock=lock, stop=stop, watcher=_watcher(screen)), stop

    report, stop = run(work())
    if screen is None:
        print_json(report)
    else:
        screen.second_opinion(report.second_opinion)
    if report.outcome is RunOutcome.STOPPED:
        raise typer.Exit(128 + (stop.signal or signal.SIGINT))
    if report.outcome is not RunOutcome.COMPLETED:
        typer.echo(f"error: {_sentence(report)}", err=True)
        raise typer.Exit(1)


def watch(
    arguments: ExtraArguments = None,
    *,
    every: Annotated[
        timedelta,
        typer.Option(
            parser=parse_span, metavar="SPAN", help="Interval between two starts, such as 60m or 6h."
        ),
    ],
    tier: TierOption = 1,
    prompt: PromptOption = None,
    service: ServicesOption = None,
    timeout: TimeoutOption = None,
    claude: ClaudeOption = None,
) -> None:
    """Run sessions on a schedule until Ctrl-C or SIGTERM, which also end a running session.

    The first session starts at once, or one interval after the last scheduled session of its tier. A failed session
    does not stop the schedule. Missed sessions are skipped, and two sessions never run at once.
    """
    loaded = settings()
    told = load_prompt(tier, prompt, directory=loaded.prompts_directory)
    request = _request(tier, told, service, timeout, claude, arguments, trigger=SCHEDULED)
    screen = _Screen(console())

    async def work() -> Stop:
        with _stop_on_signals() as stop:

            async def session() -> None:
                await _scheduled(loaded, request, stop, screen)

            due = first_due(await _last_start(loaded, tier), every, utc_now())
            await run_schedule(session, every=every, due=due, clock=utc_now, stop=stop, on_wait=screen.wait)
            return stop

    stop = run(work())
    if stop.signal == signal.SIGINT:
        raise typer.Exit(128 + signal.SIGINT)


async def _scheduled(loaded: Settings, request: RunRequest, stop: Stop, screen: "_Screen") -> None:
    with RunLock(loaded.home) as lock:
        if not lock.acquire():
            log.warning("%s: another session is running; this session starts when it ends", lock.path)
            while not lock.acquire():
                if await stop.wait(LOCK_EVERY_S):
                    return
        report = await run_session(loaded, request, lock=lock, stop=stop, watcher=_watcher(screen))
    screen.second_opinion(report.second_opinion)
    if report.outcome not in {RunOutcome.COMPLETED, RunOutcome.STOPPED}:
        log.error("%s", _sentence(report))


def _sentence(report: RunReport) -> str:
    """Return how an incomplete session ended, with the status of its row."""
    was = "was interrupted" if report.outcome.status is SessionStatus.INTERRUPTED else "failed"
    return f"the session {was}: {report.reason}"


async def _last_start(loaded: Settings, tier: int) -> datetime | None:
    """Return when the last scheduled session of a tier began, or ``None`` if that is unknown."""
    try:
        async with OperationalMemory.open(loaded) as memory:
            last = await memory.sessions.last(tier=tier, trigger=SCHEDULED)
    except StorageError as error:
        log.warning("the schedule starts now, because the last session cannot be read: %s", error)
        return None
    return last.started_at if last else None


def _request(
    tier: int,
    prompt: str,
    services: list[str] | None,
    timeout: timedelta | None,
    claude: str | None,
    arguments: list[str] | None,
    *,
    trigger: str,
) -> RunRequest:
    named = [name for name in map(require_service, services or []) if name is not None]
    environ = dict(os.environ)
    return RunRequest(
        executable=find_claude(claude, environ),
        tier=tier,
        prompt=prompt,
        services=tuple(named),
        arguments=require_arguments(arguments or []),
        trigger=trigger,
        timeout_s=timeout.total_seconds() if timeout else None,
        environ=environ,
    )


@contextmanager
def _stop_on_signals() -> Generator[Stop]:
    """Yield a stop request that is set by signals, which then do not interrupt the program."""
    loop, stop = asyncio.get_running_loop(), Stop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask, number)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _watcher(screen: "_Screen | None") -> Watcher:
    if screen is None:
        return Watcher()
    return Watcher(on_output=screen.output, on_receipt=screen.receipt, on_end=screen.end)


class _Screen:
    """Display of a running session. If the reader closes the output, as in ``… | head``, the session continues."""

    def __init__(self, out: Console) -> None:
        self._out: Console | None = out

    def output(self, line: Shown) -> None:
        """Show an output line."""
        self._print(_MARKUP[line.kind].format(shown(line.text)))

    def receipt(self, receipt: Receipt) -> None:
        """Show the receipt of a marker."""
        self._print(receipt_line(receipt))

    def end(self, report: RunReport) -> None:
        """Show how the session ended."""
        name = f"session {report.session.id}" if report.session else "session (not stored)"
        why = f": {shown(report.reason)}" if report.reason else ""
        self._print(
            f"[bold]{name}[/] {report.outcome.status}{why}, {plural(len(report.receipts), 'receipt')}"
        )

    def second_opinion(self, opinion: SecondOpinion | None) -> None:
        """Show what a model said about doubtful pairs, if it was asked."""
        if opinion is not None:
            self._print(second_opinion_line(opinion))

    def wait(self, due: datetime) -> None:
        """Show when the next session is due."""
        self._print(f"[dim]next session at {due:%Y-%m-%d %H:%M:%S} UTC[/]")

    def _print(self, markup: str) -> None:
        if self._out is None:
            return
        try:
            self._out.print(markup)
        except OSError as error:
            self._out = None
            log.warning("the output was closed; the session continues: %s", error)
