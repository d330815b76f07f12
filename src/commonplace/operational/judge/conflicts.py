"""Conflicts: where two aligned observations say opposite things.

Source: OPS-10.1, R-OPS-5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.operational.judge.alignment import Alignment
from commonplace.operational.judge.lexicon import LIGHT_IDEAS, OPERATORS
from commonplace.operational.judge.observations import Observation
from commonplace.operational.judge.polarity import Word

_JUDGED_WITHIN: Final = 4
"""Places within which one idea is taken to judge another."""

_JUDGING_ALONE: Final = LIGHT_IDEAS & OPERATORS - {"ORDER"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """What the first and what the second observation say; empty where one says nothing of it."""

    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A place where the poles of two texts differ; ``None`` for a text that has no such word."""

    concept: str
    first: Word | None
    second: Word | None

    def judges(self, other: "_Turn") -> bool:
        """Tell whether the two are one denial told in two ways, as "no restart" and "not required" are."""
        if self.concept == other.concept or OPERATORS.isdisjoint({self.concept, other.concept}):
            return False
        near = [
            abs(one.place - two.place) <= _JUDGED_WITHIN
            for one, two in ((self.first, other.first), (self.second, other.second))
            if one is not None and two is not None
        ]
        return any(near)


def find_conflicts(first: Observation, second: Observation, alignment: Alignment) -> list[Conflict]:
    """Return what two aligned observations contradict each other in: poles, then quantities, then obligation."""
    conflicts = [
        Conflict(first=turn.first.text if turn.first else "", second=turn.second.text if turn.second else "")
        for turn in _without_cancelled(_turns(first, second, alignment))
    ]
    conflicts += [
        Conflict(first=one.text, second=other.text) for one, other in alignment.different_quantities
    ]
    if not conflicts and _only_modality_differs(first, second, alignment):
        conflicts = [Conflict(first=_modal(first), second=_modal(second))]
    return conflicts


def _turns(first: Observation, second: Observation, alignment: Alignment) -> list[_Turn]:
    turns = [
        _Turn(concept=one.concept, first=one, second=other)
        for one, other in alignment.pairs
        if (one.pole != other.pole) != _sides_exchanged(first, second, one, other)
    ]
    turns += [_Turn(concept=word.concept, first=word, second=None) for word in _judging(alignment.first_left)]
    turns += [
        _Turn(concept=word.concept, first=None, second=word) for word in _judging(alignment.second_left)
    ]
    return turns


def _judging(left: Sequence[Word]) -> Iterable[Word]:
    """Return the unpaired words that deny what they stand with ("unnecessary"), unless they came with new content."""
    denying = [word for word in left if word.concept in _JUDGING_ALONE and word.pole < 0]
    new_content = any(word.weight >= 1 for word in left)
    return () if new_content else denying


def _sides_exchanged(first: Observation, second: Observation, one: Word, other: Word) -> bool:
    """Tell whether "A before B" meets "B … A": what stands left in one text stands right in the other."""
    if one.place not in first.sides or other.place not in second.sides:
        return False
    (left, right), (other_left, other_right) = first.sides[one.place], second.sides[other.place]
    here, there = len(left & other_right), len(right & other_left)
    return here > 0 and there > 0 and here + there > len(left & other_left) + len(right & other_right)


def _without_cancelled(turns: Sequence[_Turn]) -> list[_Turn]:
    """Drop the turns that cancel in pairs, nearest neighbours first."""
    kept: list[_Turn] = []
    for turn in sorted(turns, key=lambda turn: (turn.first or turn.second or _NOWHERE).place):
        if kept and kept[-1].judges(turn):
            kept.pop()
        else:
            kept.append(turn)
    return kept


_NOWHERE: Final = Word(concept="", pole=1, weight=0.0, token="", text="", place=-1)


def _only_modality_differs(first: Observation, second: Observation, alignment: Alignment) -> bool:
    """Tell whether one says "must", the other "can", and both the same besides."""
    if any(word.weight >= 1 for word in alignment.first_left + alignment.second_left):
        return False
    modes = {(first.obliges, first.permits), (second.obliges, second.permits)}
    return modes == {(True, False), (False, True)}


def _modal(observation: Observation) -> str:
    return "must" if observation.obliges else "can"
