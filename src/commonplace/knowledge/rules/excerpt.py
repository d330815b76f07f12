"""The part of a long text that is about a topic. Pure.

A block has room for statements. A text that is longer, such as a pasted document, would fill it or not fit at all, so
its line shows the passage that shares most words with the topic.

Source: SHW-03.
"""

import re
from itertools import islice
from typing import Final

from commonplace.core.text import trim_to
from commonplace.language.words import content_words

MOST_PLACES: Final = 500
"""The number of places with a word of the topic that are compared."""

CUT: Final = "… "


def excerpt(text: str, topic: str, chars: int) -> str:
    """Return a text, or of a longer one the passage of at most ``chars`` characters that is about a topic.

    A passage has a word of the topic in its middle. Of those that share as many words with the topic, the first is
    returned. Cut ends are marked with ``…``.
    """
    if len(text) <= chars:
        return text
    wanted = content_words(topic)
    any_word = re.compile("|".join(map(_beginning, sorted(wanted))) or r"(?!)", re.IGNORECASE)
    places = [found.start() for found in islice(any_word.finditer(text), MOST_PLACES)]

    def shared(start: int) -> tuple[int, int]:
        return len(wanted & content_words(text[start : start + chars])), -start

    start = max((max(0, place - chars // 2) for place in places), key=shared, default=0)
    if start == 0:
        return trim_to(text, chars)
    space = text.find(" ", start, start + chars // 4)
    start = start if space < 0 else space + 1
    return f"{CUT}{trim_to(text[start:], chars - len(CUT))}"


def _beginning(word: str) -> str:
    """Return a pattern for words that begin with a word; scripts without spaces have no beginnings."""
    return rf"\b{re.escape(word)}" if word.isascii() else re.escape(word)
