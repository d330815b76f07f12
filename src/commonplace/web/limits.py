"""The largest numbers that requests may contain, and parameters that several routes take."""

from typing import Annotated, Final

from fastapi import Query
from pydantic import Field

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
