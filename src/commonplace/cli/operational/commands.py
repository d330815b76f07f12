"""``commonplace ops``: operational memory."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Final

import typer

from commonplace.cli.operational import run as ops_run
from commonplace.cli.operational.output import effect_line, receipt_line
from commonplace.cli.output import JsonOption, console, plain, print_json, table
from commonplace.cli.run import run, settings
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.operational.context import GENERAL, MemoryContext, format_confidence
from commonplace.operational.lifecycle import Effect
from commonplace.operational.memories import Memory, MemoryFilter, Sort, Wording
from commonplace.operational.memory import OperationalMemory, require_category
from commonplace.operational.model_reviews import decide_after_session
from commonplace.operational.receipts import Receipt, ReceiptOutcome, SessionReport

CHUNK_BYTES: Final = 1 << 16

AllowSecrets = Annotated[bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")]
ServiceOption = Annotated[str | None, typer.Option("--service", help="Name of a service, or general.")]

app = typer.Typer(
    add_completion=False,
    help="Operational memory: what a scheduled ops agent learned about its services.",
    no_args_is_help=True,
)
app.command("run")(ops_run.run_once)
app.command("watch")(ops_run.watch)


async def read_chunks(source: str) -> AsyncGenerator[bytes]:
    """Yield a file, or standard input for ``-``, as it comes.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
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
            help="Tier of the session; given more than once, of the first, second, ….",
            show_default="1",
        ),
    ] = None,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Store what a transcript holds, and print a receipt for every marker.

    Exit status 1 if anything that was acceptable could not be stored; reading the transcript again stores it.
    """
    out = console()

    def show(receipt: Receipt) -> None:
        if not as_json:
            out.print(receipt_line(receipt))

    async def work() -> list[SessionReport]:
        async with OperationalMemory.open(settings()) as memory:
            reports = await memory.ingest(
                read_chunks(source), tiers=tier or [1], allow_secrets=allow_secrets, on_receipt=show
            )
            await decide_after_session(memory, settings())
            return reports

    reports = run(work())
    if as_json:
        print_json({"sessions": reports})
    else:
        for report in reports:
            session = report.session
            out.print(
                f"[bold]session {session.id}[/] tier {session.tier}: {session.status}, {len(report.receipts)} receipts"
            )
        if not reports:
            out.print("no session in the transcript")
    failed = [
        receipt
        for report in reports
        for receipt in report.receipts
        if receipt.outcome is ReceiptOutcome.FAILED
    ]
    if failed:
        raise StorageUnavailableError(
            f"{len(failed)} could not be stored: {failed[0].reason}; run the same command again"
        )


@app.command()
def context(
    *,
    budget: Annotated[
        int | None,
        typer.Option(min=0, help="Tokens for the block.", show_default="CLAUDEOPS_MEMORY_BUDGET, else 2000"),
    ] = None,
    service: Annotated[
        list[str] | None,
        typer.Option(help="A service that the session will check; its memories are chosen first."),
    ] = None,
    decay: Annotated[
        bool, typer.Option(help="Run the staleness check first, as a session's start does.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Print the block for the next session's system prompt; nothing where there is nothing to tell."""

    async def work() -> MemoryContext:
        async with OperationalMemory.open(settings()) as memory:
            if decay:
                await memory.run_decay()
            return await memory.build_memory_context(budget_tokens=budget, services=service or [])

    block = run(work())
    if as_json:
        print_json(block)
    elif block.text:
        typer.echo(block.text)


@app.command("decay")
def run_decay(*, as_json: JsonOption = False) -> None:
    """Run the staleness check: 0.1 a week for what nobody reinforced for 30 days; each week is charged once."""

    async def work() -> list[Effect]:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.run_decay()

    effects = run(work())
    if as_json:
        print_json({"decayed": effects})
        return
    out = console()
    for effect in effects:
        out.print(effect_line(effect))
    out.print(f"{len(effects)} decayed")


@app.command("list")
def list_memories(
    *,
    service: ServiceOption = None,
    category: Annotated[str | None, typer.Option(help="One of the five categories.")] = None,
    search: Annotated[str | None, typer.Option(help="Text that the observation holds.")] = None,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Only these.")] = None,
    sort: Annotated[Sort, typer.Option(help="service groups; confidence and recency rank.")] = "service",
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 1_000_000,
    as_json: JsonOption = False,
) -> None:
    """Print memories, the inactive ones too."""
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

    async def work() -> list[Memory]:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.list_memories(wanted)

    _print_memories(run(work()), as_json=as_json)


@app.command()
def add(
    observation: Annotated[str, typer.Argument(metavar="TEXT", help="What is known.")],
    *,
    category: Annotated[str, typer.Option(help="timing, dependency, behavior, remediation or maintenance.")],
    service: ServiceOption = None,
    confidence: Annotated[float, typer.Option(help="0.0 to 1.0; beyond is clamped.")] = 0.7,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Add a memory by hand."""

    async def work() -> Memory:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.add(
                category=category,
                observation=observation,
                service=service,
                confidence=confidence,
                allow_secrets=allow_secrets,
            )

    _print_memories([run(work())], as_json=as_json)


@app.command()
def edit(
    memory_id: Annotated[int, typer.Argument(metavar="ID")],
    *,
    observation: Annotated[str | None, typer.Option(help="The new text; confidence stays.")] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Below 0.3 makes inactive, above 0.3 active; beyond 0.0 to 1.0 is clamped."),
    ] = None,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Change the text or the confidence of a memory."""

    async def work() -> list[Memory]:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.edit(
                [memory_id], observation=observation, confidence=confidence, allow_secrets=allow_secrets
            )

    _print_memories(run(work()), as_json=as_json)


@app.command()
def delete(ids: Annotated[list[int], typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Remove memories for good; all of them, or none where one id is unknown."""

    async def work() -> list[int]:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.delete(ids)

    deleted = run(work())
    if as_json:
        print_json({"deleted": deleted})
    else:
        typer.echo(f"deleted {', '.join(f'#{memory_id}' for memory_id in deleted)}")


@app.command()
def wordings(memory_id: Annotated[int, typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Print every text by which a memory was ever known, with the number that `restore` takes."""

    async def work() -> list[Wording]:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.wordings(memory_id)

    found = run(work())
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

    async def work() -> Memory:
        async with OperationalMemory.open(settings()) as memory:
            return await memory.restore(memory_id, number)

    _print_memories([run(work())], as_json=as_json)


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
    console().print(table(*columns, rows=rows) if rows else "no memories")
