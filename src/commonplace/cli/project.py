"""``commonplace project``: whose memory it is."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from commonplace.cli.claude_code.adoption import Adoption, plan_adoption
from commonplace.cli.claude_code.sessions import SessionRecords
from commonplace.cli.output import JsonOption, console, print_json, shown, table
from commonplace.cli.run import ACTOR, settings, use
from commonplace.core.errors import NotFoundError
from commonplace.knowledge import GLOBAL_SCOPE, KnowledgeMemory, ScopeMove
from commonplace.projects import Project, Projects

app = typer.Typer(add_completion=False, help="Projects: whose memory it is.", no_args_is_help=True)

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Id of a project, or its name.")]
TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="fact or rule.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="A UUID.")]
_T = TypeVar("_T")
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]


@app.callback()
def group() -> None:
    """Projects: whose memory it is.

    A project has a random id, which is its butler and its scope in knowledge memory. Git worktrees share it, a move
    keeps it, and a new clone gets another one.
    """


@app.command()
def show(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="A directory.", show_default="this one")
    ] = Path(),
    *,
    as_json: JsonOption = False,
) -> None:
    """Show the project of a directory."""
    projects = _projects()
    found = projects.find(directory)
    if found is None:
        raise NotFoundError("project", f"of {directory.absolute()}; its first session makes one")
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(f"[bold]{shown(found.name)}[/] {found.id}")
    out.print(f"   directory: {shown(str(found.path))}")
    if found.merged_into is not None:
        out.print(f"   uses the memory of {projects.standing_for(found).id}")
    for other in _alike(projects, found):
        out.print(
            f"   looks like [bold]{shown(other.name)}[/] at {shown(str(other.path))}. To use its memory:"
        )
        out.print(f"   commonplace project merge {found.id} {other.id}")


@app.command("list")
def list_projects(*, as_json: JsonOption = False) -> None:
    """List the projects that this home has seen, the one that was seen last first."""
    found = _projects().list_projects()
    if as_json:
        print_json({"projects": found})
        return
    rows = [(one.id, one.name, one.path, f"{one.seen_at:%Y-%m-%d}", one.merged_into) for one in found]
    empty = "No projects yet. The first session of an installed client makes one."
    console().print(
        table("id", "name", "directory", "last seen", "merged into", rows=rows) if rows else empty
    )


@app.command()
def rename(
    project: ProjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name, 1 to 60 characters.")],
) -> None:
    """Give a project another name; its id and its memory stay."""
    renamed = _projects().rename(project, name)
    console().print(f"{renamed.id} is now called {shown(renamed.name)}")


@app.command()
def merge(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Id or name of the project whose memory moves, or a scope that is no project.",
        ),
    ],
    into: Annotated[str, typer.Argument(metavar="INTO", help="Id or name of the project that gets it.")],
    *,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a project use the memory of another one, and move its own memory there.

    Where both have a fact of one key, the newer one stays. `commonplace project unmerge` takes it back.
    """
    projects = _projects()
    target = projects.standing_for(projects.get(into))
    try:
        joining = projects.get(source)
    except NotFoundError:
        joining = None
    scope = source if joining is None else joining.id
    move = _use_knowledge(lambda memory: memory.move_scope(scope, target.id, dry_run=dry_run))
    if joining is not None and not dry_run:
        projects.set_merged(joining.id, target.id)
    _report([move], dry_run=dry_run, as_json=as_json)


@app.command()
def unmerge(project: ProjectArgument, *, as_json: JsonOption = False) -> None:
    """Give a project its own memory back. What was stored since the merge stays with the other project."""
    projects = _projects()
    merged = projects.get(project)
    if merged.merged_into is None:
        raise NotFoundError("merge", f"of project {merged.id}")
    target = projects.standing_for(merged)
    projects.set_merged(merged.id, None)

    async def undo(memory: KnowledgeMemory) -> ScopeMove:
        try:
            return await memory.undo_scope_move(await memory.last_scope_move(merged.id, target.id))
        except NotFoundError:
            return ScopeMove(event_id=None, source=target.id, target=merged.id)

    _report([_use_knowledge(undo)], dry_run=False, as_json=as_json)


@app.command()
def adopt(*, dry_run: DryRunOption = False, as_json: JsonOption = False) -> None:
    """Give projects the memories that earlier releases stored under the name of their directory.

    The transcripts of the last thirty days tell which session belongs to which project. Facts and rules that came from
    no such session stay where they are; `commonplace project merge NAME PROJECT` moves them.
    """
    home = settings().home
    planned = plan_adoption(SessionRecords(home), Projects(home))

    async def move(memory: KnowledgeMemory) -> list[ScopeMove]:
        moves = [await _adopt(memory, each, dry_run=dry_run) for each in planned]
        return [move for move in moves if move.count]

    _report(_use_knowledge(move) if planned else [], dry_run=dry_run, as_json=as_json)


@app.command()
def promote(memory_type: TypeArgument, memory_id: IdArgument, *, as_json: JsonOption = False) -> None:
    """Let every project read a fact or rule of one project."""
    move = _use_knowledge(lambda memory: memory.move_memory(memory_type, memory_id, GLOBAL_SCOPE))
    _report([move], dry_run=False, as_json=as_json)


@app.command()
def demote(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    project: ProjectArgument,
    *,
    as_json: JsonOption = False,
) -> None:
    """Keep a global fact or rule for one project."""
    projects = _projects()
    target = projects.standing_for(projects.get(project)).id
    move = _use_knowledge(lambda memory: memory.move_memory(memory_type, memory_id, target))
    _report([move], dry_run=False, as_json=as_json)


async def _adopt(memory: KnowledgeMemory, adoption: Adoption, *, dry_run: bool) -> ScopeMove:
    return await memory.move_scope(
        adoption.butler, adoption.project.id, sessions=adoption.sessions, dry_run=dry_run
    )


def _use_knowledge(work: Callable[[KnowledgeMemory], Awaitable[_T]]) -> _T:
    return use(KnowledgeMemory.open(settings(), actor=ACTOR), work)


def _projects() -> Projects:
    return Projects(settings().home)


def _alike(projects: Projects, found: Project) -> list[Project]:
    by_id = {each.id: each for each in projects.list_projects()}
    return [by_id[other] for other in found.looks_like if other in by_id and found.merged_into is None]


def _report(moves: list[ScopeMove], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": dry_run, "moves": moves})
        return
    out = console()
    for move in moves:
        would = "would move" if dry_run else "moved"
        out.print(
            f"{would} {len(move.episodes)} episodes, {len(move.facts)} facts and {len(move.rules)} rules "
            f"from {shown(move.source)} to {shown(move.target)}"
        )
        if move.superseded:
            out.print(f"   of {len(move.superseded)} facts with one key, the newer one stays")
    if not moves:
        out.print("Nothing to move.")
