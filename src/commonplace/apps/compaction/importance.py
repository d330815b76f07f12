"""The importance of a memory, guessed from its words. Pure. Source: APP-16.1.

A rule costs nothing and can be explained; see :mod:`commonplace.language.signals`.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.apps.memories import MAX_IMPORTANCE, Memory
from commonplace.language.dates import last_date
from commonplace.language.signals import NOISE, VITAL, plain, signals_of
from commonplace.language.values import concepts

PLAIN_FACT: Final = 3.0
OVER: Final = 1.0
"""The worth of a memory whose dates have all passed."""

_RECURS: Final = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|birthday|jede[nrs]?|geburtstag|cada|todos|cumple\w*|chaque|tou[st]e?s)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The importance of a text, 0.0 to 10.0, and the tags that raise it; 0.0 is small talk."""

    importance: float
    tags: tuple[str, ...]


def assess(text: str) -> Assessment:
    """Score a text: 3 for a plain fact, more for each signal, 0 for small talk."""
    found = signals_of(text)
    tags = tuple(sorted(found.tags - NOISE))
    if not concepts(text) or ("courtesy" in found.tags and found.points <= 0):
        return Assessment(importance=0.0, tags=())
    return Assessment(importance=min(MAX_IMPORTANCE, max(0.5, PLAIN_FACT + found.points)), tags=tags)


def standing(memory: Memory, now: datetime) -> tuple[int, float, datetime, int]:
    """Return the sort key for removal; the memory with the least key is removed first.

    Memories about health and safety are removed last, other constraints before them. Then importance counts, then age.
    A memory whose dates have all passed is worth little, unless it is vital or recurs.
    """
    tags = signals_of(memory.content).tags
    rank = 2 if tags & {"health", "safety"} else 1 if tags & VITAL else 0
    scored = memory.metadata.importance
    worth = assess(memory.content).importance if scored is None else scored
    last = last_date(memory.content, memory.created_at.date())
    if rank == 0 and last is not None and last < now.date() and not _RECURS.search(plain(memory.content)):
        worth = min(worth, OVER)
    return rank, worth, memory.created_at, memory.id
