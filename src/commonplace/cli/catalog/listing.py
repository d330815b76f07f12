"""``commonplace list``: the memories of one kind."""

from typing import Annotated, Final

import typer

from commonplace.cli.catalog.opening import entry_document, entry_line, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import print_lines
from commonplace.cli.frame.run import settings
from commonplace.core.clock import utc_now
from commonplace.language.times import TimeReader
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import LIMIT, MAX_LISTED, CatalogFilter
from commonplace.services.memory_ids import MemoryKind

Limit = Annotated[int, typer.Option(min=1, max=MAX_LISTED, help="Maximum number of memories.")]
Contains = Annotated[str, typer.Option(metavar="TEXT", help="Text in the memory.")]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only what was stored at this time or later, such as yesterday."),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help='Only what was stored by the end of this time, such as "last friday".'),
]
AllStates = Annotated[
    bool, typer.Option("--all", help="Also memories that were replaced or forgotten, or have expired.")
]

PLURALS: Final = {
    "facts": (MemoryKind.FACT, "scope"),
    "rules": (MemoryKind.RULE, "scope"),
    "lessons": (MemoryKind.LESSON, "service"),
    "digests": (MemoryKind.DIGEST, "app"),
    "notes": (MemoryKind.NOTE, "tag"),
    "episodes": (MemoryKind.EPISODE, "butler"),
    "entities": (MemoryKind.ENTITY, "type"),
}
"""The kinds by the word for many of them, each with the word for where a memory belongs."""

app = typer.Typer(add_completion=False, no_args_is_help=True)
command = commands(app, opened_catalog)


def _add(name: str, kind: MemoryKind, place: str) -> None:
    async def listed(
        catalog: Catalog,
        *,
        within: Annotated[str, typer.Option(f"--{place}", help=f"Only those of this {place}.")] = "",
        contains: Contains = "",
        since: Since = None,
        until: Until = None,
        all_states: AllStates = False,
        limit: Limit = LIMIT,
    ) -> Answer:
        times = TimeReader(clock=utc_now, zone=settings().zone)
        narrowing = CatalogFilter(
            contains=contains,
            within=within,
            since=times.since(since, field="--since"),
            until=times.until(until, field="--until"),
            all_states=all_states,
            limit=limit,
        )
        entries = await catalog.list(kind, narrowing)
        more = [f"[dim]The first {limit}. For more, add --limit.[/]"] if len(entries) == limit else []
        lines = [*map(entry_line, entries), *more] if entries else [f"No {name}."]
        document = {"count": len(entries), name: list(map(entry_document, entries))}
        return Answer(document, lambda out: print_lines(out, lines))

    listed.__doc__ = f"List {name}, newest first." if name != "entities" else "List entities by name."
    command(name)(listed)


for _name, (_kind, _place) in PLURALS.items():
    _add(_name, _kind, _place)
