"""The input of the network: the tokens of two texts with their amounts, and a role for each token. Pure.

A network sees letters and digits, not that "a minute and a half" is "90s" and that "5 min" is not "30 seconds". So each
text gets its amounts in base units behind it, the newer text says whether they agree, and each token says whether the
other text has it. Training and judging read pairs with this module.

Source: JDG-06.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from commonplace.judge.quantities import Agreement, Quantity, compare
from commonplace.judge.quantity_reading import extract
from commonplace.judge.words import fold, tokenise

MOST_AMOUNTS: Final = 4
"""Further amounts of a text are not compared."""

MOST_TOKENS: Final = 160
"""Tokens of a pair; of longer texts, the longer one loses its end."""

CLS: Final = 101
SEP: Final = 102

ROLES: Final = 4
"""The roles of a token: of the old or the new text (0, 1), and more by 2 if the other text lacks it."""


class PairInput(NamedTuple):
    """The tokens of a pair, and the role of each."""

    ids: list[int]
    roles: list[int]


def pair_input(old: Sequence[int], new: Sequence[int]) -> PairInput:
    """Return the input of a pair from the tokens of both texts."""
    old, new = list(old), list(new)
    while len(old) + len(new) > MOST_TOKENS - 3:
        (old if len(old) > len(new) else new).pop()
    ones, others = set(old), set(new)
    of_old = [0 if token in others else 2 for token in old]
    of_new = [1 if token in ones else 3 for token in new]
    return PairInput([CLS, *old, SEP, *new, SEP], [0, *of_old, 0, *of_new, 1])


def with_amounts(old: str, new: str) -> tuple[str, str]:
    """Return two texts with their amounts behind them; a text without amounts stays as it is."""
    olds, news = _amounts(old), _amounts(new)
    of_old, of_new = (", ".join(map(_written, amounts)) for amounts in (olds, news))
    relation = _relation(olds, news)
    return (f"{old} = {of_old}" if of_old else old, f"{new} = {of_new}{relation}" if of_new else new)


def _relation(olds: Sequence[Quantity], news: Sequence[Quantity]) -> str:
    left, differs = list(olds), False
    for new in news:
        equal = next((old for old in left if _are_equal(old, new)), None)
        if equal is not None:
            left.remove(equal)
        elif any(compare(old, new) is Agreement.DIFFER for old in olds):
            differs = True
    if differs:
        return ", other"
    return ", equal" if len(left) < len(olds) else ""


def _are_equal(old: Quantity, new: Quantity) -> bool:
    """Return whether two amounts agree; a value within a limit may still be another value."""
    return old.bound is new.bound and compare(old, new) is Agreement.AGREE


@lru_cache(maxsize=4096)
def _amounts(text: str) -> tuple[Quantity, ...]:
    return tuple(part for part in extract(tokenise(fold(text))) if isinstance(part, Quantity))[:MOST_AMOUNTS]


def _written(quantity: Quantity) -> str:
    """Return an amount in base units: "90 duration", "at least 8 size"."""
    if quantity.name:
        return quantity.name
    ends = [f"{end:.6g}" for end in (quantity.low, quantity.high) if math.isfinite(end)]
    kind = "" if quantity.kind == "number" else f" {quantity.kind}"
    return f"{quantity.bound} {' to '.join(dict.fromkeys(ends))}{kind}".strip()
