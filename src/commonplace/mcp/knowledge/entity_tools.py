"""Tools for entities: the people, organizations and places that facts are about."""

from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.access import Role
from commonplace.core.json_values import json_safe
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge import (
    Entity,
    EntityCandidate,
    EntityRelation,
    EntityType,
    KnowledgeMemory,
    MergeReceipt,
)
from commonplace.mcp.knowledge.parameters import (
    AsOf,
    EntityId,
    EntityKind,
    Metadata,
    ScopeFilter,
    TenantId,
    ValidAt,
)
from commonplace.mcp.protocol.parameters import JSON
from commonplace.mcp.protocol.tool import ToolSpec

NO_CANDIDATE_HINT: Final = (
    "No entity has a name like this, and repeating the call will not help. Try once with another spelling, a part of "
    "the name, or enable_fuzzy. If the person or thing is new, call entity_create."
)
EntityTypeName = Annotated[EntityKind, Field(description="The type of the entity.")]
AliasList = Annotated[
    list[str] | None,
    JSON,
    Field(description='Further names, such as ["Annie", "A. Smith"]. In an update: the complete new list.'),
]


class ShownEntity(TypedDict):
    """An entity; ``survivor_id`` is the entity that it was merged into, or its own id."""

    entity_id: str
    tenant_id: str
    canonical_name: str
    entity_type: EntityType
    aliases: list[str]
    metadata: dict[str, Any]
    created_at: str
    updated_at: str
    survivor_id: str


class RelatedEntity(ShownEntity):
    """An entity with its relations to other entities, the latest first."""

    relations: list[EntityRelation]


class EntityCandidates(TypedDict):
    """The entities that a name may mean, the likeliest first."""

    count: int
    candidates: list[EntityCandidate]
    hint: NotRequired[str]


async def entity_create(
    memory: KnowledgeMemory,
    *,
    canonical_name: str,
    entity_type: EntityTypeName,
    tenant_id: TenantId,
    aliases: AliasList = None,
    metadata: Metadata = None,
) -> ShownEntity:
    """Add a person, organization, place or other thing that facts will be about.

    Call entity_resolve first: each name and type exists only once, and a duplicate is refused with the existing id.
    Returns the entity with its entity_id.

    Parameters:
        canonical_name: The full name that it is best known by.
    """
    entity = await memory.entities.create(
        canonical_name=canonical_name,
        entity_type=entity_type,
        tenant_id=tenant_id,
        aliases=aliases,
        metadata=metadata,
    )
    return _shown(entity)


async def entity_get(
    memory: KnowledgeMemory,
    *,
    entity_id: EntityId,
    tenant_id: TenantId = DEFAULT_TENANT,
    scope: ScopeFilter = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> RelatedEntity:
    """Read one entity by its id, with its relations to other entities: facts about one entity that mention another.

    If the entity was merged into another, survivor_id names that entity. Each relation has predicate,
    source, target, fact_id and text; scope, as_of and valid_at choose the facts.
    """
    entity = await memory.entities.get(entity_id, tenant_id=tenant_id, as_of=as_of)
    relations = await memory.entities.relations(entity_id, scope=scope, as_of=as_of, valid_at=valid_at)
    return {**_shown(entity), "relations": relations}


async def entity_update(
    memory: KnowledgeMemory,
    *,
    entity_id: EntityId,
    canonical_name: str | None = None,
    aliases: AliasList = None,
    metadata: Metadata = None,
    tenant_id: TenantId = DEFAULT_TENANT,
) -> ShownEntity:
    """Change an entity: the name and the list of aliases are replaced, keys of metadata are set one by one.

    Parameters that you leave out change nothing. Returns the changed entity.

    Parameters:
        canonical_name: The new name; leave it out to keep the old.
    """
    entity = await memory.entities.update(
        entity_id, canonical_name=canonical_name, aliases=aliases, metadata=metadata, tenant_id=tenant_id
    )
    return _shown(entity)


async def entity_resolve(
    memory: KnowledgeMemory,
    *,
    name: str,
    tenant_id: TenantId = DEFAULT_TENANT,
    entity_type: EntityKind | None = None,
    context_hints: Annotated[dict[str, Any] | None, JSON] = None,
    enable_fuzzy: bool = False,
) -> EntityCandidates:
    """Find the entities that a name may refer to, before you store facts about one of them.

    Returns count and candidates, the likeliest first, each with entity_id, score and name_match (exact, alias, prefix
    or fuzzy). It never creates an entity. If two candidates are equally likely, ask the user or pass context_hints.

    Parameters:
        name: The name as it was said, or a part of it.
        entity_type: Return entities of this type only.
        context_hints: Context that tells namesakes apart: topic (text), mentioned_with (list of names),
            domain_scores (entity_id to points).
        enable_fuzzy: Whether to match similar spellings as well.
    """
    found = await memory.entities.resolve(
        name,
        tenant_id=tenant_id,
        entity_type=entity_type,
        context_hints=context_hints,
        enable_fuzzy=enable_fuzzy,
    )
    answer: EntityCandidates = {"count": len(found), "candidates": found}
    return answer if found else {**answer, "hint": NO_CANDIDATE_HINT}


async def entity_merge(
    memory: KnowledgeMemory,
    *,
    source_entity_id: str,
    target_entity_id: str,
    tenant_id: TenantId = DEFAULT_TENANT,
) -> MergeReceipt:
    """Merge two entities that are the same person or thing: names and facts of the source move to the target.

    If both have a fact with the same predicate and scope, the more certain fact stays. Merge only if you are sure;
    an operator can undo the merge. Returns what moved and what was superseded; tell the user the conflicts.

    Parameters:
        source_entity_id: The entity to merge away; its names and facts move.
        target_entity_id: The entity that stays.
    """
    return await memory.entities.merge(source_entity_id, target_entity_id, tenant_id=tenant_id)


def _shown(entity: Entity) -> ShownEntity:
    row = json_safe(entity)
    return cast("ShownEntity", {"entity_id": row.pop("id"), **row})


TOOLS: Final = (
    ToolSpec(run=entity_create, title="Add an entity"),
    ToolSpec(run=entity_get, title="Read an entity", reads_only=True, repeatable=True),
    ToolSpec(run=entity_update, title="Change an entity", repeatable=True),
    ToolSpec(run=entity_resolve, title="Find the entity of a name", reads_only=True, repeatable=True),
    ToolSpec(run=entity_merge, title="Merge two entities", destroys=True, needs=Role.ADMIN),
)
