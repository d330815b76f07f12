"""``commonplace apps``: app memory."""

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.markup import escape

from commonplace.apps import (
    MAX_CONTENT_CHARS,
    AppMemory,
    CatchUp,
    CompactionReceipt,
    DigestOutcome,
    DigestReceipt,
    EnergyStatus,
    ListedState,
    Memory,
    Message,
    QueuedDigest,
    as_document,
)
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings, use
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural, replace_surrogates

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Id of the app.")]
UserOption = Annotated[str | None, typer.Option("--user", help="Include the memories of this user.")]

T = TypeVar("T")

_COLOURS: Final = {
    DigestOutcome.CREATED: "green",
    DigestOutcome.SKIPPED: "bold red",
    DigestOutcome.REFUSED: "red",
    DigestOutcome.DEFERRED: "yellow",
}

app = typer.Typer(
    add_completion=False,
    help="App memory: at most ten digests of ended conversations for each app.",
    no_args_is_help=True,
)

digests_app = typer.Typer(help="Digests of ended conversations.", no_args_is_help=True)
app.add_typer(digests_app, name="digests")
conversations_app = typer.Typer(help="Transcripts of conversations.", no_args_is_help=True)
app.add_typer(conversations_app, name="conversations")


class _ConversationDocument(BaseModel):
    """The input of ``apps ingest``."""

    model_config = ConfigDict(extra="forbid")

    class Said(BaseModel):
        """One message."""

        role: Literal["user", "assistant"]
        content: str

    conversation_id: str
    messages: list[Said]
    user_id: str | None = None


def _use(work: Callable[[AppMemory], Awaitable[T]], *, model: bool = False) -> T:
    """Open app memory, do a command's work, and return its result.

    Args:
        work: The work.
        model: Whether the work asks a model; if not, the model's key or program may be missing.
    """
    chosen = settings()
    if not model:
        chosen = chosen.model_copy(update={"model": None})
    return use(AppMemory.open(chosen), work)


