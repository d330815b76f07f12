"""The largest numbers that requests may hold."""

from typing import Final

LARGEST_ID: Final = 2**31 - 1
"""What the integer column of every server holds."""

MAX_OFFSET: Final = 2**31 - 1
"""Of a list: longer than any."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""For a block: more than any model takes."""
