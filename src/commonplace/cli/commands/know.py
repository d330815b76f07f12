"""``commonplace know``: one search over all four memories."""

from collections.abc import Sequence
from typing import Annotated, Final

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import print_lines, shown
from commonplace.cli.frame.run import settings
from commonplace.core.clock import utc_now
from commonplace.core.errors import NotFoundError
from commonplace.core.settings import Settings
from commonplace.core.text import collapse_whitespace
from commonplace.language.times import TimeReader, TimeSpan
from commonplace.projects import Projects
from commonplace.services.briefing import BriefingPart
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.services.search.items import (
    LIMIT,
    MAX_LIMIT,
    ListedMemory,
    MemoryResults,
    SearchCriteria,
    memory_of,
)
from commonplace.services.search.searching import search_home

NAMES: Final = {
    BriefingPart.KNOWLEDGE: "knowledge memory",
    BriefingPart.OPERATIONAL: "operational memory",
    BriefingPart.APPS: "app memory",
    BriefingPart.WORKSPACE: "workspace memory",
}

app = typer.Typer(add_completion=False)


@commands(app)()
async def know(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY", help="A question or words. Without a query, the newest items are listed."
        ),
    ] = None,
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only what was stored at this time or later, such as yesterday."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help='Only what was stored by the end of this time, such as "last friday".'
        ),
    ] = None,
    about: Annotated[
        str, typer.Option(metavar="NAME", help="Only items about this person or thing.", show_default=False)
    ] = "",
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only memories of this project: its name or its id.")
    ] = None,
    kind: Annotated[
        list[MemoryKind] | None, typer.Option(help="Only items of this kind. Repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="Maximum number of items.")] = LIMIT,
    why: Annotated[bool, typer.Option("--why", help="Explain why each item was found.")] = False,
) -> Answer:
    """Search all four memories, or list their newest items.

    Every item that holds a word of the query is found; memories that are alike follow. A question that names only a
    time, such as "what happened today?", lists what was stored then.

    Searching does not count as a use. If a memory cannot be reached, the output says why and shows the other memories.
    """
    query = " ".join(words or [])
    loaded = settings()
    times = TimeReader(clock=utc_now, zone=loaded.zone)
    scope, notes_scope = _scopes(loaded, project)
    criteria = SearchCriteria(
        kinds=tuple(kind or ()),
        since=times.since(since, field="--since"),
        until=times.until(until, field="--until"),
        about=about.strip(),
        scope=scope,
        notes_scope=notes_scope,
    )
    results = await search_home(loaded, query, criteria=criteria, limit=limit)
    narrows = bool(query) or criteria != SearchCriteria(notes_scope=notes_scope)

    def text(out: Console) -> None:
        for part, problem in results.problems.items():
            out.print(f"[red]{NAMES[part]}: {shown(problem)}[/]", soft_wrap=True)
        if results.period is not None and not results.items and not results.problems:
            out.print(nothing_from(results.period, times), soft_wrap=True)
        elif not results.items and not results.problems:
            out.print("No memory covers this." if narrows else "No memories yet.")
        print_lines(out, [line for item in results.items for line in lines_of(item, times, why=why)])
        if results.has_more:
            out.print(f"[dim]More items match. Show more with --limit {min(MAX_LIMIT, 5 * limit)}.[/]")

    return Answer({"query": query, **_document(results)}, text, error=_failed(results))


def id_of(item: ListedMemory) -> str:
    """Return the id of an item as the commands of its memory take it."""
    return str(MemoryId.of(item.kind, item.id))


def lines_of(item: ListedMemory, times: TimeReader, *, why: bool) -> Sequence[str]:
    """Return an item as lines of console markup: kind, id, memory, what it belongs to, day of storing, and text."""
    parts = (memory_of(item.kind), item.about, f"{item.at.astimezone(times.zone):%Y-%m-%d}")
    place = ", ".join(shown(collapse_whitespace(each)) for each in parts if each)
    text = shown(collapse_whitespace(item.text))
    line = f"[cyan]{item.kind}[/] {shown(id_of(item))} [dim]({place})[/] {text}"
    return [line, f"    [dim]{shown(item.why)}[/]"] if why and item.why else [line]


def nothing_from(period: TimeSpan, times: TimeReader) -> str:
    """Return that nothing was stored in a period, with its days in the time zone of the installation."""
    first, last = (f"{moment.astimezone(times.zone):%Y-%m-%d}" for moment in (period.start, period.last))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"Nothing was stored {when}."


def _scopes(loaded: Settings, project: str | None) -> tuple[str | None, str | None]:
    """Return the scope of a project, and the scope of the notes of the workspace; a butler is its own scope.

    Raises:
        InvalidInputError: Several projects have the name.
    """
    if project is None:
        return None, None
    projects = Projects(loaded.home)
    try:
        scope = projects.scope_of(project)
    except NotFoundError:
        scope = project
    return scope, projects.butler_for(loaded.workspace)


def _document(results: MemoryResults) -> dict[str, object]:
    items = [
        {"memory": memory_of(item.kind), "kind": item.kind, "id": item.id, "short_id": id_of(item)}
        | {"text": item.text, "about": item.about, "at": item.at}
        | {"why": item.why, "score": item.score, "likeness": item.likeness}
        for item in results.items
    ]
    period = results.period
    return {
        "period": None if period is None else {"start": period.start, "end": period.end},
        "items": items,
        "has_more": results.has_more,
        "problems": results.problems,
    }


def _failed(results: MemoryResults) -> str | None:
    """Return a message if no memory could answer."""
    return "no memory could answer" if len(results.problems) == len(NAMES) else None
