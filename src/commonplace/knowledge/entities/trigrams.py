"""Similarity of names by trigrams, with the same values as PostgreSQL's ``pg_trgm``. Pure.

Source: KNW-17.4, R-KNW-10. Servers without the extension, the embedded one among them, get the fuzzy tier from
here. Two sorted sets have their intersection as longest common subsequence, so rapidfuzz's Indel similarity of
them is their Dice coefficient, from which the Jaccard coefficient that ``pg_trgm`` reports follows exactly.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Indel

THRESHOLD: Final = 0.3
"""The least similarity of a fuzzy match. Source: KNW-17.4."""

MIN_CHARS: Final = 3
"""A shorter name has too few trigrams to tell anything. Source: KNW-17.4, "more than 2 characters"."""

_WORD = re.compile(r"[^\W_]+")
_SLACK: Final = 1e-9


@lru_cache(maxsize=8192)
def trigrams(folded: str) -> tuple[str, ...]:
    """Return the trigrams of a folded name, sorted: of each word, with two spaces before and one after it."""
    found: set[str] = set()
    for word in _WORD.findall(folded):
        padded = f"  {word} "
        found.update(padded[start : start + 3] for start in range(len(padded) - 2))
    return tuple(sorted(found))


def similarity(first: str, second: str) -> float:
    """Return the share of trigrams that two folded names have in common, 0.0 to 1.0; 0.0 where one has none."""
    one, other = trigrams(first), trigrams(second)
    return _jaccard(Indel.normalized_similarity(one, other)) if one and other else 0.0


def required_pieces(key: str) -> tuple[list[str], int]:
    """Return what a name must hold to be similar enough, which is much faster to tell.

    Names that share a trigram share what it is without its padding, and similar ones share at least the threshold's
    part of the searched name's trigrams.

    Args:
        key: A folded name.

    Returns:
        Pieces of it, and how many of them at least.
    """
    wanted = trigrams(key)
    return [gram.strip() for gram in wanted], max(1, math.ceil(THRESHOLD * len(wanted) - _SLACK))


def most_similar(key: str, names: Mapping[int, str]) -> dict[int, float]:
    """Return the names that reach the threshold, with their similarities.

    Takes about 1 µs a name: off the event loop where there are thousands.

    Args:
        key: A folded name.
        names: Folded names by a number of the caller's.
    """
    wanted = trigrams(key)
    if not wanted:
        return {}
    floor = 2 * THRESHOLD / (1 + THRESHOLD) - _SLACK
    pieces, least = required_pieces(key)
    choices = {
        number: trigrams(name)
        for number, name in names.items()
        if sum(piece in name for piece in pieces) >= least
    }
    hits = process.extract(
        wanted, choices, scorer=Indel.normalized_similarity, processor=None, score_cutoff=floor, limit=None
    )
    return {number: _jaccard(dice) for _, dice, number in hits}


def _jaccard(dice: float) -> float:
    return dice / (2 - dice)
