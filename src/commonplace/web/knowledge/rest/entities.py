"""Entities under ``/api/v1/knowledge/entities``: the people, organizations and places that facts are about."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query

from commonplace.knowledge import EntityType
from commonplace.web.access import KnowledgeOfCaller, admin, reader, writer
from commonplace.web.knowledge.rest.memories import BODY
from commonplace.web.knowledge.rest.shapes import (
    CandidateShape,
    CandidatesShape,
    ChangedEntity,
    EntityShape,
    MergedShape,
    NewEntity,
    UnmergedShape,
    WantedMerge,
)
from commonplace.web.problems import INVALID_INPUT, NOT_FOUND, may_answer

EntityId = Annotated[UUID, Path(alias="entityId", description="the id of an entity")]

router = APIRouter(
    prefix="/api/v1/knowledge/entities", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT)
)


@router.post(
    "",
    operation_id="createEntity",
    dependencies=[Depends(writer)],
    status_code=HTTPStatus.CREATED,
    response_description="The entity",
    summary="Add an entity",
    responses=BODY,
)
async def create(
    memory: KnowledgeOfCaller, wanted: Annotated[NewEntity, Body(description="the entity")]
) -> EntityShape:
    """A name and type are unique: a duplicate is refused, and the message names the existing entity."""
    return EntityShape.model_validate(await memory.entity_create(**wanted.model_dump()))


@router.get(
    "/resolve",
    operation_id="resolveEntity",
    dependencies=[Depends(reader)],
    response_description="The candidates",
    summary="Find the entities that a name may mean",
)
async def resolve(
    memory: KnowledgeOfCaller,
    name: Annotated[str, Query(min_length=1, max_length=500, description="a name or a part of one")],
    entity_type: Annotated[
        EntityType | None, Query(alias="entityType", description="only entities of this type")
    ] = None,
    fuzzy: Annotated[bool, Query(description="also find similar spellings")] = False,  # noqa: FBT002
) -> CandidatesShape:
    """The likeliest first; no entity is created."""
    found = await memory.entity_resolve(name, entity_type=entity_type, enable_fuzzy=fuzzy)
    return CandidatesShape(candidates=[CandidateShape.model_validate(one) for one in found])


@router.get(
    "/{entityId}",  # noqa: FAST003 - EntityId takes it, here and below
    operation_id="getEntity",
    dependencies=[Depends(reader)],
    response_description="The entity",
    summary="Read one entity",
    responses=may_answer(NOT_FOUND),
)
async def get(memory: KnowledgeOfCaller, entity_id: EntityId) -> EntityShape:
    """The `survivorId` of a merged entity names the entity that replaced it."""
    return EntityShape.model_validate(await memory.entity_get(entity_id))


@router.patch(
    "/{entityId}",  # noqa: FAST003
    operation_id="updateEntity",
    dependencies=[Depends(writer)],
    response_description="The changed entity",
    summary="Change an entity",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def update(
    memory: KnowledgeOfCaller,
    entity_id: EntityId,
    wanted: Annotated[ChangedEntity, Body(description="the changes")],
) -> EntityShape:
    """The name and the list of aliases are replaced; metadata keys are set one by one."""
    await memory.entity_get(entity_id)
    return EntityShape.model_validate(await memory.entity_update(entity_id, **wanted.model_dump()))


@router.post(
    "/{entityId}/merge",  # noqa: FAST003
    operation_id="mergeEntity",
    dependencies=[Depends(admin)],
    response_description="The receipt",
    summary="Merge an entity into another",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def merge(
    memory: KnowledgeOfCaller,
    entity_id: EntityId,
    wanted: Annotated[WantedMerge, Body(description="the target")],
) -> MergedShape:
    """Names and facts move to the target; of two facts of one key the more confident stays. It can be undone."""
    await memory.entity_get(entity_id)
    return MergedShape.model_validate(await memory.entity_merge(entity_id, wanted.target_entity_id))


@router.post(
    "/{entityId}/unmerge",  # noqa: FAST003
    operation_id="unmergeEntity",
    dependencies=[Depends(admin)],
    response_description="The receipt",
    summary="Undo the merge of an entity",
    responses=may_answer(NOT_FOUND),
)
async def unmerge(memory: KnowledgeOfCaller, entity_id: EntityId) -> UnmergedShape:
    """Restores both entities and their facts; the answer names the fields that stay because they changed since."""
    await memory.entity_get(entity_id)
    return UnmergedShape.model_validate(await memory.entity_unmerge(entity_id))
