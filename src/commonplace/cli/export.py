"""``commonplace export``: memories as JSON Lines, or as a folder of Markdown."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.command import Answer, commands
from commonplace.cli.run import settings
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import OperationalMemory
from commonplace.portability import jsonl, markdown
from commonplace.portability.exporting import export
from commonplace.portability.items import Item
from commonplace.workspace import WorkspaceMemory

app = typer.Typer(add_completion=False)


@commands(app)("export")
async def export_memories(
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="A new .jsonl file, or a new folder for Markdown; - prints."),
    ],
    *,
    tenant: Annotated[str | None, typer.Option(help="Tenant whose knowledge memory is exported.")] = None,
) -> Answer:
    """Write the memories that can be found to JSON Lines, or to a folder of Markdown that people can edit.

    Knowledge, operational and workspace memory are exported; `commonplace apps export` does it for an app. Times,
    confidence and history stay behind: `commonplace backup` keeps everything.
    """
    configured = settings()
    async with (
        KnowledgeMemory.open(configured) as knowledge,
        OperationalMemory.open(configured) as operational,
        WorkspaceMemory.open(configured) as workspace,
    ):
        acting = knowledge if tenant is None else knowledge.acting_for(tenant_id=tenant, actor="operator")
        items = [item async for item in export(acting, operational, workspace)]
    if str(target) == "-":
        return Answer({"count": len(items)}, "\n".join(jsonl.lines(items)))
    try:
        _write(items, target)
    except OSError as error:
        raise StorageUnavailableError(f"{target}: {error.strerror or error}") from error
    return Answer({"count": len(items), "target": target}, f"{plural(len(items), 'item')} in {target}")


def _write(items: Iterable[Item], target: Path) -> None:
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError("target", "a path where nothing exists", str(target))
    if target.suffix == ".jsonl":
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in jsonl.lines(items))
    else:
        target.mkdir(mode=0o700, exist_ok=True)
        markdown.write(items, target)
