"""Similarity of names by trigrams, equal to PostgreSQL's ``pg_trgm``. Pure.

Servers without the extension, such as the embedded server, use this module for fuzzy matches. The longest common
subsequence of two sorted sets is their intersection, so rapidfuzz's Indel similarity is their Dice coefficient, from
which the Jaccard coefficient of ``pg_trgm`` follows exactly. Source: KNW-17.4, R-KNW-10.
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
"""Shorter names have too few trigrams. Source: KNW-17.4, "more than 2 characters"."""

_WORD = re.compile(r"[^\W_]+")
_SLACK: Final = 1e-9


@lru_cache(maxsize=8192)
def trigrams(folded: str) -> tuple[str, ...]:
    """Return the sorted trigrams of a folded name; each word is padded with two spaces before and one after."""
    found: set[str] = set()
    for word in _WORD.findall(folded):
        padded = f"  {word} "
        found.update(padded[start : start + 3] for start in range(len(padded) - 2))
    return tuple(sorted(found))


def similarity(first: str, second: str) -> float:
    """Return the share of trigrams that two folded names have in common, 0.0 to 1.0."""
    one, other = trigrams(first), trigrams(second)
    return _jaccard(Indel.normalized_similarity(one, other)) if one and other else 0.0


def required_pieces(key: str) -> tuple[list[str], int]:
    """Return pieces of a name, and the minimum number of them in a similar name, as a fast first filter.

    Names that share a trigram also share it without padding, and similar names share at least the threshold fraction of
    the searched name's trigrams.

    Args:
        key: A folded name.
    """
    wanted = trigrams(key)
    return [gram.strip() for gram in wanted], max(1, math.ceil(THRESHOLD * len(wanted) - _SLACK))


def most_similar(key: str, names: Mapping[int, str]) -> dict[int, float]:
    """Return the similarities of the names that reach the threshold.

    This takes about 1 µs per name; for thousands of names, call it in a thread.

    Args:
        key: A folded name.
        names: Folded names, by number.
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
