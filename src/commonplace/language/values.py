"""The concepts of a statement and its dates, times and amounts, for comparing statements."""

import re
from typing import Final

from commonplace.language.importance_cues import DATE, FUNCTION_WORDS, TIME, plain, plain_in_place
from commonplace.language.words import ENDING, STOPWORDS, tokens

STEM_CHARS: Final = 5
"""The letters of a stem: enough to distinguish words in four languages, few enough to drop endings."""

_NUMBER: Final = re.compile(r"(?<![\w.])[#€$£]?\d+(?:[.,:h]\d+)*(?:st|nd|rd|th)?(?!\w)|\b\d+[^\W\d_]+\b")
_CODE: Final = re.compile(r"\b[^\W\d_]+(?:[-_]?\w*\d)+\w*")
_PARTS: Final = re.compile(r"\d+|[^\W\d_]+")
_BEHIND: Final = re.compile(r"[ -]?([^\W\d_]+)")
_SEPARATOR: Final = re.compile(r"[.,:h]")
_FILLERS: Final = frozenset("of de st nd rd th am um le el".split())  # noqa: SIM905 - reads as a list of words does


def concepts(text: str) -> frozenset[str]:
    """Return the stems of a text's meaningful words, and its numbers."""
    words = (word.split("'")[0] for word in map(plain, tokens(text)))
    return frozenset(
        _stem(word)
        for word in words
        if (len(word) > 1 or word.isdigit()) and word not in STOPWORDS and word not in FUNCTION_WORDS
    )


def weight(words: frozenset[str]) -> float:
    """Return the weight of words: 2 for a number, 1 for another word."""
    return sum(2.0 if any(sign.isdigit() for sign in word) else 1.0 for word in words)


def share(part: frozenset[str], whole: frozenset[str]) -> float:
    """Return the weighted share of ``part`` that ``whole`` contains, from 0.0 to 1.0."""
    return weight(part & whole) / (weight(part) or 1.0)


def values(text: str) -> frozenset[str]:
    """Return the dates, days, times, codes and numbers of a text as ``kind:value``."""
    return frozenset(places_of_values(text))


def places_of_values(text: str) -> dict[str, tuple[int, int]]:
    """Return the values of a text, each with the start and the end of its first mention."""
    folded = plain_in_place(text)
    found: dict[str, tuple[int, int]] = {}
    for kind, pattern in (("date", DATE), ("time", TIME), ("code", _CODE), ("number", _NUMBER)):
        for match in pattern.finditer(folded):
            has_digit = any(sign.isdigit() for sign in match[0])
            name = f"{'day' if kind == 'date' and not has_digit else kind}:{_normal(match[0])}"
            found.setdefault(name, match.span())
        folded = pattern.sub(_blank, folded)
    return found


def units(text: str) -> dict[str, str]:
    """Return the numbers of a text, each with the stem of the word after it: what the number counts."""
    places = places_of_values(text)
    behind = {
        value: _BEHIND.match(text, end) for value, (_, end) in places.items() if kind_of(value) == "number"
    }
    return {value: _stem(plain(word[1])) if word else "" for value, word in behind.items()}


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def kind_of(value: str) -> str:
    """Return the kind of a value of :func:`values`."""
    return value.partition(":")[0]


def _stem(word: str) -> str:
    if word[0].isdigit():
        return _SEPARATOR.sub(":", word)
    return word if any(sign.isdigit() for sign in word) else ENDING.sub("", word)[:STEM_CHARS]


def _normal(text: str) -> str:
    return (
        " ".join(
            part if part.isdigit() else part[:3] for part in _PARTS.findall(text) if part not in _FILLERS
        )
        if not _CODE.fullmatch(text)
        else text
    )