def _read_json(source: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON document of a file, or of standard input for ``-``.

    Raises:
        InvalidInputError: The file cannot be read, or is not JSON.
    """
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        # A program that cuts text within an emoji leaves a lone surrogate, which no database stores.
        return json.loads(replace_surrogates(json.dumps(json.loads(data), ensure_ascii=False)))
    except OSError as error:
        raise InvalidInputError("file", "a readable JSON file, or -", f"{source}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("file", "a JSON document", f"{source}: {error}") from None


@app.command()
def register(
    app_id: AppArgument,
    *,
    name: Annotated[str | None, typer.Option(help="Name in the context block; by default the id.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Install or rename an app; an uninstalled app comes back with its memories."""
    registered = _use(lambda memory: memory.registry.register(app_id, name=name))
    if as_json:
        print_json(registered)
    else:
        typer.echo(f"registered {registered.app_id} ({registered.name})")


@app.command("list")
def list_apps(*, as_json: JsonOption = False) -> None:
    """Print all apps, including uninstalled ones, with their numbers of memories."""
    found = _use(lambda memory: memory.registry.list_apps())
    if as_json:
        print_json({"count": len(found), "apps": found})
        return
    rows = [(one.app.app_id, one.app.name, one.app.status, one.memories) for one in found]
    console().print(table("app", "name", "status", "memories", rows=rows) if rows else "no apps")


@app.command()
def ingest(
    app_id: AppArgument,
    source: Annotated[
        str,
        typer.Argument(metavar="FILE|-", help='{"conversation_id": …, "messages": [{"role", "content"}, …]}'),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Store an ended conversation, make its memory, and print the receipt.

    Ingesting it again changes nothing. The exit status is 1 if the memory could not be made; ingest it again to retry.
    """
    try:
        document = _ConversationDocument.model_validate(_read_json(source))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "document"
        raise InvalidInputError(where, f"a conversation: {fault['msg']}", fault["input"]) from None
    said = [Message(role=one.role, content=one.content) for one in document.messages]

    receipt = _use(
        lambda memory: memory.ingest(app_id, document.conversation_id, said, user_id=document.user_id),
        model=True,
    )
    if as_json:
        print_json(receipt)
    else:
        console().print(_receipt_lines(receipt))
    if receipt.outcome is DigestOutcome.SKIPPED:
        typer.echo(f"error: no memory was made: {receipt.reason}", err=True)
        raise typer.Exit(1)


def _receipt_lines(receipt: DigestReceipt) -> str:
    colour = _COLOURS.get(receipt.outcome, "dim")
    lines = [f"[{colour}]{receipt.outcome}[/] conversation {escape(receipt.conversation_id)}"]
    if receipt.memory is not None:
        how = " [dim](sentences picked, no model)[/]" if receipt.extractive else ""
        lines.append(f"  #{receipt.memory.id} {escape(receipt.memory.content)}{how}")
    if receipt.reason:
        lines.append(f"  [dim]{escape(receipt.reason)}[/]")
    lines += [_compaction_line(one) for one in receipt.compactions]
    lines += [
        f"  [yellow]conflict[/] #{one.older.id} and #{one.newer.id}: {escape(one.reason)}"
        for one in receipt.conflicts
    ]
    return "\n".join(lines)


def _compaction_line(receipt: CompactionReceipt) -> str:
    removed = ", ".join(f"#{memory.id} {escape(memory.content)}" for memory in receipt.removed)
    into = f" into #{receipt.edited.id}: {escape(receipt.edited.content)}" if receipt.edited else ""
    why = " — ".join(part for part in (receipt.reason, receipt.fallback) if part)
    decider = f" ({receipt.decider})" if receipt.decider else ""
    return f"  [cyan]compaction: {receipt.action}{decider}[/] {removed}{into}\n  [dim]{escape(why)}[/]"


@app.command()
def memories(app_id: AppArgument, *, as_json: JsonOption = False) -> None:
    """Print an app's own memories from all its spaces, newest first."""
    found = _use(lambda memory: memory.list_memories(app_id))
    if as_json:
        print_json({"count": len(found), "memories": [as_document(memory) for memory in found]})
        return
    _print_memories([(memory, None) for memory in found])


def _print_memories(found: list[tuple[Memory, float | None]]) -> None:
    rows = [
        (
            memory.id,
            memory.content,
            "" if memory.metadata.importance is None else f"{memory.metadata.importance:g}",
            ", ".join(memory.metadata.tags),
            memory.user_id,
            f"{memory.updated_at:%Y-%m-%d %H:%M}",
            *(() if score is None else (f"{score:.2f}",)),
        )
        for memory, score in found
    ]
    columns = ["id", "memory", "importance", "tags", "user", "updated (UTC)"]
    if found and found[0][1] is not None:
        columns.append("score")
    console().print(table(*columns, rows=rows) if rows else "no memories")


@app.command()
def context(app_id: AppArgument, *, user: UserOption = None, as_json: JsonOption = False) -> None:
    """Print the block that a model gets when a conversation of the app is in focus; nothing without memories."""
    block = _use(lambda memory: memory.context(app_id, user_id=user))
    if as_json:
        print_json({"text": block.text, "memories": [as_document(memory) for memory in block.memories]})
    elif block.text:
        typer.echo(block.text)


@app.command()
def search(
    app_id: AppArgument,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, or with --semantic a question.")],
    *,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Search by meaning instead of by words.")
    ] = False,
    user: UserOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the memories that the app's conversations can see, best first."""
    hits = _use(
        lambda memory: memory.search(app_id, query, by="meaning" if semantic else "words", user_id=user)
    )
    if as_json:
        found = [as_document(hit.memory) | {"score": hit.score, "words": hit.words} for hit in hits]
        print_json({"count": len(found), "memories": found})
        return
    _print_memories([(hit.memory, hit.score) for hit in hits])


@app.command()
def delete(memory_id: Annotated[int, typer.Argument(metavar="ID")], *, as_json: JsonOption = False) -> None:
    """Delete a memory permanently, including its text in the history."""
    deleted = _use(lambda memory: memory.delete_memory(memory_id))
    if as_json:
        print_json({"deleted": deleted.id, "app_id": deleted.app_id})
    else:
        typer.echo(f"deleted #{deleted.id} of {deleted.app_id}")


@app.command()
def purge(app_id: AppArgument, *, as_json: JsonOption = False) -> None:
    """Delete every memory of an app permanently, and the transcripts of its ended conversations. The app stays."""
    receipt = _use(lambda memory: memory.subagent.delete_app_memories(app_id))
    if as_json:
        print_json(receipt)
    else:
        typer.echo(f"deleted {plural(receipt.deleted, 'memory', 'memories')} of {app_id}")


@app.command()
def uninstall(
    app_id: AppArgument,
    *,
    purge_memories: Annotated[
        bool, typer.Option("--purge-memories", help="Delete the app's memories and conversations too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Uninstall an app. Its memories stay, unless you purge them."""
    receipt = _use(lambda memory: memory.registry.uninstall_app(app_id, purge_memories=purge_memories))
    if as_json:
        print_json(receipt)
    else:
        typer.echo(
            f"uninstalled {app_id}: {plural(receipt.retained, 'memory', 'memories')} retained, {receipt.purged} purged"
        )


@app.command()
def share(
    memory_id: Annotated[int, typer.Argument(metavar="ID")],
    to_app: Annotated[str, typer.Argument(metavar="APP", help="Id of the app that gets the memory too.")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Stop sharing the memory.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a memory to the conversations of another app too."""
    receipt = _use(lambda memory: (memory.unshare if undo else memory.share)(memory_id, to_app))
    if as_json:
        print_json(receipt)
        return
    word = "no longer shared" if undo else "shared"
    typer.echo(f"#{memory_id} {word} with {to_app}{'' if receipt.changed else ' (nothing changed)'}")


@app.command()
def conflicts(app_id: AppArgument, *, as_json: JsonOption = False) -> None:
    """Print the pairs of an app's memories that contradict each other by a rule."""
    found = _use(lambda memory: memory.conflicts(app_id))
    if as_json:
        pairs = [{"older": one.older.id, "newer": one.newer.id, "reason": one.reason} for one in found]
        print_json({"count": len(pairs), "conflicts": pairs})
        return
    rows = [(one.older.id, one.newer.id, one.reason) for one in found]
    console().print(table("older", "newer", "reason", rows=rows) if rows else "no conflicts")


@app.command("export")
def export_memories(app_id: AppArgument) -> None:
    """Print an app's memories as a JSON document for import."""
    print_json(_use(lambda memory: memory.export(app_id)).as_json())


@app.command("import")
def import_memories(
    app_id: AppArgument,
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="Output of export.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Add exported memories to an app; existing memories do not change."""
    document = _read_json(source)

    receipt = _use(lambda memory: memory.import_document(app_id, document))
    if as_json:
        print_json(receipt)
        return
    typer.echo(f"added {len(receipt.added)}, known {receipt.known}, refused {len(receipt.refused)}")
    for refusal in receipt.refused:
        typer.echo(f"  memory {refusal.index} of the document: {refusal.reason}")
    for place in receipt.shortened:
        typer.echo(f"  memory {place} of the document: shortened to {MAX_CONTENT_CHARS} characters or less")


@app.command()
def energy(
    *,
    catch_up: Annotated[
        bool, typer.Option("--run", help="Make waiting digests, as far as energy allows.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the energy level and the waiting digests."""

    async def work(memory: AppMemory) -> tuple[EnergyStatus, list[QueuedDigest], CatchUp]:
        nothing = CatchUp(digests=(), compactions=())
        caught_up = await memory.loop.run_deferred() if catch_up else nothing
        return await memory.energy.status(), await memory.waiting_digests(), caught_up

    status, waiting, caught_up = _use(work, model=catch_up)
    if as_json:
        print_json({"energy": status, "waiting": waiting, "caught_up": caught_up})
        return
    out = console()
    for receipt in caught_up.digests:
        out.print(_receipt_lines(receipt))
    for receipt in caught_up.compactions:
        out.print(_compaction_line(receipt))
    low = "; digests wait until the level is above 20 %" if status.low else ""
    out.print(f"energy {status.level:g} of {status.capacity:g} units ({status.share:.0%}){low}")
    rows = [(one.app_id, one.conversation_id, one.state, one.reason) for one in waiting]
    out.print(table("app", "conversation", "state", "reason", rows=rows) if rows else "no waiting digests")


@digests_app.command("list")
def list_digests(
    *,
    state: Annotated[ListedState, typer.Option(help="The state of the digests.")] = ListedState.SKIPPED,
    as_json: JsonOption = False,
) -> None:
    """Print the digests in a state with their reasons; by default the skipped digests."""
    found = _use(lambda memory: memory.list_digests(state))
    if as_json:
        print_json({"count": len(found), "digests": found})
        return
    rows = [(one.app_id, one.conversation_id, one.reason) for one in found]
    console().print(table("app", "conversation", "reason", rows=rows) if rows else f"no {state} digests")


@digests_app.command()
def retry(
    conversation_id: Annotated[str | None, typer.Argument(metavar="CONVERSATION")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Retry every skipped digest.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Retry the skipped digest of a conversation, or with --all every skipped digest, and print the receipts."""
    if every == (conversation_id is not None):
        raise InvalidInputError("conversation", "an id, or --all", conversation_id)
    receipts = _use(lambda memory: memory.retry_digests(conversation_id), model=True)
    if as_json:
        print_json({"count": len(receipts), "digests": receipts})
        return
    for receipt in receipts:
        console().print(_receipt_lines(receipt))
    if not receipts:
        typer.echo("no skipped digests")


@conversations_app.command("delete")
def delete_conversation(conversation_id: Annotated[str, typer.Argument(metavar="CONVERSATION")]) -> None:
    """Delete the transcript of an ended conversation. Its memory stays."""
    deleted = _use(lambda memory: memory.delete_conversation(conversation_id))
    typer.echo(f"deleted conversation {deleted.conversation_id} ({plural(deleted.message_count, 'message')})")


@app.command()
def stats(*, as_json: JsonOption = False) -> None:
    """Print usage figures of app memory."""
    figures = _use(lambda memory: memory.statistics())
    if as_json:
        print_json(figures)
        return
    rows: list[tuple[str, object]] = [
        ("apps", figures.apps),
        ("apps with memories", f"{figures.apps_with_memories} ({figures.utilisation:.0%})"),
        ("memories", f"{figures.memories}, {figures.average_chars:g} characters on average"),
        ("created in the last hour / day", f"{figures.created_last_hour} / {figures.created_last_day}"),
        ("compactions in the last day", _counted(figures.compactions_last_day)),
        ("conversations", figures.conversations),
        ("contexts with memories", f"{figures.injection_rate:.0%} of {figures.in_focus}"),
        ("digests", _counted(figures.digests)),
        ("energy", f"{figures.energy.level:g} of {figures.energy.capacity:g} units"),
        ("energy spent in the last day", _counted(figures.energy_last_day)),
    ]
    console().print(table("figure", "value", rows=rows))


def _counted(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {count:g}" for name, count in figures.items()) or "none"
