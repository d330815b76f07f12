"""Comparison of two texts about one relation: do they name the same value? Pure."""

from typing import Final

from commonplace.knowledge.rules import siblings
from commonplace.language.cues import Cues, tokens_of
from commonplace.language.values import concepts, share, values

_DENIED: Final = Cues.of(
    "not|no|never|none|nobody|without|stopped|ended|cancelled|canceled|isn't|doesn't|don't|won't|nicht|kein*|nie",
    "niemand|ohne|ya no|nunca|sin|ne|pas|jamais|sans|não|nem|sem",
)
_SAME_VALUE: Final = 0.6
"""The share of the words of one text in another from which both name the same value."""


def say_the_same(content: str, other: str, *, about: str) -> bool:
    """Return whether two texts name the same value, whatever their other words.

    Args:
        content: A text.
        other: Another text.
        about: The subject and predicate of both, which are no part of the value.
    """
    return says_no_more(content, other, about=about) or says_no_more(other, content, about=about)


def says_no_more(content: str, other: str, *, about: str) -> bool:
    """Return whether a text names no value beside those of another text; see :func:`say_the_same`.

    "Bazel 8, before that Bazel 7" says more than "Bazel 7", though it names it.
    """
    if siblings.plain(content) == siblings.plain(other):
        return True
    own, its = values(content) - values(about), values(other) - values(about)
    if own and its:
        return own <= its
    named = concepts(about.replace("_", " "))
    first, second = concepts(content) - named, concepts(other) - named
    return bool(first and second) and share(first, second) >= _SAME_VALUE


def restates(content: str, other: str, *, about: str) -> bool:
    """Return whether a text says what another text says, in fewer of its words, or with a version in full.

    "In the library" restates "in the community room of the library", and "MariaDB 10.11.8" restates "MariaDB 10.11". A
    text that denies the other restates nothing, nor does one without a value of its own.
    """
    if _DENIED.occur_in(tokens_of(content)) != _DENIED.occur_in(tokens_of(other)):
        return False
    named = concepts(about.replace("_", " "))
    own, its = concepts(content) - named, concepts(other)
    return bool(own) and all(each in its or any(_is_version_of(each, short) for short in its) for each in own)


def _is_version_of(number: str, short: str) -> bool:
    """Return whether a number of three parts or more begins with another of two or more: 10.11.8 with 10.11."""
    parts, first = number.split(":"), short.split(":")
    return len(parts) > len(first) > 1 and parts[: len(first)] == first and number[0].isdigit()
