"""The commands of ``commonplace knowledge`` that change single memories, and its upkeep."""

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
from commonplace.cli.output import JsonOption, console, plain, print_json, table
from commonplace.knowledge import (
    CleanupReceipt,
    DecayReceipt,
    KnowledgeMemory,
    OnUpkeep,
    Rule,
    UpkeepProgress,
    json_safe,
)

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
    """Confirm that a fact or rule still holds; its decay restarts."""
    use(tenant, lambda memory: memory.confirm_memory(memory_type, memory_id))
    _say("confirmed", memory_type, memory_id, as_json=as_json)


@app.command()
def pin(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Show a fact or rule in every prompt's block; this adds the tag pinned."""
    use(tenant, lambda memory: memory.pin_memory(memory_type, memory_id))
    _say("pinned", memory_type, memory_id, as_json=as_json)


@app.command()
def unpin(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Show a fact or rule only where it is relevant; this removes the tag pinned."""
    use(tenant, lambda memory: memory.pin_memory(memory_type, memory_id, pinned=False))
    _say("unpinned", memory_type, memory_id, as_json=as_json)


@app.command()
def forget(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Remove a memory from every search and prompt; the audit trail keeps it."""
    use(tenant, lambda memory: memory.forget_memory(memory_type, memory_id))
    _say("forgot", memory_type, memory_id, as_json=as_json)


@app.command()
def helpful(rule_id: IdArgument, *, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Record that a rule was followed and helped."""
    _mark(tenant, rule_id, lambda memory: memory.mark_helpful(rule_id), as_json=as_json)


@app.command()
def harmful(
    rule_id: IdArgument,
    *,
    reason: Annotated[str | None, typer.Option(help="What went wrong.")] = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Record that a rule was followed and did harm, which counts four times."""
    _mark(tenant, rule_id, lambda memory: memory.mark_harmful(rule_id, reason=reason), as_json=as_json)


@app.command()
def stats(*, scope: ScopeOption = None, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Count memories by state."""
    counted = use(tenant, lambda memory: memory.stats(scope=scope))
    if as_json:
        print_json(counted)
        return
    rows = [
        (kind, state, "" if value is None else f"{round(value, 2):g}")
        for kind, states in plain(counted).items()
        for state, value in states.items()
    ]
    console().print(table("memories", "state", "number", rows=rows))


@app.command()
def cleanup(
    *,
    max_entries: Annotated[
        int | None,
        typer.Option(
            help="The number of episodes to keep; unconsolidated episodes stay.",
            show_default="episode_max_entries of the settings",
        ),
    ] = None,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Delete expired episodes, then the oldest consolidated episodes over a limit."""
    receipt = _with_progress(
        tenant,
        lambda memory, on_progress: memory.run_episode_cleanup(
            max_entries=max_entries, on_progress=on_progress
        ),
        as_json=as_json,
    )
    _report(receipt, as_json=as_json)


@app.command()
def sweep(*, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Fade unconfirmed facts and rules, and in the end expire them."""
    receipt = _with_progress(
        tenant,
        lambda memory, on_progress: memory.run_decay_sweep(on_progress=on_progress),
        as_json=as_json,
    )
    _report(receipt, as_json=as_json)


def _with_progress(
    tenant: str, work: Callable[[KnowledgeMemory, OnUpkeep], Awaitable[_T]], *, as_json: bool
) -> _T:
    """Do some upkeep, and show its progress on a terminal."""
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


def _report(receipt: CleanupReceipt | DecayReceipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
    else:
        rows = [(name.replace("_", " "), number) for name, number in plain(receipt).items()]
        console().print(table("memories", "number", rows=rows))
