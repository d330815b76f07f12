"""Passages of long texts, each short enough for the embedding model. Pure.

The model reads about 256 tokens, which are the first 900 characters of a longer text. Passages end where a line or a
sentence ends, and the last sentence of a passage begins the next one if it is short, so that a sentence keeps its
context. If a text has more passages than a memory may have, passages at equal distances stand for the whole text,
because neighbouring passages are mostly about the same subject.

Source: SHW-08; ADR 0039 has the measurements.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

LONG: Final = 900
"""The size from which a text has passages; the same number as in the function ``commonplace_is_long`` of the schema."""

PASSAGE: Final = 600
"""The maximum size of a passage: 110 to 200 tokens of prose, 270 of program text. A block shows a whole passage."""

OVERLAP: Final = 100
"""The maximum size of the sentence with which two passages overlap."""

MOST: Final = 30
"""The maximum number of passages of a memory."""

_END: Final = re.compile(r"\n\s*|(?<=[.!?…])[\"'”’)\]]{0,3}\s+|[。！？]+[」』”’）]{0,3}\s*")  # noqa: RUF001
_GAP: Final = re.compile(r"\s+")


class PassageSpan(NamedTuple):
    """The place of a passage in a text, as of a slice."""

    start: int
    end: int


def size(text: str) -> int:
    """Return the number of characters of a text; those outside of ASCII count 3 to 7 times, as the model reads them.

    A letter of most scripts is a token of its own, while a token of English has 4 to 5 letters.
    """
    return 2 * len(text.encode("utf-8", "surrogatepass")) - len(text)


def passages(text: str) -> list[PassageSpan]:
    """Return the passages of a text in their order; empty if a model reads the whole text.

    Every character except white space is in a passage, unless the text has more than :data:`MOST` passages.
    """
    if size(text) <= LONG:
        return []
    spans = list(_joined(text, list(_pieces(text))))
    if len(spans) <= MOST:
        return spans
    return [spans[place * (len(spans) - 1) // (MOST - 1)] for place in range(MOST)]


def _pieces(text: str) -> Iterator[PassageSpan]:
    """Yield the sentences and lines of a text, and the parts of those that are too long for a passage."""
    start = 0
    for match in _END.finditer(text):
        yield from _parts(text, PassageSpan(start, match.end()))
        start = match.end()
    if start < len(text):
        yield from _parts(text, PassageSpan(start, len(text)))


def _parts(text: str, piece: PassageSpan) -> Iterator[PassageSpan]:
    """Cut a piece that is too long for a passage, between words if possible."""
    start, end = piece
    while size(text[start : min(end, start + PASSAGE + 1)]) > PASSAGE:
        cut = min(end, start + PASSAGE)
        while (excess := size(text[start:cut]) - PASSAGE) > 0:
            cut -= max(1, excess // 7)
        gaps = [each.end() for each in _GAP.finditer(text, start, cut)]
        if gaps and gaps[-1] > start + (cut - start) // 2:
            cut = gaps[-1]
        yield PassageSpan(start, cut)
        start = cut
    if start < end:
        yield PassageSpan(start, end)


def _joined(text: str, pieces: Sequence[PassageSpan]) -> Iterator[PassageSpan]:
    """Join pieces to passages."""
    sizes = [size(text[start:end]) for start, end in pieces]
    first, length = 0, 0
    for place, each in enumerate(sizes):
        if length + each > PASSAGE:
            yield from _stripped(text, pieces[first].start, pieces[place - 1].end)
            overlaps = place - 1 > first and sizes[place - 1] <= min(OVERLAP, PASSAGE - each)
            first = place - 1 if overlaps else place
            length = sum(sizes[first:place])
        length += each
    if pieces:
        yield from _stripped(text, pieces[first].start, pieces[-1].end)


def _stripped(text: str, start: int, end: int) -> Iterator[PassageSpan]:
    """Yield a passage without the white space around it, if any other character is left."""
    passage = text[start:end]
    start += len(passage) - len(passage.lstrip())
    end -= len(passage) - len(passage.rstrip())
    if start < end:
        yield PassageSpan(start, end)
