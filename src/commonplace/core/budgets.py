"""Budgets of prompt space.

Source: the specifications estimate one token as four characters (OPS-07, KNW-20).
"""

from collections.abc import Sequence

CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def budget_chars(budget_tokens: int) -> int:
    """Return how many characters fit a budget of tokens; 0 for a budget of zero or less."""
    return max(0, budget_tokens) * CHARS_PER_TOKEN


def fair_share(wants: Sequence[int], total: int) -> int:
    """Return the greatest length to which all texts can be cut so that together they fit a number of characters.

    Short texts leave room for longer ones. If all texts fit, the result is the longest length.
    """
    left = total
    for place, want in enumerate(sorted(wants)):
        share = max(0, left) // (len(wants) - place)
        if want > share:
            return share
        left -= want
    return max(wants, default=0)


def share_budget(wants: Sequence[int], total: int) -> tuple[int, ...]:
    """Return fair shares of a number of characters.

    No share is larger than its want. The rest goes to the other shares in equal parts; if it cannot be divided
    equally, the first shares get one character more. A larger total never makes a share smaller.

    Args:
        wants: The characters that each could use, 0 or more.
        total: The characters to share; a number below 0 counts as 0.

    Returns:
        The shares in the order of the wants; their sum is ``min(total, sum(wants))``.
    """
    level = fair_share(wants, total)
    spare = max(0, total) - sum(min(want, level) for want in wants)
    shares: list[int] = []
    for want in wants:
        more = want > level and spare > 0
        shares.append(min(want, level) + more)
        spare -= more
    return tuple(shares)
