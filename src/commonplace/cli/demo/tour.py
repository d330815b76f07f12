"""``commonplace demo``: a tour of the memories with real input, in a temporary home."""

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.panel import Panel

from commonplace.apps import AppMemory, Message
from commonplace.cli.commands.checks import run_checks
from commonplace.cli.commands.doctor import check_line
from commonplace.cli.demo.knowledge import consolidate, know
from commonplace.cli.demo.step import step
from commonplace.cli.demo.sync import SECOND, sync_homes
from commonplace.cli.frame.output import console, shown, table
from commonplace.cli.frame.run import run
from commonplace.cli.operational.commands import effect_line
from commonplace.core.clock import ManualClock
from commonplace.core.errors import SecretRefusedError
from commonplace.core.settings import Settings
from commonplace.operational import (
    GENERAL,
    OperationalMemory,
    Receipt,
    ReceiptKind,
    ReceiptOutcome,
    format_confidence,
)
from commonplace.storage.embedded import remove_cluster
from commonplace.workspace import WorkspaceMemory

TRANSCRIPT: Final = "ops-sessions.jsonl"
CONVERSATION: Final = "conversation.json"
NOTES: Final = (
    ("User prefers pnpm over npm", "preference"),
    ("PostgreSQL 16 listens on port 5433 here, not 5432", "infra"),
    ("Staging deploys from the branch release/next, on Tuesdays", "deploy"),
    ("Integration tests need docker compose up first", "testing"),
)
SECRET: Final = "The deploy token is ghp_R4nd0mL00kingDemoT0kenR4nd0mL00king"  # noqa: S105 - made up, to be refused
MESSAGE: Final = "Which port does postgresql use, and how do I run the integration tests?"
AWAY_DAYS: Final = 44
app = typer.Typer(add_completion=False)


@app.command()
def demo() -> None:
    """Show each memory at work on recorded input, in a temporary home, in under a minute."""
    logging.getLogger().setLevel(logging.CRITICAL)  # the tour shows rejected markers itself
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as directory:
        root = Path(directory)
        (root / "workspace").mkdir()
        settings = Settings(home=root / "home", workspace=root / "workspace")
        try:
            run(_tour(console(), settings))
        finally:
            for home in (settings.home, root / SECOND):
                remove_cluster(Settings(home=home, workspace=root).postgres_directory)


async def _tour(out: Console, settings: Settings) -> None:
    clock = ManualClock(datetime(2026, 3, 1, 6, 0, tzinfo=UTC))
    async with OperationalMemory.open(settings, clock=clock) as operational:
        await _learn(out, operational)
        await _brief(out, operational)
        await _forget(out, operational, clock)
    await _remember(out, settings)
    await _digest(out, settings)
    await know(out, settings)
    await consolidate(out, settings)
    await sync_homes(out, settings, 8)
    await _examine(out, settings)
    _part(out)


async def _learn(out: Console, operational: OperationalMemory) -> None:
    step(
        out,
        1,
        "Operational memory reads the transcript of three agent sessions",
        "The agent prints markers such as [bold]\\[MEMORY:timing:jellyfin] Takes 60s to start[/]. Each gets a receipt.",
    )
    path = example_path(TRANSCRIPT)
    reports = await operational.ingest(_chunks(path), tiers=(1, 2, 3))
    receipts = [receipt for report in reports for receipt in report.receipts]
    rows = [_receipt_row(receipt) for receipt in receipts if receipt.kind is not ReceiptKind.EVENT]
    out.print(table("session", "marker", "outcome", "text", "confidence", rows=rows))
    for receipt in receipts:
        if receipt.outcome is ReceiptOutcome.REINFORCED:
            out.print(f"[cyan]Reinforced[/] by a paraphrase: {shown(receipt.reason)}")
        for effect in receipt.contradicted:
            out.print(f"[yellow]Contradicted[/] by a new observation: {effect_line(effect)}")
    lines = path.read_text(encoding="utf-8").count("\n")
    ignored = "A marker inside a file that the agent read was ignored: only the agent's own text counts."
    out.print(
        f"[dim]{lines} lines of stream-json, {len(reports)} sessions, {len(receipts)} receipts. {ignored}[/]"
    )


def _receipt_row(receipt: Receipt) -> tuple[object, ...]:
    about = ":".join(part for part in (receipt.category, receipt.service) if part)
    confidence = "" if receipt.confidence is None else format_confidence(receipt.confidence)
    rejected = receipt.outcome is ReceiptOutcome.REJECTED
    text = f"{receipt.reason}" if rejected else receipt.text
    return receipt.session, f"{receipt.kind} {about}", receipt.outcome, text, confidence


