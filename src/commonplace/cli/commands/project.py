"""``commonplace project``: projects that own memories."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import DryRunOption, shown, table
from commonplace.cli.frame.run import settings
from commonplace.cli.knowledge.options import IdArgument
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.text import plural
from commonplace.hosts.hooks.adoption import plan_adoption
from commonplace.hosts.hooks.sessions import SessionRecords
from commonplace.knowledge import GLOBAL_SCOPE, KnowledgeMemory, ScopeMove
from commonplace.projects import DistantProject, Project, Projects

app = typer.Typer(add_completion=False, no_args_is_help=True)

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Id or name of a project.")]
ON_ANOTHER_DEVICE: Final = "on another device"
DirectoryArgument = Annotated[
    Path, typer.Argument(metavar="DIRECTORY", help="A directory.", show_default="this one")
]
TypeArgument = Annotated[Literal["fact", "rule"], typer.Argument(metavar="TYPE", help="The kind of memory.")]


plain = commands(app)
on_knowledge = commands(app, lambda: KnowledgeMemory.open(settings()))


@app.callback()
def group() -> None:
    """Projects that own memories.

    A project has a random id, which is its butler and its scope in knowledge memory. Git worktrees of a repository
    share the id, moving the project keeps the id, and a new clone gets a new id. The first clone of a project of
    another device gets the id of that project.
    """


@plain()
async def show(directory: DirectoryArgument = Path()) -> Answer:
    """Show the project of a directory."""
    projects = _projects()
    found = projects.find(directory)
    if found is None:
        return Answer(
            None,
            error=f"{directory.absolute()} is not a project yet; the first session in it makes it a project",
        )

    def text(out: Console) -> None:
        out.print(f"[bold]{shown(found.name)}[/] {found.id}")
        out.print(f"   directory: {shown(str(found.path))}")
        if found.is_off:
            out.print("   memory is off here; to continue: commonplace project on")
        if projects.merge_of(found.id) is not None:
            out.print(f"   uses the memory of {projects.standing_for(found).id}")
        for other in _alike(projects, found):
            place = f"at {other.path}" if isinstance(other, Project) else ON_ANOTHER_DEVICE
            out.print(f"   looks like [bold]{shown(other.name)}[/] {shown(place)}. To use its memory:")
            out.print(f"   commonplace project merge {found.id} {other.id}")

    return Answer(found, text)


@plain("list")
async def list_projects() -> Answer:
    """List the projects that this home has seen, most recently seen first, then those of other devices."""
    projects = _projects()
    own, elsewhere = projects.list_projects(), projects.elsewhere()
    rows = [
        *(
            (each.id, each.name, each.path, f"{each.seen_at:%Y-%m-%d}", projects.merge_of(each.id))
            for each in own
        ),
        *((each.id, each.name, ON_ANOTHER_DEVICE, None, projects.merge_of(each.id)) for each in elsewhere),
    ]
    columns = ("id", "name", "directory", "last seen", "merged into")
    if_empty = "No projects yet. The first session of an installed client creates a project."
    return Answer(
        {"count": len(own), "projects": own, "elsewhere": elsewhere},
        table(*columns, rows=rows) if rows else if_empty,
    )


@plain()
async def off(directory: DirectoryArgument = Path()) -> Answer:
    """Switch memory off in a project: hooks of hosts give it nothing and learn nothing from it.

    This holds in all worktrees, also under an installation for all your projects. The tools of a server that a host
    starts stay. What was learned before stays too; `commonplace project on` continues.
    """
    project = _projects().switch(directory, is_off=True)
    return Answer(
        project, f"memory is off in {project.name} ({project.id}); to continue: commonplace project on"
    )


@plain()
async def on(directory: DirectoryArgument = Path()) -> Answer:
    """Switch memory on again in a project."""
    project = _projects().switch(directory, is_off=False)
    return Answer(project, f"memory is on in {project.name} ({project.id})")


@plain()
async def rename(
    project: ProjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name, 1 to 60 characters.")],
) -> Answer:
    """Rename a project; its id and its memory stay the same."""
    renamed = _projects().rename(project, name)
    return Answer(renamed, f"{renamed.id} is now called {renamed.name}")


@on_knowledge()
async def merge(
    memory: KnowledgeMemory,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Id or name of the project whose memory moves, or a scope that is not a project.",
        ),
    ],
    into: Annotated[
        str, typer.Argument(metavar="INTO", help="Id or name of the project that gets the memory.")
    ],
    *,
    dry_run: DryRunOption = False,
) -> Answer:
    """Make a project use the memory of another project, and move its own memory there.

    If both projects have a fact with the same subject and predicate, the newer fact stays. The other devices with which
    the home syncs do the same. To undo a merge, run `commonplace project unmerge`.
    """
    projects = _projects()
    target = projects.standing_for(projects.owner(into))
    joining = _joining(projects, source)
    if joining is not None and joining.id == target.id:
        other = projects.owner(into)
        if other.id == target.id:
            return Answer(None, error=f"{joining.id} cannot be merged into itself")
        advice = f"run `commonplace project unmerge {other.id}` first"
        return Answer(None, error=f"{other.id} already uses the memory of {joining.id}: {advice}")
    move = await memory.scopes.move(source if joining is None else joining.id, target.id, dry_run=dry_run)
    if joining is None and not move.count:
        raise InvalidInputError("source", "a project, or a scope with memories", source)
    if joining is not None and not dry_run:
        projects.set_merged(joining.id, target.id)
    return _moved([move], dry_run=dry_run)


@on_knowledge()
async def unmerge(memory: KnowledgeMemory, project: ProjectArgument) -> Answer:
    """Give a project its own memory back. Memories stored since the merge stay with the other project."""
    projects = _projects()
    merged = projects.owner(project)
    target = projects.merge_of(merged.id)
    if target is None:
        message = f"The project {merged.id} was not merged, so there is nothing to undo."
        raise ConflictError("project", message, project)
    if further := projects.merge_of(target):
        message = f"The project {target} was itself merged into {further}."
        message = f"{message} Run `commonplace project unmerge {target}` first."
        raise ConflictError("project", message, project)
    # The memories move first, so that after an interruption a second run does the rest.
    moves = await memory.scopes.undo_all(merged.id, target)
    projects.set_merged(merged.id, None)
    return _moved(moves, f"{merged.id} uses its own memory again")


@on_knowledge()
async def adopt(memory: KnowledgeMemory, *, dry_run: DryRunOption = False) -> Answer:
    """Assign memories that earlier releases stored under a directory name to the projects they belong to.

    The transcripts of the last thirty days show which session belongs to which project. Facts and rules that come from
    no such session stay where they are; to move them, run `commonplace project merge NAME PROJECT`.
    """
    home = settings().home
    moves = [
        await memory.scopes.move(each.butler, each.project.id, sessions=each.sessions, dry_run=dry_run)
        for each in plan_adoption(SessionRecords(home), Projects(home))
    ]
    return _moved([move for move in moves if move.count], dry_run=dry_run)


@on_knowledge()
async def promote(memory: KnowledgeMemory, memory_type: TypeArgument, memory_id: IdArgument) -> Answer:
    """Make a fact or rule of one project global, so that every project reads it."""
    return _moved([await memory.scopes.move_memory(memory_type, memory_id, GLOBAL_SCOPE)])


@on_knowledge()
async def demote(
    memory: KnowledgeMemory, memory_type: TypeArgument, memory_id: IdArgument, project: ProjectArgument
) -> Answer:
    """Restrict a global fact or rule to one project."""
    projects = _projects()
    target = projects.scope_of(project)
    return _moved([await memory.scopes.move_memory(memory_type, memory_id, target)])


def _projects() -> Projects:
    return Projects(settings().home)


def _joining(projects: Projects, source: str) -> Project | DistantProject | None:
    """Return the project that a merge begins with, one of another device only by its id; ``None`` for another scope."""
    distant = {each.id: each for each in projects.elsewhere()}
    try:
        return distant.get(source) or projects.get(source)
    except NotFoundError:
        return None


def _alike(projects: Projects, found: Project) -> list[Project | DistantProject]:
    if projects.merge_of(found.id) is not None:
        return []
    by_id = {each.id: each for each in (*projects.elsewhere(), *projects.list_projects())}
    alike = [by_id[other] for other in found.looks_like if other in by_id]
    return [each for each in alike if projects.standing_for(each).id != found.id]


def _moved(moves: Sequence[ScopeMove], *done: str, dry_run: bool = False) -> Answer:
    lines = [*done, *(line for move in moves for line in _lines(move, "would move" if dry_run else "moved"))]
    return Answer({"dry_run": dry_run, "moves": list(moves)}, "\n".join(lines) or "No memories to move.")


def _lines(move: ScopeMove, moved: str) -> list[str]:
    counts = (
        f"{plural(len(move.episodes), 'episode')}, {plural(len(move.facts), 'fact')} "
        f"and {plural(len(move.rules), 'rule')}"
    )
    lines = [f"{moved} {counts} from {move.source} to {move.target}"]
    if move.superseded:
        pairs = plural(len(move.superseded), "pair")
        lines.append(f"   facts with the same key: {pairs}; the newer fact of each pair stays")
    return lines
