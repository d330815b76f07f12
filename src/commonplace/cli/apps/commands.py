"""``commonplace apps``: app memory."""

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console
from rich.markup import escape

from commonplace.apps import (
    MAX_CONTENT_CHARS,
    AppMemory,
    CatchUp,
    CompactionReceipt,
    Digest,
    DigestOutcome,
    DigestReceipt,
    ListedState,
    Message,
    as_document,
)
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.ids import DIGEST_ID, digest_id
from commonplace.cli.frame.output import flagged_line, print_json, table
from commonplace.cli.frame.run import run, settings
from commonplace.core.errors import InvalidInputError
from commonplace.core.faults import invalid_input
from commonplace.core.text import plural, replace_surrogates
from commonplace.services.review.ids import quarantined_id

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Id of the app.")]
UserOption = Annotated[str | None, typer.Option("--user", help="Include the memories of this user.")]

MemoryArgument = Annotated[int, DIGEST_ID]

_COLOURS: Final = {
    DigestOutcome.CREATED: "green",
    DigestOutcome.SKIPPED: "bold red",
    DigestOutcome.REFUSED: "red",
    DigestOutcome.DEFERRED: "yellow",
}

app = typer.Typer(add_completion=False, no_args_is_help=True)

digests_app = typer.Typer(help="Digests of ended conversations.", no_args_is_help=True)
app.add_typer(digests_app, name="digests")
conversations_app = typer.Typer(help="Transcripts of conversations.", no_args_is_help=True)
app.add_typer(conversations_app, name="conversations")


class _ConversationDocument(BaseModel):
    """The input of ``apps ingest``."""

    model_config = ConfigDict(extra="forbid")

    conversation_id: str
    messages: list[Message]
    user_id: str | None = None


def _opened_with_model() -> AbstractAsyncContextManager[AppMemory]:
    return AppMemory.open(settings())


def _opened() -> AbstractAsyncContextManager[AppMemory]:
    """Open app memory for work without a model, because the model's key or program may be missing."""
    return AppMemory.open(settings().with_model(None))


command, command_with_model = commands(app, _opened), commands(app, _opened_with_model)


def _read_json(source: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON document of a file, or of standard input for ``-``.

    Raises:
        InvalidInputError: The file cannot be read, or is not JSON.
    """
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        # A program that cuts text within an emoji leaves a lone surrogate, which databases refuse.
        return json.loads(replace_surrogates(json.dumps(json.loads(data), ensure_ascii=False)))
    except OSError as error:
        raise InvalidInputError("file", "a readable JSON file, or -", f"{source}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("file", f"a JSON document ({error})", source) from None


@command()
async def register(
    memory: AppMemory,
    app_id: AppArgument,
    *,
    name: Annotated[str | None, typer.Option(help="Name in the context block. Default: the id.")] = None,
) -> Answer:
    """Install or rename an app; an uninstalled app comes back with its memories."""
    registered = await memory.registry.register(app_id, name=name)
    return Answer(registered, f"{registered.outcome} {registered.app_id} ({registered.name})")


@command("list")
async def list_apps(memory: AppMemory) -> Answer:
    """Print all apps, including uninstalled apps, with the number of memories of each app."""
    return listing(
        "apps",
        await memory.registry.list(),
        ("app", "name", "status", "memories"),
        lambda one: (one.app.app_id, one.app.name, one.app.status, one.memories),
        if_empty="No apps.",
    )


@command_with_model()
async def ingest(
    memory: AppMemory,
    app_id: AppArgument,
    source: Annotated[
        str,
        typer.Argument(metavar="FILE|-", help='{"conversation_id": …, "messages": [{"role", "content"}, …]}'),
    ],
) -> Answer:
    """Store an ended conversation, make its memory, and print the receipt.

    Ingesting a conversation again changes nothing. If the memory could not be made, the exit status is 1; ingest the
    conversation again to retry.
    """
    try:
        document = _ConversationDocument.model_validate(_read_json(source))
    except ValidationError as error:
        raise invalid_input(error.errors()[0], whole="conversation") from None
    receipt = await memory.ingest(
        app_id, document.conversation_id, document.messages, user_id=document.user_id
    )
    skipped = receipt.outcome is DigestOutcome.SKIPPED
    # The receipt gives the reason, and app memory logs it.
    return Answer(receipt, lambda out: out.print(_receipt_lines(receipt)), error="" if skipped else None)


def _receipt_lines(receipt: DigestReceipt) -> str:
    colour = _COLOURS.get(receipt.outcome, "dim")
    lines = [f"[{colour}]{receipt.outcome}[/] conversation {escape(receipt.conversation_id)}"]
    if receipt.memory is not None:
        how = " [dim](sentences picked, no model)[/]" if receipt.extractive else ""
        lines.append(f"  #{receipt.memory.id} {escape(receipt.memory.content)}{how}")
        if receipt.memory.flags:
            lines.append(f"  {flagged_line(quarantined_id('a', receipt.memory.id), receipt.memory.flags)}")
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


@command()
async def memories(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Print an app's own memories from all its spaces, newest first."""
    found = await memory.list_memories(app_id)
    documents = [as_document(each) for each in found]
    return _memories(documents, [_cells(each) for each in found])


def _memories(documents: list[dict[str, Any]], rows: list[tuple[object, ...]], *further: str) -> Answer:
    columns = ("id", "memory", "importance", "tags", "user", "active", "updated (UTC)", *further)
    shown = table(*columns, rows=rows) if rows else "No memories."
    return Answer({"count": len(documents), "memories": documents}, shown)


def _cells(memory: Digest) -> tuple[object, ...]:
    importance = "" if memory.metadata.importance is None else f"{memory.metadata.importance:g}"
    tags = ", ".join(memory.metadata.tags)
    active = "flagged" if memory.flags else "yes"
    return digest_id(memory.id), memory.content, importance, tags, memory.user_id, active, memory.updated_at


@command()
async def context(memory: AppMemory, app_id: AppArgument, *, user: UserOption = None) -> Answer:
    """Print the block that a model gets when a conversation of the app is in focus; print nothing without memories."""
    block = await memory.context(app_id, user_id=user)
    return Answer(
        {"text": block.text, "memories": [as_document(each) for each in block.memories]}, block.text
    )


@command()
async def search(
    memory: AppMemory,
    app_id: AppArgument,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, or a question with --semantic.")],
    *,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Search by meaning instead of by words.")
    ] = False,
    user: UserOption = None,
) -> Answer:
    """Search the memories that the app's conversations can see, best first."""
    hits = await memory.search(app_id, query, by="meaning" if semantic else "words", user_id=user)
    documents = [as_document(hit.memory) | {"score": hit.score, "words": hit.words} for hit in hits]
    return _memories(documents, [(*_cells(hit.memory), f"{hit.score:.2f}") for hit in hits], "score")


