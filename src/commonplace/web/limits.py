"""The largest numbers that requests may contain, and a parameter that several routes take."""

from typing import Annotated, Final

from fastapi import Query

LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column."""

MAX_OFFSET: Final = 2**31 - 1
"""More than any list has."""

MAX_CURSOR_CHARS: Final = 4000
"""More than any cursor has."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""More than any model accepts."""

BudgetTokens = Annotated[
    int | None,
    Query(
        alias="budgetTokens",
        ge=0,
        le=MAX_BUDGET_TOKENS,
        description="the length of the text, at most; by default as configured",
    ),
]
