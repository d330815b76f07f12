"""Budgets of prompt space.

Source: the specifications estimate one token as four characters (OPS-07, KNW-20).
"""

CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def budget_chars(budget_tokens: int) -> int:
    """Return how many characters fit a budget of tokens; 0 for a budget of zero or less."""
    return max(0, budget_tokens) * CHARS_PER_TOKEN
