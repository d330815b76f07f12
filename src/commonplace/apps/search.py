"""Finding memories by words. Pure; by meaning see :mod:`.vectors`.

Source: APP-16.2, APP-16.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.apps.memories import Memory
from commonplace.language.scripts import fold
from commonplace.language.words import tokens

LEAST_LIKENESS: Final = 0.25
"""Cosine under which a memory is no answer to a query; unrelated sentences of the model stay below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found.

    Attributes:
        memory: The memory.
        score: By words, the share of the query's words that it holds; by meaning, the cosine. Up to 1.0.
        words: The words of the query that it holds.
    """

    memory: Memory
    score: float
    words: tuple[str, ...]


def by_words(memories: Sequence[Memory], query: str) -> list[Hit]:
    """Return the memories that hold a word of the query, most words first; of equal ones the newest.

    A word counts wherever it stands, also within a longer one.

    Args:
        memories: Newest first.
        query: What somebody typed; without a word in it nothing is found.
    """
    wanted = tuple(dict.fromkeys(tokens(query)))
    hits: list[Hit] = []
    for memory in memories:
        found = _held(memory, wanted)
        if found:
            hits.append(Hit(memory=memory, score=round(len(found) / len(wanted), 4), words=found))
    return sorted(hits, key=lambda hit: -hit.score)


def by_meaning(memories: Sequence[Memory], query: str, likeness: Mapping[int, float]) -> list[Hit]:
    """Return the memories that are near to the query, nearest first; of equal ones the newest.

    Args:
        memories: Newest first.
        query: What was asked.
        likeness: The cosine of each memory with the query, by id.
    """
    wanted = tuple(dict.fromkeys(tokens(query)))
    hits = [
        Hit(memory=memory, score=round(likeness[memory.id], 4), words=_held(memory, wanted))
        for memory in memories
        if likeness[memory.id] >= LEAST_LIKENESS
    ]
    return sorted(hits, key=lambda hit: -hit.score)


def _held(memory: Memory, words: Sequence[str]) -> tuple[str, ...]:
    text = fold(memory.content)
    return tuple(word for word in words if word in text)
