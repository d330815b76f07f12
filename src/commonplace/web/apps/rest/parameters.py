"""What the routes of app memory take from a request: the memory itself, an app, a memory of it."""

from typing import Annotated, cast

from fastapi import Depends, Path, Query, Request

from commonplace.apps.memory import AppMemory
from commonplace.apps.names import MAX_ID_CHARS, require_app_id
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.web.limits import LARGEST_ID


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


def memory_id(memory_id: Annotated[int, Path(alias="memoryId", description="the id of a memory")]) -> int:
    """Return the memory that a path names.

    Raises:
        NotFoundError: It is not one.
    """
    if not 1 <= memory_id <= LARGEST_ID:
        raise NotFoundError("memory", memory_id)
    return memory_id


OpenAppMemory = Annotated[AppMemory, Depends(app_memory)]
AppId = Annotated[str, Depends(app_id)]
MemoryId = Annotated[int, Depends(memory_id)]
UserId = Annotated[
    str | None,
    Query(
        alias="userId",
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="the user whose own memories count too; without one, only those that all users share",
    ),
]
