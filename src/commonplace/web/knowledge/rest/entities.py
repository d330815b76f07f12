"""Entities under ``/api/v1/knowledge/entities``: the people, organizations and places that facts are about."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query

from commonplace.knowledge.entities.registry import EntityType
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
    """One name and type exist once: a second one is refused, with the id of the first."""
    return EntityShape.model_validate(await memory.entity_create(**wanted.model_dump()))


@router.get(
    "/resolve",
    operation_id="resolveEntity",
    dependencies=[Depends(reader)],
    response_description="Whom it may mean",
    summary="Find whom or what a name means",
)
async def resolve(
    memory: KnowledgeOfCaller,
    name: Annotated[str, Query(min_length=1, max_length=500, description="as it was said; a part will do")],
    entity_type: Annotated[
        EntityType | None, Query(alias="entityType", description="only of this type")
    ] = None,
    fuzzy: Annotated[bool, Query(description="whether similar spellings count as well")] = False,  # noqa: FBT002
) -> CandidatesShape:
    """None is created."""
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
    """Of one that was merged away, `survivorId` says which one it is now."""
    return EntityShape.model_validate(await _require(memory, entity_id))


@router.patch(
    "/{entityId}",  # noqa: FAST003
    operation_id="updateEntity",
    dependencies=[Depends(writer)],
    response_description="The entity as it is now",
    summary="Change an entity",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def update(
    memory: KnowledgeOfCaller,
    entity_id: EntityId,
    wanted: Annotated[ChangedEntity, Body(description="what is to change")],
) -> EntityShape:
    """The name and the list of aliases are replaced, keys of metadata are set one by one."""
    await _require(memory, entity_id)
    return EntityShape.model_validate(await memory.entity_update(entity_id, **wanted.model_dump()))


@router.post(
    "/{entityId}/merge",  # noqa: FAST003
    operation_id="mergeEntity",
    dependencies=[Depends(admin)],
    response_description="What it did",
    summary="Merge an entity into another",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def merge(
    memory: KnowledgeOfCaller,
    entity_id: EntityId,
    wanted: Annotated[WantedMerge, Body(description="which one stays")],
) -> MergedShape:
    """Names and facts go to the target; where both have a fact, the more certain one stays. It can be undone."""
    await _require(memory, entity_id)
    return MergedShape.model_validate(await memory.entity_merge(entity_id, wanted.target_entity_id))


@router.post(
    "/{entityId}/unmerge",  # noqa: FAST003
    operation_id="unmergeEntity",
    dependencies=[Depends(admin)],
    response_description="What it did",
    summary="Undo the merge of an entity",
    responses=may_answer(NOT_FOUND),
)
async def unmerge(memory: KnowledgeOfCaller, entity_id: EntityId) -> UnmergedShape:
    """Everything that the merge did is taken back, less what was changed since, which the answer names."""
    await _require(memory, entity_id)
    return UnmergedShape.model_validate(await memory.entity_unmerge(entity_id))


async def _require(memory: KnowledgeOfCaller, entity_id: UUID) -> object:
    return await memory.entity_get(entity_id)
