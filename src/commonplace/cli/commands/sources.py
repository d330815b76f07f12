"""``commonplace sources``: folders and files of agent hosts that are followed."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from commonplace.cli.frame.change_report import change_report
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.output import DryRunOption, shown
from commonplace.cli.frame.project_scope import scope_of_option
from commonplace.cli.frame.run import settings
from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.sources.follower import SourceChange, SourceFollower, SourceLine
from commonplace.services.sources.registry import FollowedSource, SourceRegistry
from commonplace.services.transfer.importers import ImportSource, source_of

app = typer.Typer(add_completion=False, no_args_is_help=True)

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Id of a source, or its folder or file.")
]
NOT_FOLLOWED = frozenset({ImportSource.JSONL, ImportSource.CSV, ImportSource.MARKDOWN})
"""Exports of commonplace itself."""

plain = commands(app)
on_knowledge = commands(app, lambda: KnowledgeMemory.open(settings()))


@app.callback()
def group() -> None:
    """Folders and files of agent hosts that are followed: read at once and whenever they change, never written.

    A changed line changes its memory, and the memory of a line that went is forgotten. Memories from a source are less
    trusted than what you said here; a memory that you confirmed, edited or forgot stays as you left it.
    """


@on_knowledge()
async def add(
    memory: KnowledgeMemory,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder or file of a host.")],
    *,
    kind: Annotated[
        ImportSource | None,
        typer.Option("--from", help="The program that wrote it. Default: detected from its contents."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            help="Id or name of the project that its memories belong to, or global.",
            show_default="the project of this directory",
        ),
    ] = None,
    dry_run: DryRunOption = False,
) -> Answer:
    """Follow a folder or file, and read it now.

    With --dry-run, show what would be stored. Sessions of the project read it again when it changes, and so does the
    worker.
    """
    path = path.expanduser().absolute()
    kind = source_of(path, kind)
    if kind in NOT_FOLLOWED:
        raise InvalidInputError(
            "path", "what a host writes: use `commonplace import` for exports", kind.value
        )
    scope = scope_of_option(project)
    registry = _registry()
    follower = SourceFollower(registry, memory)
    if dry_run:
        planned = FollowedSource(id="", kind=kind, path=path, scope=scope, added_at=utc_now())
        return _answer(planned, await follower.preview(planned))
    source = registry.add(path, kind, scope)
    try:
        return _answer(source, await follower.follow(source))
    except CommonplaceError:
        await follower.remove(source)
        raise


@plain("list")
async def list_sources() -> Answer:
    """List the sources, the oldest first."""
    return listing(
        "sources",
        _registry().list(),
        ("id", "kind", "path", "scope", "last change"),
        lambda one: (
            one.id,
            one.kind.value,
            one.path,
            one.scope,
            "paused" if one.is_paused else f"{one.read_at:%Y-%m-%d %H:%M}" if one.read_at else "never",
        ),
        if_empty="No sources yet. Follow a folder or file with `commonplace sources add PATH`.",
    )


@plain()
async def show(source: SourceArgument) -> Answer:
    """Show a source, and how many memories each of its files has."""
    registry = _registry()
    followed = registry.get(source)
    files = {each.file: len(each.memories) for each in registry.record_of(followed)}

    def text(out: Console) -> None:
        state = "paused" if followed.is_paused else "followed"
        out.print(f"[bold]{followed.id}[/] {followed.kind.value}, {state}, for {shown(followed.scope)}")
        out.print(f"   {shown(str(followed.path))}")
        for name, count in files.items():
            out.print(f"   {count:>5}  {shown(name)}")

    return Answer({"source": followed, "files": files}, text)


@on_knowledge()
async def read(
    memory: KnowledgeMemory,
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="Id of a source, or its path.", show_default="all of them"),
    ] = None,
) -> Answer:
    """Read the files that changed since the last reading, also of a paused source that you name."""
    registry = _registry()
    follower = SourceFollower(registry, memory)
    if source is None:
        return _answer(None, await follower.follow_all())
    followed = registry.get(source)
    return _answer(followed, await follower.follow(followed))


@plain()
async def pause(source: SourceArgument) -> Answer:
    """Leave a source alone; its memories stay."""
    paused = _registry().set_paused(_registry().get(source), is_paused=True)
    return Answer(paused, f"{paused.id} is paused; its memories stay")


@plain()
async def resume(source: SourceArgument) -> Answer:
    """Follow a paused source again; the next session reads what changed."""
    followed = _registry().set_paused(_registry().get(source), is_paused=False)
    return Answer(followed, f"{followed.id} is followed again")


@on_knowledge()
async def remove(
    memory: KnowledgeMemory,
    source: SourceArgument,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep its memories, which no longer change with the files.")
    ] = False,
) -> Answer:
    """Stop following a source and forget its facts and rules, but for those that a person confirmed.

    The files stay as they are, and episodes until they expire. `commonplace undo ID` brings a memory back.
    """
    registry = _registry()
    followed = registry.get(source)
    return _answer(followed, await SourceFollower(registry, memory).remove(followed, keep=keep))


def _registry() -> SourceRegistry:
    return SourceRegistry(settings().home)


def _answer(source: FollowedSource | None, lines: list[SourceLine]) -> Answer:
    title = f"{source.path} ({source.kind.value}, for {source.scope})" if source else "all sources"
    return change_report(title, SourceChange, lines, {"source": source}, fault=SourceChange.UNREADABLE)
