"""Stances: does a rule or a note say the same as another one, or the opposite?

Rules and notes have no service and category that say what they are about, so a text is compared with texts about
anything. The verdicts of `verdicts` count only between texts that share most of their words: a wrong repetition would
hide a line, and a wrong opposition would bother a person without a reason.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, Generic, TypeVar

from commonplace.judge.comparison import compare_readings
from commonplace.judge.differences import denial
from commonplace.judge.observation import read
from commonplace.judge.quantities import Dimension
from commonplace.judge.verdicts import Judgement, Verdict, judge_readings

LEAST_SAME: Final = 0.82
LEAST_OPPOSED: Final = 0.6
"""Similarities from which two texts say the same, or oppose each other. Source: `benchmarks/stances.py`."""

LEAST_SHARED: Final = 0.3
"""Share of common concepts below which texts are not compared, because comparing takes half a millisecond.

Source: `benchmarks/stances.py`: no related pair shares less; of pairs about anything, 99.7 % do.
"""

MOST_COMPARISONS: Final = 300
"""The maximum number of comparisons for a block; a comparison takes up to 4 ms. A block of 20 lines needs 190."""

MOST_OPPOSED: Final = 2
"""A text that opposes more texts is one of a series: "Sprint 7 ended well", "Sprint 8 ended well"."""

MOST_CHARS: Final = 2_000
"""Longer texts are not compared, because they make more than one statement."""

_NOT_COMPARED: Final = Judgement(
    verdict=Verdict.DISTINCT, score=0.0, reason="The texts share too little, or are too long."
)

_NUMBER_OF_A_NAME: Final = re.compile(r"\s[A-Z]\w* [0-9]+\W*$")

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


@lru_cache(maxsize=4096)  # A block is made for every model call, mostly of the same texts.
def stance(older: str, newer: str) -> tuple[Stance, Judgement]:
    """Return the stance of a newer text on an older one, with its grounds.

    Source: TRU-05.
    """
    if max(len(older), len(newer)) > MOST_CHARS or _shared(older, newer) < LEAST_SHARED:
        return Stance.APART, _NOT_COMPARED
    judgement = judge_readings(read(older), read(newer))
    verdict, score = judgement.verdict, judgement.score
    if verdict is Verdict.SAME and score >= LEAST_SAME:
        return Stance.SAME, judgement
    if verdict is Verdict.CORRECT and score >= LEAST_OPPOSED and not _are_numbered(older, newer):
        return Stance.OPPOSED, judgement
    return Stance.APART, judgement


def relatives(newer: str, older: Sequence[_T], text_of: Callable[[_T], str]) -> Relatives[_T]:
    """Return the older texts that a newer text repeats or opposes, closest first; ties: in their order.

    If it opposes more than two, it is one of a series, and it opposes none.
    """
    stances = [(each, *stance(text_of(each), newer)) for each in older]
    stances.sort(key=lambda one: -one[2].score)
    opposed = [
        Opposition(other=each, reason=grounds.reason)
        for each, kind, grounds in stances
        if kind is Stance.OPPOSED
    ]
    return Relatives(
        same=tuple(each for each, kind, _ in stances if kind is Stance.SAME),
        opposed=tuple(opposed) if len(opposed) <= MOST_OPPOSED else (),
    )


def without_repetitions(candidates: Iterable[_T], text_of: Callable[[_T], str]) -> Iterator[_T]:
    """Yield the candidates that do not repeat an earlier one, in their order; each is read when it is needed.

    After :data:`MOST_COMPARISONS`, the other candidates are yielded unread, so that hundreds of lines cost no seconds.
    """
    texts: list[str] = []
    left = MOST_COMPARISONS
    for each in candidates:
        text = text_of(each)
        earlier, left = texts[:left], max(0, left - len(texts))
        if not any(stance(one, text)[0] is Stance.SAME for one in earlier):
            texts.append(text)
            yield each


def _are_numbered(older: str, newer: str) -> bool:
    """Return whether the texts differ in the number of a thing at their ends alone: "note 2" and "note 3".

    The number after a name is a value: "uses PostgreSQL 16".
    """
    comparison = compare_readings(read(older), read(newer))
    ends = [len(side.reading.tokens) - 1 for side in (comparison.old, comparison.new)]
    amounts = [amount for pair in comparison.other_amounts for amount in pair]
    return (
        [amount.place for amount in amounts] == ends
        and all(each.quantity.kind is Dimension.NUMBER and not each.opener for each in amounts)
        and not denial(comparison)
        and not _NUMBER_OF_A_NAME.search(newer)
    )


def _shared(one: str, other: str) -> float:
    """Return the share of concepts and names that two texts have in common, 0.0 to 1.0."""
    ones, others = _concepts(one), _concepts(other)
    return 2 * len(ones & others) / max(1, len(ones) + len(others))


@lru_cache(maxsize=4096)
def _concepts(text: str) -> frozenset[str]:
    reading = read(text)
    return frozenset((*(word.concept for word in reading.words), *(name.mark for name in reading.names)))
