"""``commonplace export``: memories as JSON Lines, or as a folder of Markdown."""

from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.export_target import written
from commonplace.cli.frame.output import TargetArgument
from commonplace.cli.frame.run import settings
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import OperationalMemory
from commonplace.services.transfer.exporting import export
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
