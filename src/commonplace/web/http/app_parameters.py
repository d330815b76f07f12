"""Parameters of the routes of app memory: the memory itself, the id of an app, the id of a digest."""

from typing import Annotated

from fastapi import Depends, Path, Query

from commonplace.apps import AppMemory, Id, require_app_id
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.web.http.access import OpenMemories
from commonplace.web.http.limits import row_id


async def app_memory(memories: OpenMemories) -> AppMemory:
    """Return the app memory of the service."""
    return memories.apps


async def app_id(app_id: Annotated[str, Path(alias="appId", description="the id of an app")]) -> str:
    """Return the id of an app from the path.

    Raises:
        NotFoundError: The text cannot be the id of an app.
    """
    try:
        return require_app_id(app_id)
    except InvalidInputError:
        raise NotFoundError("app", app_id) from None


OpenAppMemory = Annotated[AppMemory, Depends(app_memory)]
AppId = Annotated[str, Depends(app_id)]
MemoryId = Annotated[int, Depends(row_id("digest", "memoryId"))]
UserId = Annotated[
    Id | None,
    Query(
        alias="userId",
        description="include the digests of this user; by default only shared digests",
    ),
]
