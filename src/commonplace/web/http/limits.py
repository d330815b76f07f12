"""The largest numbers that requests may contain, and parameters that several routes take."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import Field

from commonplace.core.bounds import BudgetTokens
from commonplace.core.errors import NotFoundError

LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column."""

MAX_CURSOR_CHARS: Final = 4000
"""Longer than any cursor."""

SearchWords = Annotated[str, Field(max_length=200)]
"""A text to search for on a page."""

WITHOUT_NUL: Final = r"^[^\x00]+$"

FilterText = Annotated[str | None, Query(min_length=1, max_length=1000, pattern=WITHOUT_NUL)]
"""A text that the items of a list equal or contain."""

WantedBudget = Annotated[
    BudgetTokens | None,
    Query(
        alias="budgetTokens",
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
