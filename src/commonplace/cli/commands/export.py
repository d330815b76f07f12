"""``commonplace export``: memories as JSON Lines, as a table, as a folder of Markdown, or in the form of a host."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from commonplace.apps import AppMemory
from commonplace.cli.frame.change_report import change_report
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.export_target import written
from commonplace.cli.frame.output import TargetArgument
from commonplace.cli.frame.project_scope import scope_of_option
from commonplace.cli.frame.run import settings
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import OperationalMemory
from commonplace.services.mirrors.forms import MirrorForm
from commonplace.services.mirrors.mirroring import MirrorKeeper
from commonplace.services.mirrors.registry import Choice, Mirror, MirrorRegistry
from commonplace.services.mirrors.update import MirrorChange
from commonplace.services.transfer.exporting import export
from commonplace.workspace import WorkspaceMemory

app = typer.Typer(add_completion=False)


@commands(app)("export")
async def export_memories(
    target: TargetArgument,
    *,
    tenant: Annotated[str | None, typer.Option(help="Tenant whose knowledge memory is exported.")] = None,
    form: Annotated[
        MirrorForm | None,
        typer.Option(
            "--to", help="Keep facts and rules in TARGET, in the format of this host or as a vault."
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            help="With --to: the project whose memories are written, by id or name, or global.",
            show_default="the project of this directory",
        ),
    ] = None,
    stop: Annotated[
        bool, typer.Option("--stop", help="With --to: no longer keep TARGET up to date; its files stay.")
    ] = False,
    choice: Annotated[
        Choice | None,
        typer.Option(
            "--choose",
            help="With --to: what you pinned, also what you wrote or confirmed, or all facts and rules.",
            show_default="confirmed",
        ),
    ] = None,
) -> Answer:
    """Export all memories to JSON Lines, to a table in CSV, or to a folder of Markdown that people can edit.

    The export holds facts, rules, episodes, entities, digests, lessons and notes, with their times, their confidence
    and memories that were superseded. It omits forgotten memories. `commonplace import` reads it back and says what it
    cannot restore; `commonplace backup` keeps everything. An export that fails leaves no file.

    With --to, chosen facts and rules of one project are written in the format of a host, in files or lines of their
    own. Run it again to bring the folder up to date: a note that you edited changes its memory, and a note that
    you deleted becomes a question in `commonplace review`.
    """
    tenant_id = DEFAULT_TENANT if tenant is None else tenant
    if form is not None and stop:
        path = _folder(form, target)
        await asyncio.to_thread(MirrorRegistry(settings().home).remove, form, path)
        return Answer({"path": path, "form": form}, f"{path} is no longer kept up to date; its files stay")
    if form is not None:
        scope = scope_of_option(project)
        mirror = Mirror(
            form=form,
            path=_folder(form, target),
            scope=scope,
            choice=choice or Choice.CONFIRMED,
            tenant_id=tenant_id,
        )
        return await _mirrored(mirror)
    if project is not None or choice is not None or stop:
        raise InvalidInputError("--to", "a form of a host, beside --project, --choose and --stop", None)
    configured = settings()
    async with (
        KnowledgeMemory.open(configured, tenant_id=tenant_id) as knowledge,
        OperationalMemory.open(configured) as operational,
        WorkspaceMemory.open(configured) as workspace,
        AppMemory.open(configured) as apps,
    ):
        items = [item async for item in export(knowledge, operational, workspace, apps)]
    return written(items, target)


async def _mirrored(mirror: Mirror) -> Answer:
    """Bring a mirror up to date, and return what changed."""
    async with KnowledgeMemory.open(settings(), tenant_id=mirror.tenant_id) as knowledge:
        lines = await MirrorKeeper(MirrorRegistry(settings().home), knowledge).update(mirror)
    title = f"{mirror.path} ({mirror.form.value}, for {mirror.scope})"
    document = {"path": mirror.path, "form": mirror.form, "scope": mirror.scope}
    return change_report(title, MirrorChange, lines, document)


def _folder(form: MirrorForm, target: Path) -> Path:
    """Return the path of a mirror.

    Raises:
        InvalidInputError: It is no folder, and the form needs one.
    """
    path = (
        target.expanduser().resolve() if form is not MirrorForm.AGENTS_MD else target.expanduser().absolute()
    )
    is_file = path.exists() and not path.is_dir()
    if is_file and (form is not MirrorForm.AGENTS_MD or path.suffix.lower() != ".md"):
        expected = "a folder" if form is not MirrorForm.AGENTS_MD else "a folder, or a file that ends in .md"
        raise InvalidInputError("target", expected, str(target))
    return path
