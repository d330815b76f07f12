"""Ids of rows in paths and bodies."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Path
from pydantic import Field

from commonplace.core.errors import NotFoundError
from commonplace.web.limits import LARGEST_ID

MOST_AT_ONCE: Final = 1000

RowIds = Annotated[
    list[Annotated[int, Field(ge=1, le=LARGEST_ID)]],
    Field(min_length=1, max_length=MOST_AT_ONCE, description="1 to 1000 ids"),
]


def row_id(kind: str, alias: str) -> Callable[[int], Awaitable[int]]:
    """Return the dependency that reads the id of a ``kind`` from a path; a number that cannot be an id gives 404."""

    async def read(value: Annotated[int, Path(alias=alias, description=f"the id of a {kind}")]) -> int:
        if not 1 <= value <= LARGEST_ID:
            raise NotFoundError(kind, value)
        return value

    return read
