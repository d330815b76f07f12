"""``commonplace knowledge entity``: the people, organizations and places that facts are about."""

from typing import Annotated, Any

import typer

from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.output import AllowSecrets
from commonplace.cli.knowledge.identity import document
from commonplace.cli.knowledge.lists import LimitOption
from commonplace.cli.knowledge.options import (
    AsOfOption,
    EntityArgument,
    ScopeOption,
    ValidAtOption,
    entity_of,
    json_object,
    opened,
    record,
)
from commonplace.core.json_values import json_safe
from commonplace.knowledge import LIST_LIMIT, Entity, EntityType, KnowledgeMemory, MemoryType, short_id

app = typer.Typer(help="The people, organizations and places that facts are about.", no_args_is_help=True)
command = commands(app, opened)

AliasOption = Annotated[list[str] | None, typer.Option("--alias", help="Another name. Repeatable.")]
MetadataOption = Annotated[
    dict[str, Any] | None, typer.Option(parser=json_object, metavar="JSON", help="A JSON object.")
]


@command()
async def create(
    memory: KnowledgeMemory,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name by which the entity is best known.")],
    *,
    kind: Annotated[EntityType, typer.Option("--type", help="The type.")],
    alias: AliasOption = None,
    metadata: MetadataOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add an entity. No other entity may have its name and type."""
    entity = await memory.entities.create(
        canonical_name=name,
        entity_type=kind,
        aliases=alias,
        metadata=metadata,
        allow_secrets=allow_secrets,
    )
    return _record(entity)


@command()
async def get(memory: KnowledgeMemory, entity: EntityArgument, *, as_of: AsOfOption = None) -> Answer:
    """Print an entity. If it was merged, survivor_id names the entity that replaced it."""
    found = await memory.entities.get(await entity_of(memory, entity), as_of=as_of)
    return _record(found)


@command()
async def relations(
    memory: KnowledgeMemory,
    entity: EntityArgument,
    *,
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    valid_at: ValidAtOption = None,
    limit: LimitOption = LIST_LIMIT,
) -> Answer:
    """List the relations of an entity: facts about one entity that mention another."""
    return listing(
        "relations",
        await memory.entities.relations(
            await entity_of(memory, entity), scope=scope, as_of=as_of, valid_at=valid_at, limit=limit
        ),
        ("entity", "relation", "entity", "fact"),
        lambda each: (
            each.source_name,
            each.predicate,
            each.target_name,
            short_id(MemoryType.FACT, each.fact_id),
        ),
        if_empty="No relations.",
    )


@command()
async def update(
    memory: KnowledgeMemory,
    entity_id: EntityArgument,
    *,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    alias: AliasOption = None,
    no_aliases: Annotated[bool, typer.Option("--no-aliases", help="Remove all aliases.")] = False,
    metadata: MetadataOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Change an entity. New aliases replace the old list; metadata keys are set one by one."""
    entity = await memory.entities.update(
        await entity_of(memory, entity_id),
        canonical_name=name,
        aliases=[] if no_aliases else alias,
        metadata=metadata,
        allow_secrets=allow_secrets,
    )
    return _record(entity)


@command()
async def resolve(
    memory: KnowledgeMemory,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or part of a name.")],
    *,
    kind: Annotated[EntityType | None, typer.Option("--type", help="Only this type.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic of the conversation.")] = None,
    mentioned_with: Annotated[
        list[str] | None,
        typer.Option("--with", help="Another name from the same conversation. Repeatable."),
    ] = None,
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="Also find similar spellings.")] = False,
) -> Answer:
    """Find the entities that a name may refer to, most likely first."""
    hints = {"topic": topic, "mentioned_with": mentioned_with}
    given = {key: value for key, value in hints.items() if value}
    found = await memory.entities.resolve(
        name, entity_type=kind, context_hints=given or None, enable_fuzzy=fuzzy
    )
    return listing(
        "candidates",
        found,
        ("id", "name", "type", "aliases", "match", "score"),
        lambda each: (
            short_id("entity", each.entity_id),
            each.canonical_name,
            each.entity_type,
            ", ".join(each.aliases),
            each.name_match,
            each.score,
        ),
        if_empty="No entities.",
    )


@command()
async def merge(
    memory: KnowledgeMemory,
    source_id: Annotated[str, typer.Argument(metavar="SOURCE", help="The entity to merge away.")],
    target_id: Annotated[str, typer.Argument(metavar="TARGET", help="The entity that stays.")],
) -> Answer:
    """Merge two entries for the same entity; names and facts move to the target."""
    source, target = await entity_of(memory, source_id), await entity_of(memory, target_id)
    receipt = await memory.entities.merge(source, target)
    conflicts = [
        f"{each.predicate}: kept {each.kept_text!r}, superseded {each.superseded_text!r}"
        for each in receipt.conflicts
    ]
    return record(receipt, json_safe(receipt) | {"conflicts": "\n".join(conflicts) or None})


@command()
async def unmerge(
    memory: KnowledgeMemory,
    source_id: Annotated[str, typer.Argument(metavar="SOURCE", help="The entity that was merged.")],
) -> Answer:
    """Undo a merge. Fields that changed since the merge stay, and the output lists them."""
    receipt = await memory.entities.unmerge(source_id)
    return record(receipt, json_safe(receipt))


def _record(entity: Entity) -> Answer:
    fields = document(entity)
    return record(fields, fields)
