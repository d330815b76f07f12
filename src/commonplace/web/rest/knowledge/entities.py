"""Entities under ``/api/v1/knowledge/entities``: the people, organizations and places that facts are about."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from commonplace.knowledge import LIST_LIMIT, Entity, EntityType, Limit, MergeReceipt, UnmergeReceipt
from commonplace.web.http.access import KnowledgeOfCaller, admin, reader, writer
from commonplace.web.http.problems import NOT_FOUND, STATE_CONFLICT
from commonplace.web.rest.api import Api
from commonplace.web.rest.knowledge.memories import BODY
from commonplace.web.rest.knowledge.narrowing import AsOf, ScopeFilter, ValidAt
from commonplace.web.rest.knowledge.shapes import (
    CandidatesShape,
    ChangedEntity,
    MergeRequest,
    NewEntity,
    RelationsShape,
)

EntityId = Annotated[UUID, Path(alias="entityId", description="the id of an entity")]

api = Api("/api/v1/knowledge/entities", "knowledge memory")


@api("POST", writer, "The entity", *BODY, status=HTTPStatus.CREATED)
async def create_entity(memory: KnowledgeOfCaller, wanted: NewEntity) -> Entity:
    """Add an entity.

    The combination of name and type is unique: a duplicate is refused, and the message names the existing entity.

    Parameters:
        body: the entity
    """
    return await memory.entities.create(**wanted.model_dump())


@api("GET /resolve", reader, "The candidates")
async def resolve_entity(
    memory: KnowledgeOfCaller,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    entity_type: Annotated[EntityType | None, Query(alias="entityType")] = None,
    *,
    fuzzy: bool = False,
) -> CandidatesShape:
    """Find the entities that a name may refer to.

    Most likely first; no entity is created.

    Parameters:
        name: a name or part of a name
        entityType: only entities of this type
        fuzzy: also find similar spellings
    """
    found = await memory.entities.resolve(name, entity_type=entity_type, enable_fuzzy=fuzzy)
    return CandidatesShape.model_validate({"candidates": found})


@api("GET /{entityId}", reader, "The entity", NOT_FOUND)
async def get_entity(memory: KnowledgeOfCaller, entity_id: EntityId, as_of: AsOf = None) -> Entity:
    """Read one entity.

    The `survivorId` of a merged entity names the entity that replaced it.
    """
    return await memory.entities.get(entity_id, as_of=as_of)


@api("GET /{entityId}/relations", reader, "The relations", NOT_FOUND)
async def list_relations(
    memory: KnowledgeOfCaller,
    entity_id: EntityId,
    scope: ScopeFilter = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    limit: Limit = LIST_LIMIT,
) -> RelationsShape:
    """List the relations of an entity.

    Return facts about one entity that mention another, in either direction, latest first.

    Parameters:
        limit: the maximum number of relations
    """
    found = await memory.entities.relations(
        entity_id, scope=scope, as_of=as_of, valid_at=valid_at, limit=limit
    )
    return RelationsShape.model_validate({"relations": found})


@api("PATCH /{entityId}", writer, "The changed entity", NOT_FOUND, STATE_CONFLICT, *BODY)
async def update_entity(memory: KnowledgeOfCaller, entity_id: EntityId, wanted: ChangedEntity) -> Entity:
    """Change an entity.

    A new name or list of aliases replaces the old one; metadata keys are set one by one.

    Parameters:
        body: the changes
    """
    await memory.entities.get(entity_id)
    return await memory.entities.update(entity_id, **wanted.model_dump())


@api("POST /{entityId}/merge", admin, "The receipt", NOT_FOUND, STATE_CONFLICT, *BODY)
async def merge_entity(memory: KnowledgeOfCaller, entity_id: EntityId, wanted: MergeRequest) -> MergeReceipt:
    """Merge an entity into another.

    Names and facts move to the target. Of two facts with the same key, the more trusted stays. The merge can be undone.

    Parameters:
        body: the target
    """
    await memory.entities.get(entity_id)
    return await memory.entities.merge(entity_id, wanted.target_entity_id)


@api("POST /{entityId}/unmerge", admin, "The receipt", NOT_FOUND, STATE_CONFLICT)
async def unmerge_entity(memory: KnowledgeOfCaller, entity_id: EntityId) -> UnmergeReceipt:
    """Undo the merge of an entity.

    Restore both entities and their facts. The response names the fields that stay because they changed since.
    """
    await memory.entities.get(entity_id)
    return await memory.entities.unmerge(entity_id)
