"""``commonplace ops``: commands of operational memory."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from commonplace.cli.operational import run as ops_run
from commonplace.cli.operational.output import effect_line, receipt_line
from commonplace.cli.output import JsonOption, console, plain, print_json, table
from commonplace.cli.run import settings, use
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.text import plural
from commonplace.operational import (
    DEFAULT_CONFIDENCE,
    GENERAL,
    Memory,
    MemoryContext,
    MemoryFilter,
    OperationalMemory,
    Receipt,
    SessionReport,
    Sort,
    decide_after_session,
    format_confidence,
    require_category,
)

CHUNK_BYTES: Final = 1 << 16

T = TypeVar("T")

AllowSecrets = Annotated[bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")]
ServiceOption = Annotated[str | None, typer.Option("--service", help="Name of a service, or general.")]

app = typer.Typer(
    add_completion=False,
    help="Operational memory: lessons of a scheduled ops agent about its services.",
    no_args_is_help=True,
)
app.command("run")(ops_run.run_once)
app.command("watch")(ops_run.watch)


def _use(work: Callable[[OperationalMemory], Awaitable[T]]) -> T:
    return use(OperationalMemory.open(settings()), work)


async def read_chunks(source: str) -> AsyncGenerator[bytes]:
    """Yield a file, or standard input for ``-``, as it comes.

    Raises:
        InvalidInputError: The file does not exist or cannot be read.
    """
    try:
        with sys.stdin.buffer if source == "-" else Path(source).open("rb") as stream:  # noqa: ASYNC230 - a pipe or a local file, read by nothing else meanwhile
            while chunk := stream.read1(CHUNK_BYTES):  # type: ignore[union-attr]
                yield chunk
    except OSError as error:
        raise InvalidInputError("file", "a readable stream-json file, or -", f"{source}: {error}") from None


@app.command()
def ingest(
    source: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A stream-json transcript; - reads standard input.")
    ] = "-",
    *,
    tier: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=3,
            help="Tier of the session. Repeat it for the second session, the third, and so on.",
            show_default="1",
        ),
    ] = None,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Store the sessions of a transcript and print a receipt for every marker.

    Exit status 1 if a valid marker could not be stored. Run the same command again to store it.
    """
    out = console()

    def show(receipt: Receipt) -> None:
        if not as_json:
            out.print(receipt_line(receipt))

    async def work(memory: OperationalMemory) -> list[SessionReport]:
        reports = await memory.ingest(
            read_chunks(source), tiers=tier or [1], allow_secrets=allow_secrets, on_receipt=show
        )
        await decide_after_session(memory, settings())
        return reports

    reports = _use(work)
    if as_json:
        print_json({"sessions": reports})
    else:
        for report in reports:
            session, count = report.session, plural(len(report.receipts), "receipt")
            out.print(f"[bold]session {session.id}[/] tier {session.tier}: {session.status}, {count}")
        if not reports:
            out.print("The transcript holds no session.")
    failed = [receipt for report in reports for receipt in report.failed]
    if failed:
        raise StorageUnavailableError(
            f"{plural(len(failed), 'marker')} could not be stored: {failed[0].reason}; run the same command again"
        )


