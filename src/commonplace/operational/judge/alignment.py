"""Alignment: which words and quantities of two observations speak of the same thing, and what is left over.

Source: R-OPS-5.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from commonplace.operational.judge.lexicon import CONNECTORS, NAMES
from commonplace.operational.judge.observations import Observation
from commonplace.operational.judge.polarity import Word, is_known
from commonplace.operational.judge.quantities import Agreement, Quantity, compare

QUANTITY_WEIGHT: Final = 0.5

_MOST_CHOICES: Final = 4
"""Up to so many uses of one idea are paired by what stands around them; more are paired in order."""

_MOST_LEFT: Final = 12
"""Up to so many words left on either side are compared by spelling."""

_MOST_QUANTITIES: Final = 16
"""Further quantities of a text are not compared, so that a page of numbers takes no quadratic time."""

_MOST_TYPOS: Final = 2
_LONGEST_COMPARED: Final = 40
_TYPO_LENGTH: Final = 5
_TWO_TYPOS_LENGTH: Final = 9
_PREFIX_LENGTH: Final = 6
_NEGATING_PREFIXES: Final = ("un", "in", "im", "non", "dis", "ir")

_Pairs: TypeAlias = list[tuple[Word, Word]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Two observations side by side; `first` and `second` in the names are the two, in the order given.

    ``same_quantities`` agree, ``different_quantities`` measure one thing and differ. ``matched``, ``first_weight``
    and ``second_weight`` are the weights of what was paired, and of what is left on either side.
    """

    pairs: tuple[tuple[Word, Word], ...]
    first_left: tuple[Word, ...]
    second_left: tuple[Word, ...]
    same_quantities: tuple[tuple[Quantity, Quantity], ...]
    different_quantities: tuple[tuple[Quantity, Quantity], ...]
    matched: float
    first_weight: float
    second_weight: float

    @property
    def similarity(self) -> float:
        """The share of the two texts that was paired, by weight: 0.0 nothing, 1.0 everything."""
        whole = 2 * self.matched + self.first_weight + self.second_weight
        return 2 * self.matched / whole if whole else 0.0


def align(first: Observation, second: Observation) -> Alignment:
    """Pair what two observations share; time linear in their lengths."""
    pairs = _pair_ideas(first, second)
    first_left = _left(first.words, {one.place for one, _ in pairs})
    second_left = _left(second.words, {other.place for _, other in pairs})
    if len(first_left) <= _MOST_LEFT and len(second_left) <= _MOST_LEFT:
        pairs += _pair_spellings(first_left, second_left)
    same, different, first_more, second_more = _pair_quantities(first.quantities, second.quantities)
    return Alignment(
        pairs=tuple(pairs),
        first_left=tuple(first_left),
        second_left=tuple(second_left),
        same_quantities=tuple(same),
        different_quantities=tuple(different),
        matched=sum(min(one.weight, other.weight) for one, other in pairs)
        + QUANTITY_WEIGHT * (len(same) + len(different)),
        first_weight=sum(word.weight for word in first_left) + QUANTITY_WEIGHT * first_more,
        second_weight=sum(word.weight for word in second_left) + QUANTITY_WEIGHT * second_more,
    )


def _left(words: Sequence[Word], paired: set[int]) -> list[Word]:
    return [word for word in words if word.place not in paired]


def _pair_ideas(first: Observation, second: Observation) -> _Pairs:
    uses: dict[str, tuple[list[Word], list[Word]]] = defaultdict(lambda: ([], []))
    for side, observation in enumerate((first, second)):
        for word in observation.words:
            uses[word.concept][side].append(word)
    pairs: _Pairs = []
    for ones, others in uses.values():
        if len(ones) == 1 and len(others) == 1:
            pairs.append((ones[0], others[0]))
        elif max(len(ones), len(others)) <= _MOST_CHOICES:
            pairs += _pair_by_surroundings(ones, others)
        else:
            pairs += zip(ones, others, strict=False)
    return pairs


