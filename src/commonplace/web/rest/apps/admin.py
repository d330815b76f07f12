"""The admin API of app memory, at the paths of its specification. Source: APP-10."""

from typing import Annotated

from fastapi import Query

from commonplace.core.bounds import Offset
from commonplace.web.http.access import installation_admin, installation_reader, installation_writer
from commonplace.web.http.app_parameters import AppId, MemoryId, OpenAppMemory
from commonplace.web.http.paging import DEFAULT_LIMIT, MAX_LIMIT, PageRequest
from commonplace.web.http.problems import NOT_FOUND
from commonplace.web.rest.api import Api
from commonplace.web.rest.apps.shapes import (
    DeletedShape,
    MemoriesPageShape,
    MemoriesShape,
    PurgedShape,
)

api = Api("/apps/{appId}/memories", "app memory", NOT_FOUND)


@api("GET", installation_reader, "The digests")
async def list_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    limit: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_LIMIT,
            description=f"the maximum number of items on the page; {DEFAULT_LIMIT} with an offset",
        ),
    ] = None,
    offset: Annotated[Offset | None, Query(description="the number of items to skip")] = None,
) -> MemoriesPageShape | MemoriesShape:
    """List the digests of an app.

    Return the digests of all users of the app, newest first. Without `limit` and `offset`, the answer has all
    digests. With either, it has one page, the total number and the offset of the next page.
    """
    if limit is None and offset is None:
        found = await memory.list_memories(app_id)
        return MemoriesShape.model_validate({"memories": found})
    page = PageRequest(limit=limit or DEFAULT_LIMIT, offset=offset or 0)
    found = await memory.list_memories(app_id, limit=page.one_more, offset=page.offset)
    return page.envelope(MemoriesPageShape, "memories", found, total=await memory.count(app_id))


@api("DELETE", installation_admin, "The digests are deleted")
async def purge_memories(memory: OpenAppMemory, app_id: AppId) -> PurgedShape:
    """Delete every digest of an app.

    Delete all digests permanently, including their text in the history, and the transcripts of ended conversations.
    Waiting digests are dropped. The app stays. For an app without digests the count is 0.
    """
    return PurgedShape(deleted_count=(await memory.purge(app_id)).deleted)


@api("DELETE /{memoryId}", installation_writer, "The digest is deleted")
async def delete_memory(memory: OpenAppMemory, app_id: AppId, memory_id: MemoryId) -> DeletedShape:
    """Delete one digest of an app.

    Delete the digest permanently, including its text in the history. Digests of other apps are not found.
    """
    await memory.delete(memory_id, app_id=app_id)
    return DeletedShape()
