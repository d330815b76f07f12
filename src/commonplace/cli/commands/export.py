"""``commonplace export``: memories as JSON Lines, as a table, or as a folder of Markdown."""

from typing import Annotated

import typer

from commonplace.apps import AppMemory
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
    """Export all memories to JSON Lines, to a table in CSV, or to a folder of Markdown that people can edit.

    The export holds facts, rules, episodes, entities, digests, lessons and notes, with their times, their confidence
    and memories that were superseded. It omits forgotten memories. `commonplace import` reads it back and says what it
    cannot restore; `commonplace backup` keeps everything. An export that fails leaves no file.
    """
    configured = settings()
    tenant_id = DEFAULT_TENANT if tenant is None else tenant
    async with (
        KnowledgeMemory.open(configured, tenant_id=tenant_id) as knowledge,
        OperationalMemory.open(configured) as operational,
        WorkspaceMemory.open(configured) as workspace,
        AppMemory.open(configured) as apps,
    ):
        items = [item async for item in export(knowledge, operational, workspace, apps)]
    return written(items, target)