@command()
async def delete(memory: AppMemory, memory_id: MemoryArgument) -> Answer:
    """Delete a memory permanently, including its text in the history."""
    deleted = await memory.delete(memory_id)
    return Answer(
        {"deleted": deleted.id, "app_id": deleted.app_id},
        f"deleted {digest_id(deleted.id)} of {deleted.app_id}",
    )


@command()
async def purge(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Delete every memory of an app permanently, and the transcripts of its ended conversations. The app stays."""
    receipt = await memory.purge(app_id)
    return Answer(receipt, f"deleted {plural(receipt.deleted, 'memory', 'memories')} of {app_id}")


@command()
async def uninstall(
    memory: AppMemory,
    app_id: AppArgument,
    *,
    purge_memories: Annotated[
        bool, typer.Option("--purge-memories", help="Delete the app's memories and conversations too.")
    ] = False,
) -> Answer:
    """Uninstall an app. Its memories stay, unless you purge them."""
    receipt = await memory.registry.uninstall_app(app_id, purge_memories=purge_memories)
    retained = plural(receipt.retained, "memory", "memories")
    return Answer(receipt, f"uninstalled {app_id}: {retained} retained, {receipt.purged} purged")


@command()
async def share(
    memory: AppMemory,
    memory_id: MemoryArgument,
    to_app: Annotated[str, typer.Argument(metavar="APP", help="Id of the other app.")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Stop sharing the memory.")] = False,
) -> Answer:
    """Share a memory with the conversations of another app."""
    receipt = await (memory.shares.remove if undo else memory.shares.add)(memory_id, to_app)
    word = "no longer shared" if undo else "shared"
    return Answer(
        receipt,
        f"{digest_id(memory_id)} {word} with {to_app}{'' if receipt.changed else ' (nothing changed)'}",
    )


@command()
async def conflicts(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Print pairs of an app's memories that contradict each other, as found by a rule."""
    found = await memory.conflicts(app_id)
    return listing(
        "conflicts",
        [{"older": one.older.id, "newer": one.newer.id, "reason": one.reason} for one in found],
        ("older", "newer", "reason"),
        lambda one: tuple(one.values()),
        if_empty="No conflicts.",
    )


@app.command("export")
def export_memories(app_id: AppArgument) -> None:
    """Print an app's memories as a JSON document for import."""

    async def exported() -> None:
        async with _opened() as memory:
            print_json((await memory.export(app_id)).as_json())

    run(exported())


@command("import")
async def import_memories(
    memory: AppMemory,
    app_id: AppArgument,
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="The output of `commonplace apps export`.")],
) -> Answer:
    """Add exported memories to an app; existing memories do not change."""
    receipt = await memory.import_document(app_id, _read_json(source))
    lines = [f"added {len(receipt.added)}, known {receipt.known}, refused {len(receipt.refused)}"]
    lines += [f"  memory {refusal.index} of the document: {refusal.reason}" for refusal in receipt.refused]
    shortened = f"shortened to {MAX_CONTENT_CHARS} characters or less"
    lines += [f"  memory {place} of the document: {shortened}" for place in receipt.shortened]
    return Answer(receipt, "\n".join(lines))


