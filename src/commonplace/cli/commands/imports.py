"""``commonplace import``: memories from an export, or from another program."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from commonplace.apps import AppMemory
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import AllowSecrets, table
from commonplace.cli.frame.run import settings
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.sources import Source as Trust
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge import GLOBAL_SCOPE, EpisodeDraft, FactDraft, KnowledgeMemory, RuleDraft
from commonplace.operational import OperationalMemory
from commonplace.projects import Projects
from commonplace.services.transfer.importers import ImportSource, read_source, source_of
from commonplace.services.transfer.importing import Imported, Importer, ItemOutcome, counts
from commonplace.services.transfer.items import Item, PastItem, Read, Unreadable
from commonplace.storage.backup.archive import disk_errors
from commonplace.workspace import WorkspaceMemory

app = typer.Typer(add_completion=False)

TEXT_CHARS = 80
_EXPLAINED = frozenset({ItemOutcome.REFUSED, ItemOutcome.REWORDED})
"""Outcomes of which an import says why."""

NOT_KEPT = (
    "Past memories were not stored, and facts and rules begin with new ids, confidence and use. To keep them, "
    "use `commonplace backup` and `commonplace restore`."
)


@commands(app)("import")
async def import_memories(
    path: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A file or folder from an export or another program.")
    ],
    *,
    source: Annotated[
        ImportSource | None,
        typer.Option("--from", help="The format of the source. Default: detected from its contents."),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(help="The scope for facts and rules that would otherwise be global, such as a butler."),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Id or name of a project that is used as their scope.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that gets the memories.")] = None,
    keep_sources: Annotated[
        bool,
        typer.Option(
            "--keep-sources", help="Keep the sources that the items name. Use this only for your own exports."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the outcome of each item; store nothing.")
    ] = False,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Import memories from an export or another program. Memories that already exist stay unchanged.

    An import can be repeated. A fact with the subject and predicate of an existing fact and another text replaces that
    fact, which stays as superseded. If the existing fact is more trusted, the new fact is held until you decide with
    commonplace review. An item that says in other words what an existing memory says is not stored. Imported memories
    get the source "import"; with --keep-sources, they keep the sources in the file. Text that looks like a secret is
    refused. Exit status 1 if an item was refused.

    From an export, digests and the confidence of lessons come back as they were. Memories that were no longer current
    are counted and not stored. Facts and rules keep the time of their last confirmation, and begin with new ids,
    confidence and use; to keep these, use commonplace backup and restore.
    """
    configured = settings()
    if project is not None:
        scope = _scope_of(Projects(configured.home), project, scope)
    found = source_of(path, source)
    with disk_errors(path):
        items = [_sourced(item) for item in _scoped(read_source(found, path, configured.zone), scope)]
    if not items:
        return replace(
            _answer(found, [], dry_run=dry_run),
            text="",
            error=f"{path}: found nothing to import. The file was read as {found}; use --from for another format",
        )
    tenant_id = DEFAULT_TENANT if tenant is None else tenant
    trust = Trust.PERSON if keep_sources else Trust.IMPORT
    async with (
        KnowledgeMemory.open(configured, tenant_id=tenant_id, source=trust) as knowledge,
        OperationalMemory.open(configured) as operational,
        WorkspaceMemory.open(configured) as workspace,
        AppMemory.open(configured) as apps,
    ):
        importer = Importer(knowledge, operational, workspace, apps, allow_secrets=allow_secrets)
        done = await importer.plan(items)
        if not dry_run:
            done = await importer.store(done)
    return _answer(found, done, dry_run=dry_run)


def _scope_of(projects: Projects, project: str, scope: str | None) -> str:
    if scope is not None:
        raise InvalidInputError("--scope", "no scope beside --project", scope)
    return projects.scope_of(project)


def _scoped(items: Read, scope: str | None) -> Read:
    for item in items:
        is_global = isinstance(item, FactDraft | RuleDraft) and item.scope == GLOBAL_SCOPE
        yield replace(item, scope=scope) if scope is not None and is_global else item


def _sourced(item: Item | PastItem | Unreadable) -> Item | PastItem | Unreadable:
    """Return an item with a source: that of an import, unless it names another one."""
    is_sourced = isinstance(item, FactDraft | RuleDraft | EpisodeDraft)
    return replace(item, source=item.source or Trust.IMPORT) if is_sourced else item


def _text(done: Imported) -> str:
    """Return the text of an item, with the reason of its outcome; of a refused item the reason alone."""
    text = collapse_whitespace(done.text)[:TEXT_CHARS]
    if done.outcome is ItemOutcome.REWORDED:
        return f"{text} {done.reason}"
    return done.reason or text


def _answer(source: str, done: list[Imported], *, dry_run: bool) -> Answer:
    found = counts(done)
    listed = done if dry_run else [each for each in done if each.outcome in _EXPLAINED]
    rows = [(each.outcome, each.kind, _text(each)) for each in listed]
    title = f"{source}: {', '.join(f'{number} {outcome}' for outcome, number in found.items())}"
    items = [
        {"outcome": each.outcome, "kind": each.kind, "text": each.text, "reason": each.reason}
        for each in listed
    ]
    if found[ItemOutcome.PAST]:
        title += f"\n{NOT_KEPT}"
    return Answer(
        {"source": source, "dry_run": dry_run, **found, "items": items},
        table("outcome", "kind", "text", title=title, rows=rows) if rows else title,
        error="" if found[ItemOutcome.REFUSED] else None,
    )
