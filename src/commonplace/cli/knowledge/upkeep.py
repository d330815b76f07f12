"""The part of ``commonplace knowledge`` that looks after what is stored: feedback, forgetting, numbers, upkeep."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from commonplace.cli.knowledge.options import (
    TENANT,
    IdArgument,
    ScopeOption,
    TenantOption,
    TypeArgument,
    use,
)
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.knowledge.kinds import Rule
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.serialization import json_safe
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress

app = typer.Typer()

_T = TypeVar("_T")


@app.command()
def confirm(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Say that a fact or rule still holds; its decay starts over."""
    use(tenant, lambda memory: memory.confirm_memory(memory_type, memory_id))
    _say("confirmed", memory_type, memory_id, as_json=as_json)


@app.command()
def forget(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Take a memory out of every search and prompt; the audit trail keeps it."""
    use(tenant, lambda memory: memory.forget_memory(memory_type, memory_id))
    _say("forgot", memory_type, memory_id, as_json=as_json)


@app.command()
def helpful(rule_id: IdArgument, *, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Say that a rule was followed and helped."""
    _mark(tenant, rule_id, lambda memory: memory.mark_helpful(rule_id), as_json=as_json)


@app.command()
def harmful(
    rule_id: IdArgument,
    *,
    reason: Annotated[str | None, typer.Option(help="What went wrong.")] = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Say that a rule was followed and did harm, which weighs four times."""
    _mark(tenant, rule_id, lambda memory: memory.mark_harmful(rule_id, reason=reason), as_json=as_json)


@app.command()
def stats(*, scope: ScopeOption = None, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Count memories by their state."""
    counted = use(tenant, lambda memory: memory.stats(scope=scope))
    if as_json:
        print_json(counted)
        return
    rows = [
        (kind, state, _number(value)) for kind, states in counted.items() for state, value in states.items()
    ]
    console().print(table("what", "state", "number", rows=rows))


@app.command()
def cleanup(
    *,
    max_entries: Annotated[
        int | None,
        typer.Option(
            help="Most episodes to keep; those not yet consolidated stay.",
            show_default="episode_max_entries of the settings",
        ),
    ] = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Delete expired episodes, then the oldest consolidated ones beyond a number."""

    def run(memory: KnowledgeMemory, on_progress: OnUpkeep) -> Awaitable[dict[str, int]]:
        most = memory.database.settings.episode_max_entries if max_entries is None else max_entries
        return memory.run_episode_cleanup(max_entries=most, on_progress=on_progress)

    _report(_with_progress(tenant, run, as_json=as_json), as_json=as_json)


@app.command()
def sweep(*, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Let facts and rules that nobody confirmed fade, and in the end expire."""
    receipt = _with_progress(
        tenant,
        lambda memory, on_progress: memory.run_decay_sweep(on_progress=on_progress),
        as_json=as_json,
    )
    _report({name: getattr(receipt, name) for name in receipt.__slots__}, as_json=as_json)


def _with_progress(
    tenant: str, work: Callable[[KnowledgeMemory, OnUpkeep], Awaitable[_T]], *, as_json: bool
) -> _T:
    """Do some upkeep, and show on a terminal how far it is."""
    terminal = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    quiet = as_json or not terminal.is_terminal
    with Progress(*columns, console=terminal, transient=True, disable=quiet) as bar:
        task = bar.add_task("opening memory", total=None)

        def show(progress: UpkeepProgress) -> None:
            bar.update(task, description=f"{progress.step}: {progress.done:,}")

        return use(tenant, lambda memory: work(memory, show))


def _mark(
    tenant: str,
    rule_id: str,
    mark: Callable[[KnowledgeMemory], Awaitable[Rule]],
    *,
    as_json: bool,
) -> None:
    rule = use(tenant, mark)
    if as_json:
        print_json(json_safe(rule))
        return
    standing = f"effectiveness {rule.effectiveness_score:.2f} after {rule.applied_count}"
    typer.echo(f"rule {rule_id} is {rule.maturity}, {standing}")


def _say(done: str, memory_type: str, memory_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, "memory_type": memory_type, "id": memory_id})
    else:
        typer.echo(f"{done} {memory_type} {memory_id}")


def _report(numbers: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        print_json(numbers)
    else:
        console().print(
            table("what", "number", rows=[(name.replace("_", " "), n) for name, n in numbers.items()])
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{round(value, 2):g}"
