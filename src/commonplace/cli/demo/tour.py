"""``commonplace demo``: a tour of the memories on real input, in a home that is deleted afterwards."""

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
from commonplace.cli.checks import run_checks
from commonplace.cli.demo.knowledge import consolidate, know
from commonplace.cli.demo.step import step
from commonplace.cli.doctor import check_line
from commonplace.cli.operational.commands import effect_line
from commonplace.cli.output import console, shown, table
from commonplace.cli.run import run
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
from commonplace.workspace.memory import WorkspaceMemory

TRANSCRIPT: Final = "ops-sessions.jsonl"
CONVERSATION: Final = "conversation.json"
FACTS: Final = (
    ("User prefers pnpm over npm", "preference"),
    ("PostgreSQL 16 listens on port 5433 here, not 5432", "infra"),
    ("Staging deploys from the branch release/next, on Tuesdays", "deploy"),
    ("Integration tests need docker compose up first", "testing"),
)
SECRET: Final = "The deploy token is ghp_R4nd0mL00kingDemoT0kenR4nd0mL00king"  # noqa: S105 - made up, to be refused
MESSAGE: Final = "Which port does postgresql use, and how do I run the integration tests?"
AWAY_DAYS: Final = 44
app = typer.Typer(add_completion=False, help="Tour of the memories on real input; needs nothing.")


@app.command()
def demo() -> None:
    """Show each memory at work: on a recorded transcript, in a temporary home, in under a minute."""
    logging.getLogger().setLevel(logging.CRITICAL)  # the tour tells itself what is rejected
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as directory:
        root = Path(directory)
        (root / "workspace").mkdir()
        settings = Settings(home=root / "home", workspace=root / "workspace")
        try:
            run(_tour(console(), settings))
        finally:
            remove_cluster(settings.postgres_directory)


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
    await _examine(out, settings)
    _part(out)


async def _learn(out: Console, operational: OperationalMemory) -> None:
    step(
        out,
        1,
        "An ops agent ran three times; its transcript is read",
        "Its output holds markers such as [bold]\\[MEMORY:timing:jellyfin] Takes 60s to start[/]. Each gets a receipt.",
    )
    path = example_path(TRANSCRIPT)
    reports = await operational.ingest(_chunks(path), tiers=(1, 2, 3))
    receipts = [receipt for report in reports for receipt in report.receipts]
    rows = [_receipt_row(receipt) for receipt in receipts if receipt.kind is not ReceiptKind.EVENT]
    out.print(table("session", "what", "became", "text", "confidence", rows=rows))
    for receipt in receipts:
        if receipt.outcome is ReceiptOutcome.REINFORCED:
            out.print(f"[cyan]Said again in other words[/], so trusted more: {shown(receipt.reason)}")
        for effect in receipt.contradicted:
            out.print(f"[yellow]Contradicted[/], so trusted less: {effect_line(effect)}")
    lines = path.read_text(encoding="utf-8").count("\n")
    ignored = "A marker inside a file that the agent read was ignored: only what it says itself is learned."
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
        "What the next session's system prompt gets",
        "The most trusted memories within a budget of tokens, grouped by service.",
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
        f"{AWAY_DAYS} days later, nothing was confirmed",
        "After 30 days a memory loses 0.1 a week, each week once; below 0.3 it is kept, and no longer shown.",
    )
    clock.advance(days=AWAY_DAYS)
    effects = await operational.run_decay()
    again = await operational.run_decay()
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
    out.print(f"[dim]{len(effects)} memories faded; a second check moved {len(again)}.[/]")


async def _remember(out: Console, settings: Settings) -> None:
    step(
        out,
        4,
        "A coding agent keeps facts beside the code",
        "One line of JSON each in [bold].aegis/memory/memories.jsonl[/]; three tools, also over MCP.",
    )
    async with WorkspaceMemory.open(settings) as memory:
        for text, tag in FACTS:
            receipt = await memory.store(text, tags=[tag])
            out.print(f"memory_store → [green]{receipt.id}[/] {shown(text)}")
        try:
            await memory.store(SECRET)
        except SecretRefusedError as error:
            out.print(f"memory_store → [red]refused[/] {shown(str(error))}")
        out.print(f'\nThe user asks: [bold]"{MESSAGE}"[/] — the model call gets:')
        out.print(
            Panel(
                shown(await memory.context_block(MESSAGE)),
                title="after the system prompt",
                title_align="left",
            )
        )
        for relevance in await memory.explain(MESSAGE):
            words = ", ".join(sorted(relevance.words))
            out.print(f"[dim]{relevance.memory.id} scores {relevance.score:.2f} for: {shown(words)}[/]")


async def _digest(out: Console, settings: Settings) -> None:
    step(
        out,
        5,
        "A conversation with an app ends, and a digest of it is kept",
        "At most ten for each app. Without a model, sentences are picked out of it and never invented.",
    )
    document = json.loads(await asyncio.to_thread(example_path(CONVERSATION).read_text, "utf-8"))
    messages = [Message(role=one["role"], content=one["content"]) for one in document["messages"]]
    async with AppMemory.open(settings) as memory:
        await memory.registry.register("calendar", name="Calendar")
        receipt = await memory.ingest("calendar", document["conversation_id"], messages)
        told = "extractive" if receipt.extractive else "written by a model"
        out.print(f"{len(messages)} messages → [green]{receipt.outcome}[/] ({told})")
        context = await memory.context("calendar")
        out.print(Panel(shown(context.text), title="the next time", title_align="left", expand=False))


async def _examine(out: Console, settings: Settings) -> None:
    step(
        out,
        8,
        "Is everything here and working?",
        "The doctor tries each part: it writes, reads, searches and deletes.",
    )
    async for check in run_checks(settings):
        out.print(check_line(check))


def _part(out: Console) -> None:
    step(out, 9, "What to do next", "")
    rows = [
        (
            "commonplace ops ingest FILE",
            "learn from a transcript of your own: claude -p … --output-format stream-json",
        ),
        ("commonplace ops context", "print the block; give it to --append-system-prompt"),
        ("commonplace workspace store TEXT", "remember something about the directory you are in"),
        ("commonplace knowledge store-fact A B C", "keep a fact for every agent"),
        (
            "commonplace knowledge consolidate --preview",
            "see what a model would make of your episodes, and decide",
        ),
        ("commonplace install claude-code --dry-run", "see what it takes to give all this to Claude Code"),
        ("commonplace serve", "open the dashboard, REST and MCP over HTTP"),
        ("commonplace doctor", "check this machine"),
    ]
    out.print(table("command", "what it does", rows=rows))


def example_path(name: str) -> Path:
    """Return an example's file: of the installed package, or of the checkout that is being worked on."""
    package = Path(__file__).parents[2]
    installed = package / "examples" / name
    return installed if installed.exists() else package.parents[1] / "examples" / name


async def _chunks(path: Path) -> AsyncGenerator[bytes]:
    yield await asyncio.to_thread(path.read_bytes)
