"""The largest numbers that requests may contain, and parameters that several routes take."""

from typing import Annotated, Final

from fastapi import Query
from pydantic import Field

LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column."""

MAX_OFFSET: Final = 2**31 - 1
"""More than any list has."""

MAX_CURSOR_CHARS: Final = 4000
"""More than any cursor has."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""More than any model accepts."""

SearchWords = Annotated[str, Field(max_length=200)]
"""A text that a page searches for."""

FilterText = Annotated[str | None, Query(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
"""A text that items of a list have or contain."""

BudgetTokens = Annotated[
    int | None,
    Query(
        alias="budgetTokens",
        ge=0,
        le=MAX_BUDGET_TOKENS,
        description="the length of the text, at most; by default as configured",
    ),
]
