"""``commonplace ops``: commands of operational memory."""

import sys
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.ids import LESSON_ID, lesson_id, with_short_id
from commonplace.cli.frame.output import AllowSecrets, JsonOption, console
from commonplace.cli.frame.run import settings
from commonplace.cli.operational import run as ops_run
from commonplace.cli.operational.output import effect_line, numbered, receipt_line, second_opinion_line
from commonplace.core.bounds import BudgetTokens
from commonplace.core.confidence import clamp
from commonplace.core.errors import ClockError, SettingsError, StorageUnavailableError
from commonplace.core.text import plural
from commonplace.operational import (
    DEFAULT_CONFIDENCE,
    GENERAL,
    Lesson,
    MemoryCategory,
    MemoryFilter,
    OperationalMemory,
    Receipt,
    ReceiptKind,
    SessionReport,
    Sort,
    Tier,
    ask_second_opinion,
    configured_adviser,
    format_confidence,
)
from commonplace.services.memory_ids import MemoryKind

CHUNK_BYTES: Final = 1 << 16
MOST_LISTED: Final = 1_000_000
SHOWN_LINES: Final = 5
"""The most rejected lines of a transcript that are shown."""

ServiceOption = Annotated[str | None, typer.Option("--service", help="Name of a service, or general.")]
IdArgument = Annotated[int, LESSON_ID]

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command("run")(ops_run.run_once)
app.command("watch")(ops_run.watch)


command = commands(app, lambda: OperationalMemory.open(settings()))


async def read_chunks(source: str) -> AsyncGenerator[bytes]:
    """Yield a file, or standard input for ``-``, as it comes.

    Raises:
        StorageUnavailableError: The file does not exist or cannot be read.
    """
    try:
        with sys.stdin.buffer if source == "-" else Path(source).open("rb") as stream:  # noqa: ASYNC230 - a pipe or a local file, read by nothing else meanwhile
            while chunk := stream.read1(CHUNK_BYTES):  # type: ignore[union-attr]
                yield chunk
    except OSError as error:
        raise StorageUnavailableError(f"{source}: cannot be read: {error.strerror}") from None


@command()
async def ingest(
    memory: OperationalMemory,
    source: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A stream-json transcript; - reads standard input.")
    ] = "-",
    *,
    tier: Annotated[
        list[int] | None,
        bounded(
            Tier,
            help="Tier of the session. Repeat it for the second session, the third, and so on.",
            show_default="1",
        ),
    ] = None,
    allow_secrets: AllowSecrets = False,
    ask_model: Annotated[
        bool, typer.Option("--ask-model", help="Let the model of COMMONPLACE_MODEL decide doubtful pairs.")
    ] = False,
    as_json: JsonOption = False,
) -> Answer:
    """Store the sessions of a transcript and print a receipt for every marker.

    Exit status 1 if the transcript holds no session, or if a valid marker could not be stored. Run the same command
    again to store it.
    """
    out, rejected_lines = console(), 0
    adviser = configured_adviser(settings()) if ask_model else None
    if ask_model and adviser is None:
        raise SettingsError("--ask-model: no language model is set. Set COMMONPLACE_MODEL.")

    def show(receipt: Receipt) -> None:
        nonlocal rejected_lines
        rejected_lines += receipt.kind is ReceiptKind.LINE
        if receipt.kind is not ReceiptKind.LINE or rejected_lines <= SHOWN_LINES:
            out.print(receipt_line(receipt, numbered))

    try:
        reports = await memory.ingest(
            read_chunks(source),
            tiers=tier or [1],
            allow_secrets=allow_secrets,
            asks_model=ask_model,
            on_receipt=None if as_json else show,
        )
    finally:
        if rejected_lines > SHOWN_LINES:
            out.print(f"{rejected_lines - SHOWN_LINES:,} more lines were rejected")
    opinion = await ask_second_opinion(memory, adviser) if adviser is not None else None
    failed = [receipt for report in reports for receipt in report.failed]
    error = None
    if failed:
        markers = plural(len(failed), "marker")
        error = f"{markers} could not be stored: {failed[0].reason}; run the command again"
    if not reports:
        where = "standard input" if source == "-" else source
        error = f"{where}: found no session; expected the output of `claude --output-format stream-json`"
    lines = [_session_line(report) for report in reports]
    if opinion is not None:
        lines.append(second_opinion_line(opinion))
    return Answer(
        {"sessions": reports, "second_opinion": opinion},
        lambda out: out.print("\n".join(lines)) if lines else None,
        error,
    )


def _session_line(report: SessionReport) -> str:
    session, count = report.session, plural(len(report.receipts), "receipt")
    return f"[bold]session {session.id}[/] tier {session.tier}: {session.status}, {count}"


