"""Search among memories by words and by meaning. Pure. Source: APP-16.2, APP-16.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.apps.model.memories import Digest
from commonplace.language.scripts import fold
from commonplace.language.words import tokens

LEAST_LIKENESS: Final = 0.25
"""The least cosine of a result; unrelated sentences stay below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result.

    Attributes:
        score: By words, the share of the query's words in the memory; by meaning, the cosine. At most 1.0.
        words: The query's words in the memory.
    """

    memory: Digest
    score: float
    words: tuple[str, ...]


def by_words(memories: Sequence[Digest], query: str) -> list[Hit]:
    """Return the memories that contain a word of the query, most words first; ties keep their order.

    A word also matches inside a longer word. A query without words finds nothing.
    """
    wanted = tuple(dict.fromkeys(tokens(query)))
    hits: list[Hit] = []
    for memory in memories:
        found = _held(memory, wanted)
        if found:
            hits.append(Hit(memory=memory, score=round(len(found) / len(wanted), 4), words=found))
    return sorted(hits, key=lambda hit: -hit.score)


def by_meaning(memories: Sequence[Digest], query: str, likeness: Mapping[int, float]) -> list[Hit]:
    """Return the memories near the query, nearest first; ties keep their order.

    Args:
        memories: The memories.
        query: The query, for the words of each result.
        likeness: The cosine of each memory with the query, by memory id.
    """
    wanted = tuple(dict.fromkeys(tokens(query)))
    hits = [
        Hit(memory=memory, score=round(likeness[memory.id], 4), words=_held(memory, wanted))
        for memory in memories
        if likeness[memory.id] >= LEAST_LIKENESS
    ]
    return sorted(hits, key=lambda hit: -hit.score)


def _held(memory: Digest, words: Sequence[str]) -> tuple[str, ...]:
    text = fold(memory.content)
    return tuple(word for word in words if word in text)
