"""Similarity in meaning of two words, from a table of vectors made by `benchmarks/judge_vectors.py`.

Source: R-OPS-5.
"""

from functools import cache, lru_cache
from operator import mul
from pathlib import Path
from typing import Final

from commonplace.language.stems import stem

TABLE: Final = Path(__file__).with_name("vectors.bin")
"""A line of space-separated stems, then one row of signed bytes for each stem."""

DIMENSIONS: Final = 32
SCALE: Final = 200.0
"""Scale of each row: a component of a vector of length 1 with 32 components is seldom above 0.63."""

SHORTEST: Final = 3
"""The length of the shortest word in the table."""


@lru_cache(maxsize=65_536)
def likeness(one: str, other: str) -> float:
    """Return the cosine of two words: 1.0 for the same stem, 0.0 for unrelated words and words not in the table."""
    if one == other:
        return 1.0
    first, second = _vector(one), _vector(other)
    if first is None or second is None:
        return 0.0
    return min(sum(map(mul, first, second)) / SCALE**2, 1.0)


@lru_cache(maxsize=8192)
def _vector(word: str) -> tuple[int, ...] | None:
    rows, values = _table()
    at = rows.get(stem(word))
    return None if at is None else tuple(values[at * DIMENSIONS : (at + 1) * DIMENSIONS])


@cache
def _table() -> tuple[dict[str, int], memoryview]:
    """Return the row of each stem, and the bytes of all rows."""
    stems, _, values = TABLE.read_bytes().partition(b"\n")
    return {word: row for row, word in enumerate(stems.decode().split())}, memoryview(values).cast("b")
