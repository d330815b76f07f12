"""Memories that say opposite things of the same matter. Pure.

By rule: two sentences conflict that speak of the same matter, which is that one has all the words of the other, and
of which one denies what the other says, names the opposite, or gives another number. It finds plain cases and leaves
doubtful ones alone; nothing is changed by it, it only tells. Source: APP-16.8.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from commonplace.apps.memories import Memory
from commonplace.language.words import content_words, tokens

LEAST_SHARED_WORDS: Final = 2

_NEGATIONS: Final = frozenset(
    "no not never none without cannot can't don't doesn't didn't isn't aren't won't wasn't shouldn't longer".split()  # noqa: SIM905
)
_OPPOSITES: Final = tuple(
    frozenset(pair.split())
    for pair in (
        "after before",
        "enabled disabled",
        "enable disable",
        "likes dislikes",
        "loves hates",
        "morning afternoon",
        "morning evening",
        "on off",
        "light dark",
        "public private",
        "allowed forbidden",
        "works fails",
        "open closed",
        "true false",
        "accepted rejected",
        "approved rejected",
        "remote onsite",
    )
)
_OPPOSITE_WORDS: Final = frozenset[str]().union(*_OPPOSITES)
_NUMBER: Final = re.compile(r"\d[\w:.,/-]*")
_BEFORE_VALUES: Final = frozenset(
    """
    about after are around at before by costs equals expires for from is least most of on over port runs
    since takes than to took under until version was within
    """.split()  # noqa: SIM905 - reads as a list of words does
)
"""Behind one of these a bare number says how much or when; elsewhere it is a name, as in "service 5"."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")  # noqa: RUF001 - sentences of other scripts


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that disagree: the older, the newer, and how, in words."""

    older: Memory
    newer: Memory
    reason: str


def find_conflicts(memories: Sequence[Memory]) -> list[Conflict]:
    """Return the pairs that disagree, by the ids of both."""
    found: list[Conflict] = []
    for one, other in combinations(sorted(memories, key=lambda memory: memory.id), 2):
        reason = disagreement(one.content, other.content)
        if reason is not None:
            older, newer = sorted((one, other), key=lambda memory: (memory.updated_at, memory.id))
            found.append(Conflict(older=older, newer=newer, reason=reason))
    return found


def disagreement(one: str, other: str) -> str | None:
    """Return how two texts disagree, in words; ``None`` where they do not, as far as the rule sees."""
    for mine in _SENTENCE_END.split(one):
        for theirs in _SENTENCE_END.split(other):
            reason = _compare(mine.strip(), theirs.strip())
            if reason is not None:
                return reason
    return None


def _compare(mine: str, theirs: str) -> str | None:
    if not _same_matter(mine, theirs):
        return None
    left, right = tokens(mine), tokens(theirs)
    if _denies(left) != _denies(right):
        return f"one denies what the other says: {mine!r}, {theirs!r}"
    for pair in _OPPOSITES:
        a, b = pair & set(left), pair & set(right)
        if len(a) == len(b) == 1 and a != b:
            return f"{min(a)!r} against {min(b)!r}: {mine!r}, {theirs!r}"
    numbers, others = _values(left), _values(right)
    if len(numbers) == len(others) == 1 and numbers != others:
        return f"{min(numbers)} against {min(others)}: {mine!r}, {theirs!r}"
    return None


def _same_matter(mine: str, theirs: str) -> bool:
    left, right = tokens(mine), tokens(theirs)
    if _names(left) != _names(right):
        return False
    matter, other = _matter(mine), _matter(theirs)
    shared = len(matter & other)
    return shared >= LEAST_SHARED_WORDS and shared == min(len(matter), len(other))


def _matter(text: str) -> frozenset[str]:
    """Return the words that name the matter, without those that would tell two statements about it apart."""
    told = _NEGATIONS | _OPPOSITE_WORDS | _values(tokens(text))
    return frozenset(word for word in content_words(text) if word not in told)


def _denies(words: Sequence[str]) -> bool:
    return sum(word in _NEGATIONS for word in words) % 2 == 1


def _values(words: Sequence[str]) -> frozenset[str]:
    """Return the numbers that say how much or when: behind a word that announces one, or with a unit."""
    return frozenset(
        word
        for before, word in zip(("", *words), words, strict=False)
        if _NUMBER.fullmatch(word) and (before in _BEFORE_VALUES or not word.isdecimal())
    )


def _names(words: Sequence[str]) -> frozenset[str]:
    return frozenset(word for word in words if _NUMBER.fullmatch(word)) - _values(words)
