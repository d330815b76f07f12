"""Endings of a marker, by which an agent says itself what its observation does to a listed memory. Pure.

    [MEMORY:timing:jellyfin] Takes 90s to start (was: Takes 60s to)      corrects the memory that begins so
    [MEMORY:timing:jellyfin] Takes 60s to start (again)                  confirms the memory that begins so

An ending counts only if it names exactly one memory. Otherwise it is a part of the observation, as the specified form
of a marker has it.

Source: JDG-07.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from commonplace.judge import Judgement, Verdict, tokens_of
from commonplace.operational.model.memories import Lesson

LEAST_WORDS: Final = 2
"""Fewer words name no memory, unless it has no more."""

_ENDING: Final = re.compile(
    r"\s*\(\s*(?:was:\s*(?P<was>[^()]+?(?:\([^()]*\)[^()]*)*)|again)\s*\)\s*[.!]?\s*$", re.IGNORECASE
)
_CUT: Final = re.compile(r"\s*(?:\.\.\.|…)?[.,;:]?\s*$")


class Saying(NamedTuple):
    """An observation without its ending, and what the agent said that it does to a memory."""

    observation: str
    memory: Lesson
    judgement: Judgement


def read_ending(observation: str, known: Sequence[Lesson]) -> Saying | None:
    """Return what the ending of an observation says; ``None`` if it has none, or does not name one memory.

    Args:
        observation: The text of a marker.
        known: The active memories of its service and category.
    """
    ending = _ENDING.search(observation)
    if ending is None or not ending.start():
        return None
    text = observation[: ending.start()]
    corrects = ending["was"] is not None
    named = _named(ending["was"] if corrects else text, known)
    if named is None:
        return None
    verdict = Verdict.CORRECT if corrects else Verdict.SAME
    reason = f"The agent says that it {'corrects' if corrects else 'confirms'} #{named.id}."
    return Saying(text, named, Judgement(verdict=verdict, probability=1.0, reason=reason))


def _named(beginning: str, known: Sequence[Lesson]) -> Lesson | None:
    """Return the one memory that begins with some words; ``None`` if several or no memories do."""
    words = tokens_of(_CUT.sub("", beginning))
    memories = [
        memory
        for memory in known
        if (tokens := tokens_of(memory.observation))[: len(words)] == words
        and len(words) >= min(LEAST_WORDS, len(tokens))
    ]
    return memories[0] if len(memories) == 1 else None