def _pair_by_surroundings(ones: list[Word], others: list[Word]) -> _Pairs:
    """Pair the uses of one idea that stand among the same words: which restart fails, and which succeeds."""
    choices = sorted(
        ((one, other) for one in ones for other in others),
        key=lambda pair: (
            _reads_otherwise(*pair),
            -len(pair[0].near & pair[1].near),
            pair[0].place,
            pair[1].place,
        ),
    )
    pairs: _Pairs = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for one, other in choices:
        if one.place not in taken[0] and other.place not in taken[1]:
            pairs.append((one, other))
            taken[0].add(one.place)
            taken[1].add(other.place)
    return pairs


def _reads_otherwise(one: Word, other: Word) -> bool:
    """Tell whether two connectors differ: where a text has a "before" and an "after", each meets its own kind first."""
    return one.concept in CONNECTORS and one.pole != other.pole


def _pair_spellings(first_left: list[Word], second_left: list[Word]) -> _Pairs:
    """Pair what is left by spelling, and take it out of both lists."""
    pairs: _Pairs = []
    for one in list(first_left):
        for other in second_left:
            turned = _negates(one.concept, other.concept) or _negates(other.concept, one.concept)
            if turned or _same_word(one, other):
                pairs.append((one, other.turned() if turned else other))
                first_left.remove(one)
                second_left.remove(other)
                break
    return pairs


def _negates(longer: str, shorter: str) -> bool:
    return any(len(shorter) > len(prefix) + 1 and longer == prefix + shorter for prefix in _NEGATING_PREFIXES)


def _same_word(one: Word, other: Word) -> bool:
    if is_known(one.concept) and is_known(other.concept):
        return False
    if {one.concept, other.concept} & NAMES and min(len(one.concept), len(other.concept)) < _PREFIX_LENGTH:
        return False
    short, long = sorted((one.token, other.token), key=len)
    if any(char.isdigit() for char in short + long):
        return False
    if len(short) >= _PREFIX_LENGTH and long.startswith(short):
        return True
    if len(short) < _TYPO_LENGTH or short[0] != long[0]:
        return False
    return _typos(short, long) <= (_MOST_TYPOS if len(short) >= _TWO_TYPOS_LENGTH else 1)


def _typos(one: str, other: str) -> int:
    """Return how many letters were added, dropped, changed or swapped with their neighbour; 3 stands for more."""
    if len(other) - len(one) > _MOST_TYPOS or len(other) > _LONGEST_COMPARED:
        return _MOST_TYPOS + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        above, before, row = before, row, [at]
        for to, wanted in enumerate(other, start=1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            swapped = at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted
            row.append(min(cost, above[to - 2] + 1) if swapped else cost)
    return min(row[-1], _MOST_TYPOS + 1)


_Quantities: TypeAlias = list[tuple[Quantity, Quantity]]


def _pair_quantities(
    first: Sequence[Quantity],
    second: Sequence[Quantity],
) -> tuple[_Quantities, _Quantities, int, int]:
    """Pair the quantities that agree, then those that differ; return also how many are left on either side.

    A denied quantity ("not 200") agrees with a denied one, and differs from the same value affirmed.
    """
    ones, others = list(first[:_MOST_QUANTITIES]), list(second[:_MOST_QUANTITIES])
    same = _take(ones, others, lambda one, other: one.denied == other.denied and _agree(one, other))
    different = _take(ones, others, lambda one, other: one.denied != other.denied and _agree(one, other))
    different += _take(
        ones,
        others,
        lambda one, other: not (one.denied or other.denied) and compare(one, other) is Agreement.DIFFER,
    )
    return same, different, len(ones), len(others)


def _agree(one: Quantity, other: Quantity) -> bool:
    return compare(one, other) is Agreement.AGREE


def _take(
    ones: list[Quantity],
    others: list[Quantity],
    fits: Callable[[Quantity, Quantity], bool],
) -> _Quantities:
    """Take the pairs that fit out of both lists, in order."""
    taken: _Quantities = []
    for one in list(ones):
        match = next((at for at, other in enumerate(others) if fits(one, other)), None)
        if match is not None:
            taken.append((one, others.pop(match)))
            ones.remove(one)
    return taken
