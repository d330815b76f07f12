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

from commonplace.core.text import plural
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


class Ending(NamedTuple):
    """The ending of an observation, and the memories that its words name."""

    text: str
    observation: str
    corrects: bool
    memories: tuple[Lesson, ...]

    @property
    def saying(self) -> Saying | None:
        """The verdict that the ending gives on its memory; ``None`` if it does not name exactly one."""
        if len(self.memories) != 1:
            return None
        (named,) = self.memories
        verdict = Verdict.CORRECT if self.corrects else Verdict.SAME
        grounds = f"The agent says that it {'corrects' if self.corrects else 'confirms'} #{named.id}"
        return Saying(self.observation, named, Judgement(verdict=verdict, probability=1.0, grounds=grounds))

    @property
    def remark(self) -> str:
        """A sentence for the receipt if the ending does not name one memory; empty if it does."""
        if len(self.memories) == 1:
            return ""
        which = plural(len(self.memories), "active lesson") if self.memories else "no active lesson"
        return f"{self.text} names {which} of its service and category, so it is a part of the text."


def read_ending(observation: str, known: Sequence[Lesson]) -> Ending | None:
    """Return the ending of an observation; ``None`` if it has none.

    Args:
        observation: The text of a marker.
        known: The active memories of its service and category.
    """
    ending = _ENDING.search(observation)
    if ending is None or not ending.start():
        return None
    text = observation[: ending.start()]
    corrects = ending["was"] is not None
    return Ending(
        text=ending[0].strip(),
        observation=text,
        corrects=corrects,
        memories=_named(ending["was"] if corrects else text, known),
    )


def _named(beginning: str, known: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Return the memories that begin with some words."""
    words = tokens_of(_CUT.sub("", beginning))
    return tuple(
        memory
        for memory in known
        if (tokens := tokens_of(memory.observation))[: len(words)] == words
        and len(words) >= min(LEAST_WORDS, len(tokens))
    )
