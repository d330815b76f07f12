"""Shared options, tables and the opening of knowledge memory for its commands."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Annotated, Any, Final, cast
from uuid import UUID

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer
from commonplace.cli.frame.output import shown, table
from commonplace.cli.frame.run import settings, source
from commonplace.cli.knowledge.identity import document
from commonplace.core.bounds import Share
from commonplace.core.clock import utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.parameter_groups import BuiltBy
from commonplace.core.quoting import quoted
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.sources import Source
from commonplace.core.text import trim_to
from commonplace.knowledge import (
    Fact,
    KnowledgeMemory,
    Memory,
    MemoryType,
    Narrowing,
    Scores,
    SearchResult,
    short_id,
)
from commonplace.services.memory_ids import MemoryKind, is_beginning, parse_memory_id

SHOWN_CHARS: Final = 300
"""Maximum number of characters of a text in a table; ``--json`` and ``get`` show the whole text."""

SCORES: Final = ("composite_score", "contextual_score", "rrf_score", "similarity", "rank")
"""The scores that rank results; a result shows the first score that it has."""

TenantOption = Annotated[str, typer.Option("--tenant", help="Owner of the memories.")]
ScopeOption = Annotated[
    str | None,
    typer.Option(
        "--scope", help="Name of a butler; shows its memories and global memories.", show_default="everything"
    ),
]
ButlerOption = Annotated[
    str | None, typer.Option("--butler", help="Only this butler's episodes.", show_default="all butlers")
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Show what was known at this time, or at the end of this day, such as 2026-05-01 or yesterday.",
    ),
]
ValidAtOption = Annotated[
    str | None,
    typer.Option(
        "--valid-at",
        metavar="TIME",
        help="Show facts that were true at this time, or at the end of this day.",
    ),
]
TaggedOption = Annotated[
    list[str] | None, typer.Option("--tag", help="Only memories with this tag. Repeatable.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only memories stored at this time or later, such as 2026-05-01 or yesterday.",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help='Only memories stored before this date or time, or by the end of words such as "last friday".',
    ),
]
LearnedOption = Annotated[
    str | None, typer.Option("--learned-by", metavar="BUTLER", help="Only memories learned by this butler.")
]
AboutOption = Annotated[
    str | None,
    typer.Option(
        "--entity",
        metavar="ENTITY",
        help="Only facts about this entity, or facts that mention it; id or name.",
    ),
]
OfEntityOption = Annotated[
    str | None,
    typer.Option("--entity", metavar="ENTITY", help="Only facts about this entity: its id or name."),
]
ExactScopeOption = Annotated[
    str | None,
    typer.Option("--scope", help="Only this scope, without the global one.", show_default="all scopes"),
]
TypeArgument = Annotated[MemoryType, typer.Argument(metavar="TYPE", help="episode, fact or rule.")]
EntityArgument = Annotated[
    str, typer.Argument(metavar="ENTITY", help="The ID or name of an entity, such as n:4h1tz or Ada.")
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="A UUID, the start of a UUID, or a short id such as f:3k7q2.")
]
RelevanceOption = Annotated[
    float | None,
    bounded(
        Share,
        "--min-relevance",
        help="Minimum similarity of the best memory; below it, none is shown. 0: no minimum.",
        show_default="min_relevance of the settings",
    ),
]

MinTrustOption = Annotated[
    Source | None,
    typer.Option("--min-trust", help="Leave out memories that are less trusted than this source."),
]


def opened(tenant: TenantOption = DEFAULT_TENANT) -> AbstractAsyncContextManager[KnowledgeMemory]:
    """Open the knowledge memory of a tenant.

    Raises:
        InvalidInputError: The tenant's id is malformed.
        StorageError: The database cannot be opened.
    """
    return KnowledgeMemory.open(settings(), tenant_id=tenant, source=source())


async def entity_of(memory: KnowledgeMemory, name: str) -> UUID:
    """Return the id of an entity from its id, one of its names, or a part of a name.

    Raises:
        InvalidInputError: No entity or several entities have the name.
    """
    with suppress(InvalidInputError):
        if isinstance(parsed := parse_memory_id(name), UUID):
            return parsed
        if parsed.kind is MemoryKind.ENTITY:
            return (await memory.entities.get(parsed.full)).id
    if not name.strip():
        raise InvalidInputError("entity", "a name or an id", name)
    found = await memory.entities.resolve(name)
    if not found and is_beginning(name):
        return (await memory.entities.get(name)).id
    best = [each for each in found if each.name_match is found[0].name_match]
    if len(best) != 1:
        known = ", ".join(
            f"{short_id('entity', each.entity_id)} ({each.canonical_name})" for each in best[:3]
        )
        similar = (
            "the name of an entity; to find similar names: commonplace knowledge entity resolve NAME --fuzzy"
        )
        form = f"one of {known}" if known else similar
        raise InvalidInputError("entity", form, name)
    return best[0].entity_id


async def narrowing(
    memory: KnowledgeMemory,
    *,
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    valid_at: ValidAtOption = None,
    min_trust: MinTrustOption = None,
    tag: TaggedOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    learned_by: LearnedOption = None,
    entity: AboutOption = None,
) -> Narrowing:
    """Return the narrowing of a search or recall."""
    return Narrowing(
        scope=scope,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tags=tag,
        since=since,
        until=until,
        learned_by=learned_by,
        entity_id=await entity_of(memory, entity) if entity is not None else None,
        times=memory.times,
    )


async def narrowing_of_block(
    memory: KnowledgeMemory,
    *,
    as_of: AsOfOption = None,
    valid_at: ValidAtOption = None,
    min_trust: MinTrustOption = None,
    tag: TaggedOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    learned_by: LearnedOption = None,
    entity: AboutOption = None,
) -> Narrowing:
    """Return the narrowing of a block, whose scope is its butler."""
    return await narrowing(
        memory,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tag=tag,
        since=since,
        until=until,
        learned_by=learned_by,
        entity=entity,
    )


def narrowing_of_rules(
    memory: KnowledgeMemory,
    *,
    scope: ExactScopeOption = None,
    as_of: AsOfOption = None,
    min_trust: MinTrustOption = None,
    tag: TaggedOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    learned_by: LearnedOption = None,
) -> Narrowing:
    """Return the narrowing of a list of rules, which have neither a period nor an entity."""
    return Narrowing(
        scope=scope,
        as_of=as_of,
        min_trust=min_trust,
        tags=tag,
        since=since,
        until=until,
        learned_by=learned_by,
        times=memory.times,
    )


async def narrowing_of_facts(
    memory: KnowledgeMemory,
    *,
    scope: ExactScopeOption = None,
    as_of: AsOfOption = None,
    valid_at: ValidAtOption = None,
    min_trust: MinTrustOption = None,
    tag: TaggedOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    learned_by: LearnedOption = None,
    entity: OfEntityOption = None,
) -> Narrowing:
    """Return the narrowing of a list of facts."""
    return await narrowing(
        memory,
        scope=scope,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tag=tag,
        since=since,
        until=until,
        learned_by=learned_by,
        entity=entity,
    )


Within = Annotated[Narrowing, BuiltBy(narrowing)]
"""The narrowing of a search or recall; a command shows its fields as options."""

WithinBlock = Annotated[Narrowing, BuiltBy(narrowing_of_block)]
"""The narrowing of a block; a command shows its fields as options."""

WithinFacts = Annotated[Narrowing, BuiltBy(narrowing_of_facts)]
"""The narrowing of a list of facts; a command shows its fields as options."""

WithinRules = Annotated[Narrowing, BuiltBy(narrowing_of_rules)]
"""The narrowing of a list of rules; a command shows its fields as options."""


def results(found: Sequence[SearchResult], *, if_empty: str = "No memories.") -> Answer:
    """Return found memories, best first, with explanations under the table, if any."""
    rows = [
        (
            number,
            each.memory.memory_type,
            short_id(each.memory.memory_type, each.memory.id),
            f"{about(each.memory, each.until_then)}{_stand_ins(each)}",
            _score(each.scores),
            each.memory.created_at,
        )
        for number, each in enumerate(found, start=1)
    ]
    shown_table = table("", "type", "id", "text", "score", "since (UTC)", rows=rows) if rows else if_empty
    reasons = [
        f"[bold]{number}[/] [dim]{shown(each.explanation.why)}[/]"
        for number, each in enumerate(found, start=1)
        if each.explanation is not None
    ]
    return Answer(
        {"count": len(found), "results": [document(each) for each in found]},
        lambda out: out.print(shown_table, *reasons, sep="\n"),
    )


def about(memory: Memory, until: Fact | None = None) -> str:
    """Return the text of a memory for a table; a fact includes its subject and predicate.

    A fact that does not hold yet says from when it will, and what holds until then.
    """
    content = trim_to(memory.content, SHOWN_CHARS)
    if not isinstance(memory, Fact):
        return content
    text = f"{memory.subject} {memory.predicate}: {content}"
    if not memory.begins_after(utc_now()):
        return text
    then = "" if until is None else f"; until then: {trim_to(until.content, SHOWN_CHARS)}"
    return f"{text} (from {memory.valid_from:%Y-%m-%d}{then})"


def _stand_ins(result: SearchResult) -> str:
    """Return the ids of the memories that a result stands for, with the text of other values."""
    named = [
        f"{short_id(each.memory_type, each.id)}"
        + ("" if each.content == result.memory.content else f" {trim_to(each.content, SHOWN_CHARS)}")
        for each in result.stands_for
    ]
    return f" (stands for {'; '.join(named)})" if named else ""


def _score(scores: Scores) -> str:
    values = (getattr(scores, name) for name in SCORES)
    return next((f"{value:.4f}" for value in values if value is not None), "")


def record(value: object, fields: Mapping[str, object]) -> Answer:
    """Return one record, shown as one line for each non-empty field."""
    rows = [(name, _value(value)) for name, value in fields.items() if value not in (None, [], {}, ())]
    return Answer(value, table("field", "value", rows=rows))


def _value(value: object) -> str:
    return (
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, dict | list | tuple)
        else str(value)
    )


def json_object(text: str) -> dict[str, Any]:
    """Read an option that is a JSON object.

    Raises:
        typer.BadParameter: The text is not a JSON object.
    """
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise typer.BadParameter(f'expected a JSON object such as {{"team": "infra"}}, got {quoted(text)}')
    return cast("dict[str, Any]", value)
