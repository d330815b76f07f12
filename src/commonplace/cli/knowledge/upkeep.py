"""The commands of ``commonplace knowledge`` that change single memories, and its upkeep."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import AllowSecrets, JsonOption, table
from commonplace.cli.knowledge.identity import current_id, document
from commonplace.cli.knowledge.options import IdArgument, ScopeOption, TenantOption, TypeArgument, opened
from commonplace.core.json_values import json_safe
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge import (
    CleanupReceipt,
    DecayReceipt,
    KnowledgeMemory,
    Memory,
    MemoryType,
    Rule,
    UpkeepProgress,
    short_id,
)


@dataclass(frozen=True, slots=True)
class _Upkeep:
    """An open memory, and a progress bar for work on it."""

    memory: KnowledgeMemory
    bar: Progress

    def show(self, progress: UpkeepProgress) -> None:
        """Show the progress."""
        self.bar.update(self.bar.task_ids[0], description=f"{progress.step}: {progress.done:,}")


@asynccontextmanager
async def _opened_with_progress(
    tenant: TenantOption = DEFAULT_TENANT,
    as_json: JsonOption = False,  # noqa: FBT002 - an option
) -> AsyncGenerator[_Upkeep]:
    terminal = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    quiet = as_json or not terminal.is_terminal
    with Progress(*columns, console=terminal, transient=True, disable=quiet) as bar:
        bar.add_task("opening memory", total=None)
        async with opened(tenant) as memory:
            yield _Upkeep(memory, bar)


app = typer.Typer()
command = commands(app, opened)
command_with_progress = commands(app, _opened_with_progress)


@command()
async def confirm(memory: KnowledgeMemory, memory_type: TypeArgument, memory_id: IdArgument) -> Answer:
    """Confirm that a fact or rule still holds; its decay restarts."""
    return _done(
        "confirmed", await memory.confirm(memory_type, await current_id(memory, memory_type, memory_id))
    )


@command(hidden=True)
async def edit(
    memory: KnowledgeMemory,
    memory_type: TypeArgument,
    memory_id: IdArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new text.")],
    *,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Give a fact or rule of a tenant another text, as `commonplace edit` does."""
    key = await current_id(memory, memory_type, memory_id)
    edited = document(await memory.edit(memory_type, key, text, allow_secrets=allow_secrets))
    return Answer(edited, f"edited: {memory_type} {edited['short_id']}")


@command()
async def forget(memory: KnowledgeMemory, memory_type: TypeArgument, memory_id: IdArgument) -> Answer:
    """Remove an episode, fact or rule from searches and prompts; the audit trail keeps it."""
    return _done("forgot", await memory.forget(memory_type, await current_id(memory, memory_type, memory_id)))


@command()
async def helpful(memory: KnowledgeMemory, rule_id: IdArgument) -> Answer:
    """Record that a rule was followed and helped."""
    return _standing(await memory.mark_helpful(await current_id(memory, MemoryType.RULE, rule_id)))


@command()
async def harmful(
    memory: KnowledgeMemory,
    rule_id: IdArgument,
    *,
    reason: Annotated[str | None, typer.Option(help="The harm that the rule did.")] = None,
) -> Answer:
    """Record that a rule was followed and did harm. Harm counts four times as much as help."""
    key = await current_id(memory, MemoryType.RULE, rule_id)
    return _standing(await memory.mark_harmful(key, reason=reason))


@command()
async def stats(memory: KnowledgeMemory, *, scope: ScopeOption = None) -> Answer:
    """Count episodes, facts and rules by state."""
    counted = await memory.stats(scope=scope)
    rows = [
        (kind, state, "" if value is None else f"{round(value, 2):g}")
        for kind, states in json_safe(counted).items()
        for state, value in states.items()
    ]
    return Answer(counted, table("memories", "state", "number", rows=rows))


@command_with_progress()
async def cleanup(
    upkeep: _Upkeep,
    *,
    max_entries: Annotated[
        int | None,
        typer.Option(
            help="The number of episodes to keep. Unconsolidated episodes always stay.",
            show_default="episode_max_entries of the settings",
        ),
    ] = None,
) -> Answer:
    """Delete expired episodes, then the oldest consolidated episodes above a limit."""
    return _counts(await upkeep.memory.upkeep.cleanup(max_entries=max_entries, on_progress=upkeep.show))


@command_with_progress()
async def sweep(upkeep: _Upkeep) -> Answer:
    """Fade unconfirmed facts and rules, and finally expire them."""
    return _counts(await upkeep.memory.upkeep.sweep(on_progress=upkeep.show))


def _standing(rule: Rule) -> Answer:
    standing = f"effectiveness {rule.effectiveness_score:.2f} after {rule.applied_count}"
    fields = document(rule)
    return Answer(fields, f"rule {fields['short_id']} is {rule.maturity}, {standing}")


def _done(done: str, memory: Memory) -> Answer:
    kind, name = memory.memory_type, short_id(memory.memory_type, memory.id)
    receipt = {"ok": True, "memory_type": kind, "id": memory.id, "short_id": name}
    return Answer(receipt, f"{done} {kind} {name}")


def _counts(receipt: CleanupReceipt | DecayReceipt) -> Answer:
    rows = [(name.replace("_", " "), number) for name, number in json_safe(receipt).items()]
    return Answer(receipt, table("memories", "number", rows=rows))