@commands(app)()
async def energy(
    *,
    catch_up: Annotated[
        bool, typer.Option("--run", help="Make the waiting digests while energy lasts.")
    ] = False,
) -> Answer:
    """Print the energy level and the waiting digests."""
    async with _opened_with_model() if catch_up else _opened() as memory:
        caught_up = await memory.digests.run_deferred() if catch_up else CatchUp(digests=(), compactions=())
        status, waiting = await memory.energy.status(), await memory.digests.waiting()

    def text(out: Console) -> None:
        digests = map(_receipt_lines, caught_up.digests)
        for line in (*digests, *map(_compaction_line, caught_up.compactions)):
            out.print(line)
        low = "; digests wait until the level is above 20 %" if status.low else ""
        out.print(f"energy {status.level:g} of {status.capacity:g} units ({status.share:.0%}){low}")
        rows = [(one.app_id, one.conversation_id, one.state, one.reason) for one in waiting]
        columns = ("app", "conversation", "state", "reason")
        out.print(table(*columns, rows=rows) if rows else "No waiting digests.")

    return Answer({"energy": status, "waiting": waiting, "caught_up": caught_up}, text)


@commands(digests_app, _opened)("list")
async def list_digests(
    memory: AppMemory,
    *,
    state: Annotated[ListedState, typer.Option(help="The state of the digests.")] = ListedState.SKIPPED,
) -> Answer:
    """Print the digests in a state with their reasons and times. Default: skipped digests."""
    return listing(
        "digests",
        await memory.digests.list(state),
        ("app", "conversation", "state", "reason", "updated (UTC)"),
        lambda one: (one.app_id, one.conversation_id, one.outcome or one.state, one.reason, one.updated_at),
        if_empty=f"No {state} digests.",
    )


@commands(digests_app, _opened_with_model)()
async def retry(
    memory: AppMemory,
    conversation_id: Annotated[str | None, typer.Argument(metavar="CONVERSATION")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Retry every skipped or deferred digest.")] = False,
) -> Answer:
    """Retry the skipped or deferred digest of a conversation, or all of them with --all; print the receipts."""
    if every == (conversation_id is not None):
        raise typer.BadParameter("expected an id, or --all", param_hint="CONVERSATION")
    receipts = await memory.digests.retry(conversation_id)
    lines = [*map(_receipt_lines, receipts)] or ["No skipped or deferred digests."]
    document = {"count": len(receipts), "digests": receipts}
    return Answer(document, lambda out: out.print("\n".join(lines)))


@commands(conversations_app, _opened)("list")
async def list_conversations(
    memory: AppMemory,
    app_id: AppArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of conversations.")] = 50,
) -> Answer:
    """Print an app's ended conversations, most recently ended first."""
    return listing(
        "conversations",
        await memory.conversations.list(app_id, limit=limit),
        ("conversation", "user", "messages", "ended (UTC)", "reason"),
        lambda one: (one.conversation_id, one.user_id, one.message_count, one.ended_at, one.end_reason),
        if_empty="No ended conversations.",
    )


@commands(conversations_app, _opened)("delete")
async def delete_conversation(
    memory: AppMemory, conversation_id: Annotated[str, typer.Argument(metavar="CONVERSATION")]
) -> Answer:
    """Delete the transcript of an ended conversation. Its memory stays."""
    deleted = await memory.conversations.delete(conversation_id)
    messages = plural(deleted.message_count, "message")
    return Answer(deleted, f"deleted conversation {deleted.conversation_id} ({messages})")


@command()
async def stats(memory: AppMemory) -> Answer:
    """Print usage figures of app memory."""
    figures = await memory.figures.total()
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
    return Answer(figures, table("figure", "value", rows=rows))


def _counted(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {count:g}" for name, count in figures.items()) or "none"
