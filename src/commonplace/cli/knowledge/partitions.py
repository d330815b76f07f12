"""``commonplace admin partitions``: large tenants get tables of their own."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.cli.knowledge.options import opened
from commonplace.knowledge import KnowledgeMemory, Partition

app = typer.Typer(help="Partitions that give large tenants their own tables.", no_args_is_help=True)
command = commands(app, lambda: opened())  # noqa: PLW0108 - without the option --tenant

_BYTES_PER_MB = 1_000_000


@command("list")
async def list_command(memory: KnowledgeMemory) -> Answer:
    """Print the partitions with their row counts, as the server last estimated them."""
    return _partitions(await memory.partitions.list())


@command()
async def prepare(memory: KnowledgeMemory) -> Answer:
    """Prepare the tables for partitions: each table of memories becomes the partition that all tenants share."""
    return _partitions(await memory.partitions.prepare())


@command()
async def isolate(
    memory: KnowledgeMemory,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The id of a tenant.")],
) -> Answer:
    """Move the memories of a large tenant to its own partitions; storing and searching continue meanwhile."""
    with Progress(TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("copying")
        found = await memory.partitions.isolate(
            tenant, on_copied=lambda rows: bar.update(task, description=f"copied {rows} rows")
        )
    return _partitions([found])


def _partitions(found: Sequence[Partition]) -> Answer:
    rows = [
        (
            each.tenant or "(all others)",
            each.episodes,
            each.facts,
            each.rules,
            f"{each.bytes / _BYTES_PER_MB:.1f}",
        )
        for each in found
    ]
    empty = "The tables have no partitions. Prepare them with: commonplace admin partitions prepare"
    return Answer(
        {"partitions": found},
        table("tenant", "episodes", "facts", "rules", "MB", rows=rows) if found else empty,
    )