@command()
async def context(
    memory: OperationalMemory,
    *,
    budget: Annotated[
        int | None,
        bounded(
            BudgetTokens,
            metavar="TOKENS",
            help="Size of the block.",
            show_default="CLAUDEOPS_MEMORY_BUDGET, else 2000",
        ),
    ] = None,
    service: Annotated[
        list[str] | None,
        typer.Option(help="A service that the session will check; its lessons are chosen first. Repeatable."),
    ] = None,
    decay: Annotated[bool, typer.Option(help="Run the staleness check first, as sessions do.")] = True,
) -> Answer:
    """Print the block for the next session's system prompt; print nothing if there are no lessons."""
    if decay:
        try:
            await memory.upkeep.decay()
        except ClockError as error:
            typer.echo(f"warning: {error}", err=True)
    block = await memory.context(budget_tokens=budget, services=service or [])
    return Answer(block, block.text)


@command("decay")
async def run_decay(memory: OperationalMemory) -> Answer:
    """Run the staleness check: after 30 days without reinforcement, a lesson loses 0.1 confidence per week.

    Each week is charged once, however often the check runs.
    """
    effects = await memory.upkeep.decay()
    lines = [*map(effect_line, effects), f"{plural(len(effects), 'lesson')} decayed"]
    return Answer({"decayed": effects}, lambda out: out.print("\n".join(lines)))


@command("list")
async def list_lessons(
    memory: OperationalMemory,
    *,
    service: ServiceOption = None,
    category: Annotated[MemoryCategory | None, typer.Option(help="Only this category.")] = None,
    search: Annotated[str | None, typer.Option(help="Text in the observation.")] = None,
    active: Annotated[
        bool | None, typer.Option("--active/--inactive", help="Only active or only inactive lessons.")
    ] = None,
    sort: Annotated[
        Sort, typer.Option(help="service: grouped by service; confidence, recency: highest first.")
    ] = "service",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_LISTED, help="Maximum number of lessons.")
    ] = MOST_LISTED,
) -> Answer:
    """Print lessons of all states, with their confidence."""
    general = service == GENERAL
    wanted = MemoryFilter(
        service=None if general else service,
        general=general,
        category=category,
        active=active,
        search=search,
        sort=sort,
        limit=limit,
    )
    return _lessons(await memory.list_memories(wanted))


@command()
async def add(
    memory: OperationalMemory,
    observation: Annotated[str, typer.Argument(metavar="TEXT", help="The observation.")],
    *,
    category: Annotated[MemoryCategory, typer.Option(help="The category.")],
    service: ServiceOption = None,
    confidence: Annotated[
        float, typer.Option(help="0.0 to 1.0; other values are clamped.")
    ] = DEFAULT_CONFIDENCE,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add a lesson with a confidence of its own."""
    receipt = await memory.add(
        category=category,
        observation=observation,
        service=service,
        confidence=confidence,
        allow_secrets=allow_secrets,
    )
    _tell_clamped(confidence)
    return _lessons([receipt.memory])


@command()
async def edit(
    memory: OperationalMemory,
    memory_id: IdArgument,
    *,
    observation: Annotated[
        str | None, typer.Option(help="The new text; the confidence stays the same.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="0.0 to 1.0; other values are clamped. Below 0.3 the lesson becomes inactive, above 0.3 active."
        ),
    ] = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Change the text or the confidence of a lesson."""
    edited = await memory.edit(
        [memory_id], observation=observation, confidence=confidence, allow_secrets=allow_secrets
    )
    _tell_clamped(confidence)
    return _lessons(edited)


@command()
async def delete(memory: OperationalMemory, ids: Annotated[list[int], LESSON_ID]) -> Answer:
    """Delete lessons permanently: all of them, or none if an ID is unknown. There is no undo."""
    deleted = await memory.delete(ids)
    return Answer({"deleted": deleted}, f"deleted {', '.join(map(lesson_id, deleted))}")


def _tell_clamped(confidence: float | None) -> None:
    """Print a note on standard error if a confidence was clamped."""
    if confidence is not None and not 0.0 <= confidence <= 1.0:
        kept = format_confidence(clamp(confidence))
        typer.echo(f"note: confidence {confidence:g} was clamped to {kept}", err=True)


def _lessons(lessons: list[Lesson]) -> Answer:
    columns = ("id", "service", "category", "lesson", "confidence", "active", "updated (UTC)", "session")
    return listing(
        "memories",
        lessons,
        columns,
        _row,
        if_empty="No lessons.",
        document=partial(with_short_id, MemoryKind.LESSON),
    )


def _row(lesson: Lesson) -> tuple[object, ...]:
    active = "no" if not lesson.active else "flagged" if lesson.flags else "yes"
    head = (lesson_id(lesson.id), lesson.service or GENERAL, lesson.category, lesson.observation)
    return (*head, format_confidence(lesson.confidence), active, lesson.updated_at, lesson.session_id)
