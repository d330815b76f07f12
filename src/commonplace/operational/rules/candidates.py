"""Candidates: the memories that a new observation is compared with. Pure."""

from collections.abc import Sequence
from typing import Final

from commonplace.judge import tokens_of
from commonplace.operational.model.memories import Lesson

MOST_CANDIDATES: Final = 64
"""The maximum number of memories that are compared; a comparison takes two milliseconds."""


def candidates(known: Sequence[Lesson], observation: str) -> list[Lesson]:
    """Return at most 64 memories, in their order: those that share most words with an observation; ties: newest.

    All of them may be the one that it corrects in other words, so fewer memories are all compared.
    """
    if len(known) <= MOST_CANDIDATES:
        return list(known)
    own = set(tokens_of(observation))
    nearest = sorted(known, key=lambda memory: (-len(own & set(tokens_of(memory.observation))), -memory.id))
    chosen = {memory.id for memory in nearest[:MOST_CANDIDATES]}
    return [memory for memory in known if memory.id in chosen]
