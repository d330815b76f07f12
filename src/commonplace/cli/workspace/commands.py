"""``commonplace workspace``: commands of workspace memory."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings, use
from commonplace.core.clock import format_timestamp
from commonplace.workspace import Scope, WorkspaceMemory

T = TypeVar("T")

app = typer.Typer(
    add_completion=False, help="Workspace memory: short facts stored beside the code.", no_args_is_help=True
)


def _use(work: Callable[[WorkspaceMemory], Awaitable[T]]) -> T:
    return use(WorkspaceMemory.open(settings()), work)


@app.command()
def store(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, at most 500 characters.")],
    *,
    tag: Annotated[list[str] | None, typer.Option(help="A label to search for; at most five.")] = None,
    scope: Annotated[str, typer.Option(help="user, workspace or session.")] = Scope.WORKSPACE,
    allow_secrets: Annotated[
        bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Store a fact."""
    receipt = _use(
        lambda memory: memory.store(text, tags=tag or [], scope=scope, allow_secrets=allow_secrets)
    )
    pruned = [memory.id for memory in receipt.pruned]
    if as_json:
        print_json({"ok": True, "id": receipt.id, "pruned": pruned})
        return
    typer.echo(f"stored {receipt.id}")
    if pruned:
        typer.echo(f"deleted the oldest memories to make room: {', '.join(pruned)}")


@app.command()
def search(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="Part of the text.")] = None,
    *,
    tag: Annotated[str | None, typer.Option(help="A complete tag.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find up to 20 memories, newest first. With a query and a tag, both must match."""
    result = _use(lambda memory: memory.search(query, tag=tag))
    memories = [
        {
            "id": found.id,
            "scope": found.scope,
            "text": found.text,
            "tags": found.tags,
            "ts": format_timestamp(found.created_at, precision="seconds"),
        }
        for found in result.memories
    ]
    if as_json:
        print_json({"count": result.count, "memories": memories})
        return
    rows = [(m["id"], m["scope"], ", ".join(m["tags"]), m["text"], m["ts"]) for m in memories]
    console().print(table("id", "scope", "tags", "text", "since", rows=rows) if rows else "No memories.")


@app.command()
def delete(memory_id: Annotated[str, typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Delete a memory permanently."""
    receipt = _use(lambda memory: memory.delete(memory_id))
    if as_json:
        print_json({"ok": True, "id": receipt.id})
    else:
        typer.echo(f"deleted {memory_id}")


@app.command()
def context(
    *,
    message: Annotated[str, typer.Option(help="The last message of the user.")],
    as_json: JsonOption = False,
) -> None:
    """Print the block for a model call with this message; print nothing if no memory matches."""
    block = _use(lambda memory: memory.context(message))
    if as_json:
        print_json({"text": block})
    elif block:
        typer.echo(block)
