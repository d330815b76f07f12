"""The largest numbers that requests may contain, and parameters that several routes take."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import Field

from commonplace.core.errors import NotFoundError

LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column."""

MAX_OFFSET: Final = 2**31 - 1
"""Larger than the length of any list."""

MAX_CURSOR_CHARS: Final = 4000
"""Longer than any cursor."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""Longer than any prompt that a model accepts."""

SearchWords = Annotated[str, Field(max_length=200)]
"""A text to search for on a page."""

FilterText = Annotated[str | None, Query(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
"""A text that the items of a list equal or contain."""

BudgetTokens = Annotated[
    int | None,
    Query(
        alias="budgetTokens",
        ge=0,
        le=MAX_BUDGET_TOKENS,
        description="the maximum length of the text; by default as configured",
    ),
]

RowIds = Annotated[
    list[Annotated[int, Field(ge=1, le=LARGEST_ID)]],
    Field(min_length=1, max_length=1000, description="1 to 1000 ids"),
]


def row_id(kind: str, alias: str) -> Callable[[int], Awaitable[int]]:
    """Return the dependency that reads the id of a ``kind`` from a path; a number that cannot be an id gives 404."""

    async def read(value: Annotated[int, Path(alias=alias, description=f"the id of a {kind}")]) -> int:
        if not 1 <= value <= LARGEST_ID:
            raise NotFoundError(kind, value)
        return value

    return read
