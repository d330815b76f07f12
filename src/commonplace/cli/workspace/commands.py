"""``commonplace workspace``: commands of workspace memory."""

from typing import Annotated, Final

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.ids import note_id
from commonplace.cli.frame.output import AllowSecrets, ReplacesOption
from commonplace.cli.frame.run import settings
from commonplace.core.clock import format_timestamp
from commonplace.core.text import plural
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.workspace import (
    MAX_RESULTS,
    Limit,
    NoteScope,
    WorkspaceMemory,
    related_ids,
    remark_on,
)

MOST_NAMED: Final = 10
"""Deleted memories that a store names; a file that was filled by hand may have thousands too many."""

NoteArgument = Annotated[str, typer.Argument(metavar="ID", help="The ID, such as w:3 or m-3.")]

app = typer.Typer(add_completion=False, no_args_is_help=True)


command = commands(app, lambda: WorkspaceMemory.open(settings()))


@command()
async def store(
    memory: WorkspaceMemory,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note, at most 500 characters.")],
    *,
    tag: Annotated[list[str] | None, typer.Option(help="A label to search for; at most five.")] = None,
    scope: Annotated[NoteScope, typer.Option(help="The subject of the note.")] = NoteScope.WORKSPACE,
    replaces: ReplacesOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Store a note, unless it is there already; the oldest notes make room if the file is full."""
    receipt = await memory.store(
        text, tags=tag or [], scope=scope, replaces=replaces, allow_secrets=allow_secrets
    )
    pruned = [each.id for each in receipt.pruned]
    lines = [] if receipt.repeated else [f"stored {receipt.id}"]
    lines += filter(None, [remark_on(receipt)])
    if pruned:
        named = ", ".join(pruned[:MOST_NAMED]) + (", …" if len(pruned) > MOST_NAMED else "")
        lines.append(f"deleted {plural(len(pruned), 'old memory', 'old memories')} to make room: {named}")
    short_id = str(MemoryId.of(MemoryKind.NOTE, receipt.id))
    document = {"ok": True, "id": receipt.id, "short_id": short_id, "pruned": pruned, **related_ids(receipt)}
    return Answer(document, "\n".join(lines))


@command()
async def search(
    memory: WorkspaceMemory,
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="Text that the note contains.")] = None,
    *,
    tag: Annotated[str | None, typer.Option(help="A complete tag.")] = None,
    limit: Annotated[int, bounded(Limit, help="Most rows.")] = MAX_RESULTS,
) -> Answer:
    """Find notes, newest first. If you give a query and a tag, both must match."""
    result = await memory.search(query, tag=tag, limit=limit)
    memories = [
        {
            "id": found.id,
            "short_id": str(MemoryId.of(MemoryKind.NOTE, found.id)),
            "scope": found.scope,
            "text": found.text,
            "tags": found.tags,
            "ts": format_timestamp(found.created_at, precision="seconds"),
        }
        for found in result.memories
    ]
    return listing(
        "memories",
        memories,
        ("id", "scope", "tags", "text", "since"),
        lambda each: (each["id"], each["scope"], ", ".join(each["tags"]), each["text"], each["ts"]),
        if_empty="No memories.",
    )


@command()
async def delete(memory: WorkspaceMemory, note: NoteArgument) -> Answer:
    """Delete a note permanently. There is no undo; with `commonplace forget`, there is."""
    receipt = await memory.delete(note_id(note))
    return Answer({"ok": True, "id": receipt.id}, f"deleted {receipt.id}")


@command()
async def context(
    memory: WorkspaceMemory, *, message: Annotated[str, typer.Option(help="The last message of the user.")]
) -> Answer:
    """Print the block for a model call with this message; print nothing if no note matches."""
    block = await memory.context(message)
    return Answer({"text": block}, block)
