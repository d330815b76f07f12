"""The part of a long text that is about a topic. Pure.

A block has room for statements. A text that is longer, such as a pasted document, would fill it or not fit at all, so
its line shows the passage that shares most words with the topic. If a text shares no more than one word, because a
search found it by its meaning, its line shows the passage nearest to the topic in meaning.

Source: SHW-03, SHW-08.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from commonplace.core.text import trim_to
from commonplace.knowledge.rules.passages import PassageSpan
from commonplace.language.words import content_words, places_of_words

CUT: Final = "… "


LEAST_WORDS: Final = 2
"""A passage with this many words of the topic, or all of its words, goes before the passage nearest in meaning."""


def excerpt(text: str, topic: str, chars: int, *, nearest: PassageSpan | None = None) -> str:
    """Return a text, or the passage of a longer one that shares most words with a topic.

    Of passages with as many of the words, the one that has them closest together is returned, with as much before them
    as behind them. Cut ends are marked with ``…``. If no passage has two words of the topic, the passage nearest in
    meaning is returned; without such a passage and without any word of the topic, the beginning of the text.

    Args:
        text: Any text.
        topic: The topic of the passage.
        chars: The maximum length of the passage.
        nearest: The passage nearest to the topic in meaning; ``None`` if it is not known.
    """
    if len(text) <= chars:
        return text
    room = chars - len(CUT)
    topic_words = content_words(topic)
    places = [each for each in _places(text, topic_words) if each.end - each.start <= room]
    words, first, last = _closest(places, room)
    if nearest is not None and words < min(LEAST_WORDS, max(1, len(topic_words))):
        start = min(nearest.start, len(text) - room)
    else:
        start = min((first + last - room) // 2, len(text) - room)
        space = text.find(" ", max(start, 0), first)
        start = start if space < 0 or start <= 0 else space + 1
    if start <= 0:
        return trim_to(text, chars)
    return f"{CUT}{trim_to(text[start:], room)}"


class _Place(NamedTuple):
    """Where a text has a word of the topic."""

    start: int
    end: int
    word: str


def _places(text: str, topic_words: frozenset[str]) -> Iterator[_Place]:
    """Yield the places with a word of the topic."""

    @cache
    def shared(word: str) -> frozenset[str]:
        return topic_words & content_words(word)

    for start, word in places_of_words(text):
        for each in shared(word):
            yield _Place(start, start + len(word), each)


def _closest(places: Sequence[_Place], chars: int) -> tuple[int, int, int]:
    """Return the shortest run of places, within a length, that has most different words.

    Returns:
        The number of different words, the start and the end.
    """
    counts, different, left = Counter[str](), 0, 0
    best, run = (0, 0), (0, 0)
    for place in places:
        different += counts[place.word] == 0
        counts[place.word] += 1
        while place.end - places[left].start > chars or counts[places[left].word] > 1:
            counts[places[left].word] -= 1
            different -= counts[places[left].word] == 0
            left += 1
        start = places[left].start
        if (different, start - place.end) > best:
            best, run = (different, start - place.end), (start, place.end)
    return best[0], *run
