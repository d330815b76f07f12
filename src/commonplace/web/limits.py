"""The largest numbers that requests may contain."""

from typing import Final

LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column."""

MAX_OFFSET: Final = 2**31 - 1
"""More than any list has."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""More than any model accepts."""
