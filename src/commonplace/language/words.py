"""Words of short texts, for comparisons and searches."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from commonplace.language.scripts import UNSPACED, character_pairs, fold

_WORD: Final = re.compile(r"[^\W_]+(?:['.:/-][^\W_]+)*")
_UNSPACED: Final = re.compile(f"[{UNSPACED}]{{2,}}")
ENDING: Final = re.compile(r"(?<=\w{3})(?:ings?|ed|es|s)$")

STOPWORDS: Final = frozenset(
    """
    a about after all also an and any are as at be been but by can did do does for from had has have he her
    his how i if in into is it its me my of on or our she so some than that the their them then there these
    they this those to us use used user users was we were what when which who will with you your
    """.split()  # noqa: SIM905 - reads as a list of words does
)


def word_set(text: str) -> frozenset[str]:
    """Return the words between the spaces of a text as a set."""
    return frozenset(text.split())


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Return the folded words of a text in order; in scripts without spaces, each pair of characters is a word."""
    found: list[str] = []
    for word in _WORD.findall(fold(text)):
        runs = () if word.isascii() else _UNSPACED.findall(word)
        found += [pair for run in runs for pair in character_pairs(run)]
        rest = _UNSPACED.sub(" ", word) if runs else word
        found += rest.split()
    return tuple(found)


def places_of_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place and the letters of each word of a text, as it stands there.

    In scripts without spaces, each pair of characters is a word.
    """
    for found in _WORD.finditer(text):
        word = found[0]
        runs = () if word.isascii() else _UNSPACED.finditer(word)
        pairs = [
            (found.start() + run.start() + at, pair)
            for run in runs
            for at, pair in enumerate(character_pairs(run[0]))
        ]
        yield from pairs or [(found.start(), word)]


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the words of a text without stopwords and common English endings."""
    return frozenset(ENDING.sub("", word) for word in tokens(text) if word not in STOPWORDS)


def likeness(one: str, other: str) -> float:
    """Return the share of content words that two texts have in common, from 0.0 to 1.0."""
    mine, theirs = content_words(one), content_words(other)
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
