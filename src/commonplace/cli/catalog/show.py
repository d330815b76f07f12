"""``commonplace show``: one memory with all its fields."""

import json
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

import typer

from commonplace.cli.catalog.opening import IdOrNameArgument, entry_document, entry_line, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import print_lines, shown
from commonplace.core.json_values import json_safe
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import CatalogEntry
from commonplace.services.memory_ids import MemoryKind

_IN_FIRST_LINE = frozenset({"content", "observation", "text", "subject", "predicate", "canonical_name"})

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def show(catalog: Catalog, memory_id: IdOrNameArgument) -> Answer:
    """Show a memory: its text, state, source and dates; of an entity, the facts about it.

    Looking does not count as a use.
    """
    entry = await catalog.show(memory_id)
    related = [await catalog.show(entry.replaced_by)] if entry.replaced_by is not None else []
    facts = await catalog.about(entry) if entry.kind is MemoryKind.ENTITY else ()
    lines = [entry_line(entry), *_fields(entry), *map(entry_line, [*related, *facts])]
    document = entry_document(entry) | ({"facts": list(map(entry_document, facts))} if facts else {})
    return Answer(document, lambda out: print_lines(out, lines))


def _fields(entry: CatalogEntry) -> Iterator[str]:
    for name, value in entry.fields.items():
        if name not in _IN_FIRST_LINE and value not in (None, "", [], {}, (), False):
            yield f"  [dim]{name.replace('_', ' ')}:[/] {shown(_text(value))}"


def _text(value: object) -> str:
    match value:
        case datetime():
            return f"{value:%Y-%m-%d %H:%M} UTC"
        case float():
            return f"{value:.2f}"
        case str() | UUID():
            return str(value)
        case _:
            return json.dumps(json_safe(value), ensure_ascii=False, default=str)
