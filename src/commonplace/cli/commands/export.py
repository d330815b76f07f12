"""``commonplace export``: memories as JSON Lines, or as a folder of Markdown."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import TargetArgument
from commonplace.cli.frame.run import settings
from commonplace.core.atomic_write import draft_of
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import OperationalMemory
from commonplace.services.transfer import jsonl, markdown
from commonplace.services.transfer.exporting import export
from commonplace.services.transfer.items import Item
from commonplace.workspace import WorkspaceMemory

app = typer.Typer(add_completion=False)


@commands(app)("export")
async def export_memories(
    target: TargetArgument,
    *,
    tenant: Annotated[str | None, typer.Option(help="Tenant whose knowledge memory is exported.")] = None,
) -> Answer:
    """Export all searchable memories to JSON Lines, or to a folder of Markdown that people can edit.

    The export holds knowledge, operational and workspace memory; for an app, run `commonplace apps export`. The export
    omits times, confidence and history; `commonplace backup` keeps everything. An export that fails leaves no file.
    """
    configured = settings()
    tenant_id = DEFAULT_TENANT if tenant is None else tenant
    async with (
        KnowledgeMemory.open(configured, tenant_id=tenant_id) as knowledge,
        OperationalMemory.open(configured) as operational,
        WorkspaceMemory.open(configured) as workspace,
    ):
        items = [item async for item in export(knowledge, operational, workspace)]
    return written(items, target)


def written(items: Sequence[Item], target: Path) -> Answer:
    """Write or print items, and return their number.

    Raises:
        InvalidInputError: The target already exists.
        StorageUnavailableError: The items cannot be written.
    """
    if str(target) == "-":
        return Answer({"count": len(items)}, "\n".join(jsonl.lines(items)))
    try:
        write(items, target.absolute())
    except OSError as error:
        raise StorageUnavailableError(f"{target}: {error.strerror or error}") from error
    return Answer({"count": len(items), "target": target}, f"{plural(len(items), 'item')} in {target}")


def write(items: Iterable[Item], target: Path) -> None:
    """Write items to a new JSON Lines file or to a new or empty folder.

    Raises:
        InvalidInputError: The target already exists.
        OSError: The items cannot be written; nothing is left of them.
    """
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError("target", "a path where nothing exists", str(target))
    if target.suffix == ".jsonl":
        with draft_of(target) as file:
            file.writelines(f"{line}\n".encode() for line in jsonl.lines(items))
        return
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        markdown.write(items, staging)
        if (
            target.is_dir()
        ):  # The directory itself stays, because a shell may be in it, or a disk mounted on it.
            for folder in staging.iterdir():
                shutil.move(folder, target)
            staging.rmdir()
        else:
            staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
