"""``commonplace apps``: app memory."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from commonplace.apps import AppMemory, Digest, DigestOutcome, ListedState, Message, as_document
from commonplace.cli.apps.opening import opened_with_model, opened_without_model
from commonplace.cli.apps.output import numbered, receipt_lines
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.ids import DIGEST_ID, digest_id, with_short_id
from commonplace.cli.frame.output import table
from commonplace.core.errors import InvalidInputError
from commonplace.core.faults import invalid_input
from commonplace.core.text import plural, replace_surrogates
from commonplace.services.memory_ids import MemoryKind

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Id of the app.")]
UserOption = Annotated[str | None, typer.Option("--user", help="Include the digests of this user.")]

DigestArgument = Annotated[int, DIGEST_ID]

app = typer.Typer(add_completion=False, no_args_is_help=True)

digests_app = typer.Typer(help="Digests that were skipped or wait, and their retries.", no_args_is_help=True)
app.add_typer(digests_app, name="digests")
conversations_app = typer.Typer(help="Transcripts of conversations.", no_args_is_help=True)
app.add_typer(conversations_app, name="conversations")


class _ConversationDocument(BaseModel):
    """The input of ``apps ingest``."""

    model_config = ConfigDict(extra="forbid")

    conversation_id: str
    messages: list[Message]
    user_id: str | None = None


command, command_with_model = commands(app, opened_without_model), commands(app, opened_with_model)


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
    """Install or rename an app; an uninstalled app comes back with its digests."""
    registered = await memory.registry.register(app_id, name=name)
    return Answer(registered, f"{registered.outcome} {registered.app_id} ({registered.name})")


@command("list")
async def list_apps(memory: AppMemory) -> Answer:
    """Print all apps, including uninstalled apps, with the number of digests of each app."""
    return listing(
        "apps",
        await memory.registry.list(),
        ("app", "name", "status", "digests"),
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
    """Store an ended conversation, make its digest, and print the receipt.

    Ingesting a conversation again changes nothing. If the digest could not be made, the exit status is 1; ingest the
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
    return Answer(
        receipt, lambda out: out.print(receipt_lines(receipt, numbered)), error="" if skipped else None
    )


@command()
async def memories(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Print an app's own digests from all its spaces, newest first."""
    digests = await memory.list_memories(app_id)
    columns = ("id", "digest", "importance", "tags", "user", "active", "updated (UTC)")
    return Answer(
        {"count": len(digests), "memories": list(map(_document, digests))},
        table(*columns, rows=map(_cells, digests)) if digests else "No digests.",
    )


def _document(digest: Digest) -> dict[str, Any]:
    return with_short_id(MemoryKind.DIGEST, as_document(digest))


def _cells(digest: Digest) -> tuple[object, ...]:
    importance = "" if digest.metadata.importance is None else f"{digest.metadata.importance:g}"
    tags = ", ".join(digest.metadata.tags)
    active = "flagged" if digest.flags else "yes"
    return digest_id(digest.id), digest.content, importance, tags, digest.user_id, active, digest.updated_at


@command()
async def context(memory: AppMemory, app_id: AppArgument, *, user: UserOption = None) -> Answer:
    """Print the block that a model gets when a conversation of the app is in focus; print nothing without digests."""
    block = await memory.context(app_id, user_id=user)
    return Answer({"text": block.text, "memories": list(map(_document, block.memories))}, block.text)


@command()
async def purge(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Delete every digest of an app permanently, and the transcripts of its ended conversations. The app stays.

    There is no undo.
    """
    receipt = await memory.purge(app_id)
    return Answer(receipt, f"deleted {plural(receipt.deleted, 'memory', 'memories')} of {app_id}")


@command()
async def uninstall(
    memory: AppMemory,
    app_id: AppArgument,
    *,
    purge_memories: Annotated[
        bool, typer.Option("--purge-memories", help="Delete the app's digests and conversations too.")
    ] = False,
) -> Answer:
    """Uninstall an app. Its digests stay, unless you purge them."""
    receipt = await memory.registry.uninstall_app(app_id, purge_memories=purge_memories)
    retained = plural(receipt.retained, "memory", "memories")
    return Answer(receipt, f"uninstalled {app_id}: {retained} retained, {receipt.purged} purged")


@command()
async def share(
    memory: AppMemory,
    digest: DigestArgument,
    to_app: Annotated[str, typer.Argument(metavar="APP", help="Id of the other app.")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Stop sharing the digest.")] = False,
) -> Answer:
    """Share a digest with the conversations of another app."""
    receipt = await (memory.shares.remove if undo else memory.shares.add)(digest, to_app)
    word = "no longer shared" if undo else "shared"
    return Answer(
        receipt,
        f"{digest_id(digest)} {word} with {to_app}{'' if receipt.changed else ' (nothing changed)'}",
    )


@command()
async def conflicts(memory: AppMemory, app_id: AppArgument) -> Answer:
    """Print pairs of an app's digests that contradict each other, the most certain first."""
    pairs = await memory.conflicts(app_id)
    return listing(
        "conflicts",
        pairs,
        ("older", "newer", "reason"),
        lambda pair: (digest_id(pair.older.id), digest_id(pair.newer.id), pair.reason),
        if_empty="No conflicts.",
        document=lambda pair: {
            "older": pair.older.id,
            "newer": pair.newer.id,
            "probability": pair.probability,
            "reason": pair.reason,
        },
    )


@commands(digests_app, opened_without_model)("list")
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


@commands(digests_app, opened_with_model)()
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
    lines = [*map(receipt_lines, receipts)] or ["No skipped or deferred digests."]
    document = {"count": len(receipts), "digests": receipts}
    return Answer(document, lambda out: out.print("\n".join(lines)))


@commands(conversations_app, opened_without_model)("list")
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


@commands(conversations_app, opened_without_model)("delete")
async def delete_conversation(
    memory: AppMemory, conversation_id: Annotated[str, typer.Argument(metavar="CONVERSATION")]
) -> Answer:
    """Delete the transcript of an ended conversation permanently. Its digest stays."""
    deleted = await memory.conversations.delete(conversation_id)
    messages = plural(deleted.message_count, "message")
    return Answer(deleted, f"deleted conversation {deleted.conversation_id} ({messages})")


@command()
async def stats(memory: AppMemory) -> Answer:
    """Print usage figures of app memory."""
    figures = await memory.figures.total()
    rows: list[tuple[str, object]] = [
        ("apps", figures.apps),
        ("apps with digests", f"{figures.apps_with_memories} ({figures.utilisation:.0%})"),
        ("digests", f"{figures.memories}, {figures.average_chars:g} characters on average"),
        ("created in the last hour / day", f"{figures.created_last_hour} / {figures.created_last_day}"),
        ("compactions in the last day", _counted(figures.compactions_last_day)),
        ("conversations", figures.conversations),
        ("contexts with digests", f"{figures.injection_rate:.0%} of {figures.in_focus}"),
        ("outcomes of digests", _counted(figures.digests)),
        ("energy", f"{figures.energy.level:g} of {figures.energy.capacity:g} units"),
        ("energy spent in the last day", _counted(figures.energy_last_day)),
    ]
    return Answer(figures, table("figure", "value", rows=rows))


def _counted(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {count:g}" for name, count in figures.items()) or "none"