@app.command()
def context(
    *,
    budget: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="TOKENS",
            help="Size of the block.",
            show_default="CLAUDEOPS_MEMORY_BUDGET, else 2000",
        ),
    ] = None,
    service: Annotated[
        list[str] | None,
        typer.Option(
            help="A service that the session will check; its memories are chosen first. Repeatable."
        ),
    ] = None,
    decay: Annotated[bool, typer.Option(help="Run the staleness check first, as a session does.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Print the block for the next session's system prompt; print nothing if there are no memories."""

    async def work(memory: OperationalMemory) -> MemoryContext:
        if decay:
            await memory.run_decay()
        return await memory.context(budget_tokens=budget, services=service or [])

    block = _use(work)
    if as_json:
        print_json(block)
    elif block.text:
        typer.echo(block.text)


@app.command("decay")
def run_decay(*, as_json: JsonOption = False) -> None:
    """Run the staleness check: a memory loses 0.1 a week after 30 days without reinforcement.

    Each week is charged once, however often the check runs.
    """
    effects = _use(lambda memory: memory.run_decay())
    if as_json:
        print_json({"decayed": effects})
        return
    out = console()
    for effect in effects:
        out.print(effect_line(effect))
    out.print(f"{plural(len(effects), 'memory', 'memories')} decayed")


@app.command("list")
def list_memories(
    *,
    service: ServiceOption = None,
    category: Annotated[
        str | None, typer.Option(help="timing, dependency, behavior, remediation or maintenance.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="Text in the observation.")] = None,
    active: Annotated[
        bool | None, typer.Option("--active/--inactive", help="Only active or only inactive memories.")
    ] = None,
    sort: Annotated[
        Sort, typer.Option(help="service groups; confidence and recency put the highest first.")
    ] = "service",
    limit: Annotated[int, typer.Option(min=1, help="Largest number of memories.")] = 1_000_000,
    as_json: JsonOption = False,
) -> None:
    """Print memories, active and inactive ones."""
    general = service == GENERAL
    wanted = MemoryFilter(
        service=None if general else service,
        general=general,
        category=None if category is None else require_category(category),
        active=active,
        search=search,
        sort=sort,
        limit=limit,
    )
    _print_memories(_use(lambda memory: memory.list_memories(wanted)), as_json=as_json)


@app.command()
def add(
    observation: Annotated[str, typer.Argument(metavar="TEXT", help="The observation.")],
    *,
    category: Annotated[str, typer.Option(help="timing, dependency, behavior, remediation or maintenance.")],
    service: ServiceOption = None,
    confidence: Annotated[
        float, typer.Option(help="0.0 to 1.0; other values are clamped.")
    ] = DEFAULT_CONFIDENCE,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Add a memory by hand."""
    added = _use(
        lambda memory: memory.add(
            category=category,
            observation=observation,
            service=service,
            confidence=confidence,
            allow_secrets=allow_secrets,
        )
    )
    _print_memories([added], as_json=as_json)


@app.command()
def edit(
    memory_id: Annotated[int, typer.Argument(metavar="ID")],
    *,
    observation: Annotated[str | None, typer.Option(help="The new text; the confidence stays.")] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="0.0 to 1.0; below 0.3 the memory becomes inactive, above 0.3 active."),
    ] = None,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Change the text or the confidence of a memory."""
    changed = _use(
        lambda memory: memory.edit(
            [memory_id], observation=observation, confidence=confidence, allow_secrets=allow_secrets
        )
    )
    _print_memories(changed, as_json=as_json)


@app.command()
def delete(ids: Annotated[list[int], typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Delete memories permanently: all of them, or none if an id is unknown."""
    deleted = _use(lambda memory: memory.delete(ids))
    if as_json:
        print_json({"deleted": deleted})
    else:
        typer.echo(f"deleted {', '.join(f'#{memory_id}' for memory_id in deleted)}")


@app.command()
def wordings(memory_id: Annotated[int, typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Print every text by which a memory was ever known, with the number that `restore` takes."""
    found = _use(lambda memory: memory.wordings(memory_id))
    if as_json:
        print_json({"wordings": found})
        return
    rows = [(one.number, one.text, one.uses, f"{one.first_at:%Y-%m-%d %H:%M}") for one in found]
    console().print(table("number", "wording", "uses", "first (UTC)", rows=rows))


@app.command()
def restore(
    memory_id: Annotated[int, typer.Argument(metavar="ID")],
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="As `wordings` prints it.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Give a memory one of its wordings as its text; the confidence stays."""
    _print_memories([_use(lambda memory: memory.restore(memory_id, number))], as_json=as_json)


def _print_memories(found: list[Memory], *, as_json: bool) -> None:
    if as_json:
        print_json({"count": len(found), "memories": plain(found)})
        return
    rows = [
        (
            memory.id,
            memory.service or GENERAL,
            memory.category,
            memory.observation,
            format_confidence(memory.confidence),
            "yes" if memory.active else "no",
            f"{memory.updated_at:%Y-%m-%d %H:%M}",
            memory.session_id,
        )
        for memory in found
    ]
    columns = ("id", "service", "category", "observation", "confidence", "active", "updated (UTC)", "session")
    console().print(table(*columns, rows=rows) if rows else "No memories.")