async def _brief(out: Console, operational: OperationalMemory) -> None:
    step(
        out,
        2,
        "The next session's system prompt gets a block of memories",
        "The most trusted memories within a token budget, grouped by service.",
    )
    block = await operational.context()
    out.print(Panel(shown(block.text), title="--append-system-prompt", title_align="left", expand=False))
    small = await operational.context(budget_tokens=120)
    header = small.text.splitlines()[0]
    out.print(f"With 120 tokens instead of {block.budget_tokens}: [bold]{shown(header)}[/]")


async def _forget(out: Console, operational: OperationalMemory, clock: ManualClock) -> None:
    step(
        out,
        3,
        f"{AWAY_DAYS} days without reinforcement lower the confidence",
        "After 30 days a memory loses 0.1 per week. Below 0.3 it stays stored, but is no longer shown.",
    )
    clock.advance(days=AWAY_DAYS)
    effects = await operational.upkeep.decay()
    again = await operational.upkeep.decay()
    memories = {memory.id: memory for memory in await operational.list_memories()}
    rows = [
        (
            memories[effect.memory_id].service or GENERAL,
            effect.observation,
            f"{format_confidence(effect.confidence_before)} → {format_confidence(effect.confidence_after)}",
        )
        for effect in sorted(effects, key=lambda one: -one.confidence_after)[:4]
    ]
    out.print(table("service", "observation", "confidence", rows=rows))
    out.print(f"[dim]{len(effects)} memories lost confidence; a second check changed {len(again)}.[/]")


async def _remember(out: Console, settings: Settings) -> None:
    step(
        out,
        4,
        "Workspace memory stores notes beside the code",
        "Each note is a line in [bold].aegis/memory/memories.jsonl[/]. Agents use three tools, directly or over MCP.",
    )
    async with WorkspaceMemory.open(settings) as memory:
        for text, tag in NOTES:
            receipt = await memory.store(text, tags=[tag])
            out.print(f"memory_store → [green]{receipt.id}[/] {shown(text)}")
        try:
            await memory.store(SECRET)
        except SecretRefusedError as error:
            out.print(f"memory_store → [red]refused[/] {shown(str(error))}")
        out.print(f'\nThe user asks: [bold]"{MESSAGE}"[/] The model call gets:')
        out.print(
            Panel(
                shown(await memory.context(MESSAGE)),
                title="after the system prompt",
                title_align="left",
            )
        )
        for relevance in await memory.explain(MESSAGE):
            words = ", ".join(sorted(relevance.words))
            out.print(
                f"[dim]{relevance.memory.id} scores {relevance.score:.2f} for the words: {shown(words)}[/]"
            )


async def _digest(out: Console, settings: Settings) -> None:
    step(
        out,
        5,
        "App memory stores a digest of each ended conversation",
        "Each app has at most ten digests. Without a model, a digest consists of sentences from the conversation.",
    )
    document = json.loads(await asyncio.to_thread(example_path(CONVERSATION).read_text, "utf-8"))
    messages = [Message(role=one["role"], content=one["content"]) for one in document["messages"]]
    async with AppMemory.open(settings) as memory:
        await memory.registry.register("calendar", name="Calendar")
        receipt = await memory.ingest("calendar", document["conversation_id"], messages)
        told = "extractive" if receipt.extractive else "written by a model"
        out.print(f"{len(messages)} messages → [green]{receipt.outcome}[/] ({told})")
        context = await memory.context("calendar")
        out.print(Panel(shown(context.text), title="the next conversation", title_align="left", expand=False))


async def _examine(out: Console, settings: Settings) -> None:
    step(
        out,
        9,
        "The doctor checks every part",
        "In each part, the doctor writes, reads, searches and deletes.",
    )
    async for check in run_checks(settings):
        out.print(check_line(check))


def _part(out: Console) -> None:
    step(out, 10, "Next steps", "")
    rows = [
        (
            "commonplace ops ingest FILE",
            "read your own transcript: claude -p … --output-format stream-json",
        ),
        ("commonplace ops context", "print the block for --append-system-prompt"),
        ("commonplace add note TEXT", "store a note about the current directory"),
        ("commonplace add fact SUBJECT PREDICATE TEXT", "store a fact for every agent"),
        (
            "commonplace knowledge consolidate --preview",
            "review the facts that a model derives from your episodes",
        ),
        ("commonplace sync init TARGET", "share your memories with your other devices"),
        ("commonplace install claude-code --dry-run", "show how to connect Claude Code"),
        ("commonplace serve", "open the dashboard, REST and MCP over HTTP"),
        ("commonplace doctor", "check this machine"),
    ]
    out.print(table("command", "description", rows=rows))


def example_path(name: str) -> Path:
    """Return the path of an example in the installed package or in the checkout."""
    package = Path(__file__).parents[2]
    installed = package / "examples" / name
    return installed if installed.exists() else package.parents[1] / "examples" / name


async def _chunks(path: Path) -> AsyncGenerator[bytes]:
    yield await asyncio.to_thread(path.read_bytes)
