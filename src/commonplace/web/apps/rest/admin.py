"""The admin API that the specification of app memory lays down, at its paths. Source: APP-10."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from commonplace.web.access import installation_admin, installation_reader, installation_writer
from commonplace.web.apps.rest.parameters import AppId, MemoryId, OpenAppMemory
from commonplace.web.apps.rest.shapes import (
    DeletedShape,
    MemoriesPageShape,
    MemoriesShape,
    PurgedShape,
)
from commonplace.web.limits import MAX_OFFSET
from commonplace.web.paging import DEFAULT_LIMIT, MAX_LIMIT, Page
from commonplace.web.problems import INVALID_INPUT, NOT_FOUND, may_answer

router = APIRouter(
    prefix="/apps/{appId}/memories", tags=["app memory"], responses=may_answer(NOT_FOUND, INVALID_INPUT)
)


@router.get(
    "",
    operation_id="listMemories",
    dependencies=[Depends(installation_reader)],
    response_description="The memories",
    summary="List the memories of an app",
)
async def list_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    limit: Annotated[
        int | None,
        Query(ge=1, le=MAX_LIMIT, description=f"at most this many; {DEFAULT_LIMIT} with an offset"),
    ] = None,
    offset: Annotated[
        int | None, Query(ge=0, le=MAX_OFFSET, description="leave out this many from the beginning")
    ] = None,
) -> MemoriesPageShape | MemoriesShape:
    """Every memory of the app, newest first: those that all users share, and each user's own.

    Without `limit` and `offset` all come at once. With one of them a page comes, which says how many there are and
    where the next page begins.
    """
    if limit is None and offset is None:
        found = await memory.list_memories(app_id)
        return MemoriesShape.model_validate({"memories": found})
    page = Page(limit=limit or DEFAULT_LIMIT, offset=offset or 0)
    found = await memory.list_memories(app_id, limit=page.one_more, offset=page.offset)
    return page.envelope(
        MemoriesPageShape, "memories", found, total=await memory.subagent.get_memory_count(app_id)
    )


@router.delete(
    "",
    operation_id="purgeMemories",
    dependencies=[Depends(installation_admin)],
    response_description="They are gone",
    summary="Delete every memory of an app",
)
async def purge_memories(memory: OpenAppMemory, app_id: AppId) -> PurgedShape:
    """All of them, for good, their words out of the history too; digests of the app that wait come to nothing.

    The app stays. An app without memories is purged just as well, with a count of 0.
    """
    return PurgedShape(deleted_count=await memory.subagent.delete_app_memories(app_id))


@router.delete(
    "/{memoryId}",  # noqa: FAST003 - MemoryId takes it
    operation_id="deleteMemory",
    dependencies=[Depends(installation_writer)],
    response_description="It is gone",
    summary="Delete one memory of an app",
)
async def delete_memory(memory: OpenAppMemory, app_id: AppId, memory_id: MemoryId) -> DeletedShape:
    """For good, its words out of the history too. A memory of another app is as unknown as one that never was."""
    await memory.delete_memory(memory_id, app_id=app_id)
    return DeletedShape()
