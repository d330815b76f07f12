"""``commonplace know``: one search over all four memories."""

from typing import Annotated, Final
from uuid import UUID

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import shown
from commonplace.cli.frame.run import settings
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge import MemoryType, short_id
from commonplace.services.briefing import BriefingPart
from commonplace.services.search import LIMIT, ListedMemory, MemoryResults, search_home

TITLES: Final = {
    BriefingPart.KNOWLEDGE: "Knowledge memory",
    BriefingPart.OPERATIONAL: "Operational memory",
    BriefingPart.APPS: "App memory",
    BriefingPart.WORKSPACE: "Workspace memory",
}
MOST: Final = 100

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
    limit: Annotated[
        int, typer.Option(min=1, max=MOST, help="Maximum number of items from each memory.")
    ] = LIMIT,
    why: Annotated[bool, typer.Option("--why", help="Explain why each item was found.")] = False,
) -> Answer:
    """Search all four memories, or list their newest items.

    Searching does not count as a use. If a memory cannot be reached, the output says why and shows the other memories.
    """
    query = " ".join(words or [])
    results = await search_home(settings(), query, limit=limit)

    def text(out: Console) -> None:
        for found in results:
            if found.items or found.problem:
                out.print(f"[bold]{TITLES[found.memory]}[/]")
            if found.problem:
                out.print(f"  [red]{shown(found.problem)}[/]")
            for item in found.items:
                out.print(line(item, why=why))
        if not any(found.items or found.problem for found in results):
            out.print("No memory covers this." if query else "No memories yet.")

    return Answer({"query": query, "memories": results}, text, error=_failed(results))


def line(item: ListedMemory, *, why: bool) -> str:
    """Return an item as lines of console markup, with the id that the commands of its memory take."""
    about = f" [dim]{shown(item.about)}[/]" if item.about else ""
    name = short_id(MemoryType(item.kind), UUID(item.id)) if item.kind in set(MemoryType) else item.id
    text = f"  [cyan]{item.kind}[/] {name}{about}  {shown(collapse_whitespace(item.text))}"
    return f"{text}\n      [dim]{shown(item.why)}[/]" if why and item.why else text


def _failed(results: list[MemoryResults]) -> str | None:
    """Return a message if no memory could answer."""
    return "no memory could answer" if all(found.problem for found in results) else None
