"""The catalog of the home, and what its commands print."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any, Final

import typer

from commonplace.cli.frame.command import Answer
from commonplace.cli.frame.output import print_lines, shown
from commonplace.cli.frame.run import settings, source
from commonplace.core.json_values import json_safe
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import CatalogChange, CatalogEntry, MemoryState, Verb
from commonplace.services.opening import OpenedMemories

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The ID as commands print it, such as f:3k7q2, o:12, a:7 or w:3.")
]

IdOrNameArgument = Annotated[
    str,
    typer.Argument(metavar="ID|NAME", help="The ID as commands print it, or the name of a person or thing."),
]

_DONE: Final = {
    Verb.ADD: "added",
    Verb.EDIT: "edited",
    Verb.CONFIRM: "confirmed",
    Verb.PIN: "pinned",
    Verb.UNPIN: "unpinned",
    Verb.FORGET: "forgot",
}
_UNDONE: Final = {
    Verb.ADD: "removed again",
    Verb.EDIT: "restored the text of",
    Verb.CONFIRM: "took back the confirmation of",
    Verb.PIN: "unpinned",
    Verb.UNPIN: "pinned",
    Verb.FORGET: "restored",
}


@asynccontextmanager
async def opened_catalog() -> AsyncGenerator[Catalog]:
    """Open the catalog of the home; knowledge memory opens when a command needs it."""
    loaded = settings()
    async with (
        KnowledgeMemory.open(loaded, tenant_id=DEFAULT_TENANT, source=source(), lazy=True) as knowledge,
        AsyncExitStack() as stack,
    ):
        memories = await OpenedMemories.open(stack, loaded, knowledge=knowledge)
        yield Catalog(memories, loaded.home)


def entry_line(entry: CatalogEntry) -> str:
    """Return a memory as one line of console markup: its id, where it belongs, its text and its state."""
    about = f" [dim]{shown(entry.about)}[/]" if entry.about else ""
    marks = [
        *(["pinned"] if entry.pinned else []),
        *([] if entry.state is MemoryState.CURRENT else [str(entry.state)]),
        *([f"now {entry.replaced_by}"] if entry.replaced_by else []),
    ]
    state = f" [yellow]({', '.join(marks)})[/]" if marks else ""
    return f"[cyan]{entry.id}[/]{about}  {shown(collapse_whitespace(entry.text))}{state}"


def entry_document(entry: CatalogEntry) -> dict[str, Any]:
    """Return a memory as a JSON object: ``id`` is its full id, ``short_id`` the one that commands print."""
    document = json_safe(entry)
    return {"id": document.pop("full_id"), "short_id": document.pop("id"), **document}


def _change_document(change: CatalogChange) -> dict[str, Any]:
    return json_safe(change) | {"entry": entry_document(change.entry)}


def change_answer(*changes: CatalogChange) -> Answer:
    """Return the receipts of changes: what changed, and the command that undoes it."""
    documents = list(map(_change_document, changes))
    document = documents[0] if len(documents) == 1 else {"count": len(documents), "changes": documents}
    lines = [line for change in changes for line in _lines(change)]
    return Answer(document, lambda out: print_lines(out, lines))


def _lines(change: CatalogChange) -> list[str]:
    entry = change.entry
    replaced = [] if change.instead_of is None else [f"{change.instead_of} was replaced by {entry.id}."]
    word = _UNDONE[change.verb] if change.undone else _DONE[change.verb]
    unchanged = change.undo is None and not change.undone and bool(change.note)
    lines = [*replaced, entry_line(entry) if unchanged else f"{word} {entry_line(entry)}"]
    if change.before is not None:
        lines.append(f"  before: {shown(collapse_whitespace(change.before))}")
    if change.note:
        lines.append(f"  {shown(change.note)}")
    if change.undo is not None:
        lines.append(f"  [dim]to undo: commonplace undo {change.undo}[/]")
    return lines
