"""Relatives: the texts that a newer text repeats or opposes, without a service that says what they are about.

Rules and notes are compared with texts about anything, so a verdict counts only between texts that share words, and
only if it is nearly certain: a wrong repetition would hide a line, and a wrong opposition would bother a person.

Source: TRU-05.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final, Generic, TypeVar

from commonplace.judge.comparing import Compared, judge
from commonplace.judge.verdicts import Judgement, Verdict
from commonplace.language.words import STOPWORDS, content_words

LEAST_SAME: Final = 0.94
LEAST_OPPOSED: Final = 0.93
"""Probabilities from which two texts say the same, or oppose each other. Source: `benchmarks/stances.py`."""

LEAST_SHARED: Final = 0.3
"""Share of common words below which texts are not compared. Source: `benchmarks/stances.py`."""

MOST_LOOKED_AT: Final = 300
"""The maximum number of pairs of lines of a block of which it is asked whether they share words."""

MOST_READ_CHARS: Final = 2_000
"""Characters of pairs of lines of a block that are compared, so that a prompt does not wait. They take 0.05 seconds.

Of 1,598 blocks of the worlds in ``benchmarks/recall.py --worlds kept``, none needed more than 635.
"""

CHARS_OF_PAIR: Final = 40
"""The characters that take as long to read as the network needs for a pair without its texts."""

MOST_OPPOSED: Final = 2
"""A text that opposes more texts is one of a series: "Sprint 7 ended well", "Sprint 8 ended well"."""

MOST_CHARS: Final = 2_000
"""Longer texts are not compared, because they make more than one statement."""

_NUMBERED: Final = re.compile(
    rf"(?P<thing>(?:.*\s)?(?!(?:{'|'.join(STOPWORDS)})\s)(?:(?<!\s)[A-Z]|[^\W\dA-Z_])\w*\s)\d+\W*"
)
"""A text that ends with a number behind a noun."""

_T = TypeVar("_T")


class Stance(StrEnum):
    """The stance of a newer text on an older one."""

    SAME = "same"
    OPPOSED = "opposed"
    APART = "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition(Generic[_T]):
    """A text that a newer text may contradict; ``reason`` is a sentence for a person."""

    other: _T
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives(Generic[_T]):
    """The texts to which a newer text is related, closest first."""

    same: tuple[_T, ...] = ()
    opposed: tuple[Opposition[_T], ...] = ()


def find_stances(newer: str, older: Sequence[str]) -> list[tuple[Stance, Judgement | None]]:
    """Return the stance of a newer text on each older one, with its grounds if the two were compared.

    Source: TRU-05.
    """
    return stances_of([(text, newer) for text in older])


def stances_of(
    pairs: Sequence[tuple[str, str]], *, most_chars: int | None = None
) -> list[tuple[Stance, Judgement | None]]:
    """Return the stance of the newer text of each pair on the older one, with its grounds if the two were compared.

    Args:
        pairs: Older and newer texts.
        most_chars: The maximum number of characters that are compared, from the first pair on; a pair counts
            :data:`CHARS_OF_PAIR` more than its texts. Pairs beyond are apart. ``None`` compares all.
    """
    compared = [place for place, pair in enumerate(pairs) if are_comparable(*pair)]
    if most_chars is not None:
        read = accumulate(len(pairs[place][0]) + len(pairs[place][1]) + CHARS_OF_PAIR for place in compared)
        compared = compared[: sum(chars <= most_chars for chars in read)]
    judgements = judge.compare_all([Compared(*pairs[place]) for place in compared])
    stances: list[tuple[Stance, Judgement | None]] = [(Stance.APART, None)] * len(pairs)
    for place, judgement in zip(compared, judgements, strict=True):
        stances[place] = _stance(*pairs[place], judgement), judgement
    return stances


def relatives(newer: str, older: Sequence[_T], text_of: Callable[[_T], str]) -> Relatives[_T]:
    """Return the older texts that a newer text repeats or opposes, the most certain first; ties: in their order.

    If it opposes more than two, it is one of a series, and it opposes none.
    """
    judged_texts = zip(older, find_stances(newer, [text_of(each) for each in older]), strict=True)
    judged = [(each, stance, grounds) for each, (stance, grounds) in judged_texts if grounds is not None]
    judged.sort(key=lambda one: -one[2].probability)
    opposed = [
        Opposition(other=each, reason=grounds.reason)
        for each, stance, grounds in judged
        if stance is Stance.OPPOSED
    ]
    return Relatives(
        same=tuple(each for each, stance, _ in judged if stance is Stance.SAME),
        opposed=tuple(opposed) if len(opposed) <= MOST_OPPOSED else (),
    )


class Comparisons:
    """The comparisons of the lines of one block, up to a limit, so that a prompt does not wait.

    Lines beyond :data:`MOST_LOOKED_AT` pairs, or :data:`MOST_READ_CHARS`, repeat nothing.
    """

    def __init__(self) -> None:
        self._looked_at = 0
        self._read = 0

    def repeated(self, text: str, earlier: Sequence[str]) -> int | None:
        """Return the place of the earlier text that a text most certainly repeats; ``None`` if it repeats none."""
        if self._looked_at >= MOST_LOOKED_AT or self._read >= MOST_READ_CHARS:
            return None
        places = self._within_limit(text, earlier)
        judged = zip(places, find_stances(text, [earlier[place] for place in places]), strict=True)
        same = [
            (grounds.probability, -place)
            for place, (stance, grounds) in judged
            if grounds is not None and stance is Stance.SAME
        ]
        return -max(same)[1] if same else None

    def _within_limit(self, text: str, earlier: Sequence[str]) -> list[int]:
        """Return the places of the texts that are compared with a text, and count their characters."""
        self._looked_at += len(earlier)
        places: list[int] = []
        for place, each in enumerate(earlier):
            if are_comparable(each, text) and self._read < MOST_READ_CHARS:
                self._read += len(each) + len(text)
                places.append(place)
        return places


def without_repetitions(candidates: Iterable[_T], text_of: Callable[[_T], str]) -> Iterator[_T]:
    """Yield the candidates that do not repeat an earlier one, in their order; each is read when it is needed."""
    comparisons, texts = Comparisons(), list[str]()
    for each in candidates:
        text = text_of(each)
        if comparisons.repeated(text, texts) is None:
            texts.append(text)
            yield each


def are_comparable(older: str, newer: str) -> bool:
    """Return whether two texts are short and share enough words to be about one thing."""
    if max(len(older), len(newer)) > MOST_CHARS:
        return False
    ones, others = content_words(older), content_words(newer)
    return 2 * len(ones & others) >= LEAST_SHARED * max(1, len(ones) + len(others))


def _are_numbered(older: str, newer: str) -> bool:
    """Return whether two texts differ in the number of a thing at their ends alone: "note 2" and "note 3".

    The number after a name or a preposition is a value: "uses PostgreSQL 16", "listens on 8080".
    """
    ends = _NUMBERED.fullmatch(older), _NUMBERED.fullmatch(newer)
    return all(ends) and len({end["thing"].casefold() for end in ends if end}) == 1


def _stance(older: str, newer: str, judgement: Judgement) -> Stance:
    if judgement.verdict is Verdict.SAME and judgement.probability >= LEAST_SAME:
        return Stance.SAME
    is_opposed = judgement.verdict is Verdict.CORRECT and judgement.probability >= LEAST_OPPOSED
    if is_opposed and not _are_numbered(older, newer):
        return Stance.OPPOSED
    return Stance.APART
