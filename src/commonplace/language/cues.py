"""Words and phrases that decide how a sentence is read. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

_OPTIONAL: Final = re.compile(r"\[(\w+)\]\?|(\w)\?")


def spellings(pattern: str) -> Iterator[str]:
    """Return the words of a pattern such as ``plan|nächste[nrs]?|days?``."""
    for word in pattern.split("|"):
        optional = _OPTIONAL.search(word)
        if optional is None:
            yield word
        else:
            for ending in ("", *(optional[1] or optional[2])):
                yield from spellings(f"{word[: optional.start()]}{ending}{word[optional.end() :]}")


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, in lower case."""
    return tuple(re.findall(r"\w+", text.casefold()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """Words to look for in a sentence.

    Attributes:
        words: Single words, in lower case.
        stems: Beginnings of words.
        phrases: Several words each, with a space before, between and after them.
        openers: The first words of the phrases.
    """

    words: frozenset[str]
    stems: tuple[str, ...]
    phrases: tuple[str, ...]
    openers: frozenset[str]

    @classmethod
    def of(cls, *patterns: str) -> Self:
        """Return the cues of patterns such as ``must|tem de|abgabe*|days?``; ``*`` stands for any ending."""
        entries = {each.casefold() for pattern in patterns for each in spellings(pattern)}
        single = {each for each in entries if " " not in each}
        return cls(
            words=frozenset(each for each in single if not each.endswith("*")),
            stems=tuple(sorted(each[:-1] for each in single if each.endswith("*"))),
            phrases=tuple(sorted(f" {each} " for each in entries if " " in each)),
            openers=frozenset(each.split()[0] for each in entries if " " in each),
        )

    def occur_in(self, tokens: tuple[str, ...]) -> bool:
        """Return whether a sentence, as the words of :func:`tokens_of`, has one of the cues."""
        if not self.words.isdisjoint(tokens):
            return True
        if self.stems and any(token.startswith(self.stems) for token in tokens):
            return True
        if self.openers.isdisjoint(tokens):
            return False
        joined = f" {' '.join(tokens)} "
        return any(phrase in joined for phrase in self.phrases)
