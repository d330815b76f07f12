"""What the routes of app memory take from a request: the memory itself, an app, a memory of it."""

from typing import Annotated, cast

from fastapi import Depends, Path, Query, Request

from commonplace.apps.memory import AppMemory
from commonplace.apps.names import MAX_ID_CHARS, require_app_id
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.web.rows import row_id


def app_memory(request: Request) -> AppMemory:
    """Return the memory that the service was made with."""
    return cast("AppMemory", request.app.state.app_memory)


def app_id(app_id: Annotated[str, Path(alias="appId", description="the id of an app")]) -> str:
    """Return the app that a path names; what cannot be an id is as unknown as any other.

    Raises:
        NotFoundError: It is not one.
    """
    try:
        return require_app_id(app_id)
    except InvalidInputError:
        raise NotFoundError("app", app_id) from None


OpenAppMemory = Annotated[AppMemory, Depends(app_memory)]
AppId = Annotated[str, Depends(app_id)]
MemoryId = Annotated[int, Depends(row_id("memory", "memoryId"))]
UserId = Annotated[
    str | None,
    Query(
        alias="userId",
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="the user whose own memories count too; without one, only those that all users share",
    ),
]
