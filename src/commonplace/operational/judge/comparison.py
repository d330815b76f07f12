"""Two readings side by side: the parts that both have, and the parts that are left.

Source: R-OPS-5.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, TypeAlias, TypeVar

from commonplace.operational.judge.quantities import Agreement, Kind, compare
from commonplace.operational.judge.reading import Amount, Name, Placed, Reading, Word

AMOUNT_WEIGHT: Final = 0.75
_MOST_LEFT: Final = 16
"""Up to so many words left on either side are compared by spelling."""

_MOST_AMOUNTS: Final = 16
"""Further amounts of a text are not compared, so that a page of numbers takes no quadratic time."""

_SHORTEST_COMPARED: Final = 5
_LONGEST_COMPARED: Final = 40
LEAST_SPELLED: Final = 0.88
"""Ratio of equal letters from which one word is a typo of another."""

_NEGATING_PREFIXES: Final = ("un", "in", "im", "non", "dis", "ir")

_PartT = TypeVar("_PartT", bound=Placed)
_Pairs: TypeAlias = "tuple[tuple[Word, Word], ...]"
_Names: TypeAlias = "tuple[tuple[Name, Name], ...]"
_Amounts: TypeAlias = "tuple[tuple[Amount, Amount], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One text of two: its reading, the places that the other text shares, and what is left."""

    reading: Reading
    shared: frozenset[int]
    words: tuple[Word, ...]
    names: tuple[Name, ...]
    amounts: tuple[Amount, ...]

    @property
    def heavy(self) -> float:
        """Weight of the content words that the other text lacks."""
        return heavy(self.words)

    @property
    def first_is_left(self) -> bool:
        """Whether the other text lacks the first content word, or the first word of all."""
        words = self.reading.words
        first = next((word for word in words if word.is_heavy), None)
        return bool(words) and (first in self.words or words[0] in self.words)

    @property
    def narrowed(self) -> bool:
        """Whether the text limits the shared subject: "full backups", "VMs with a GPU", "the first sync"."""
        shared = [word for word in self.reading.words if word.is_heavy and word.place in self.shared]
        begins = min((word.place for word in shared), default=0)
        ends = {word.clause: word.place for word in shared}
        words = [word for word in self.words if word.is_heavy and not word.conditional]
        limits: tuple[Placed, ...] = (*words, *self.names)
        return any(one.place < (ends.get(one.clause, 0) if one.is_attached else begins) for one in limits)

    def unshared(self, other_names: int) -> float:
        """Return the weight of the words, names and amounts that stand in this text only."""
        return self.heavy + len(self.names) + other_names + 0.5 * len(self.amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What two texts share and what is left; ``turned`` counts pairs such as "reachable" and "unreachable"."""

    old: Side
    new: Side
    words: _Pairs
    same_names: _Names
    other_names: _Names
    same_amounts: _Amounts
    other_amounts: _Amounts
    turned: int

    @property
    def matched(self) -> float:
        """The weight of what both texts share."""
        words = sum(min(one.weight, other.weight) for one, other in self.words)
        return words + len(self.same_names) + AMOUNT_WEIGHT * len(self.same_amounts)

    @property
    def similarity(self) -> float:
        """The share of the two texts that was paired, by weight: 0.0 nothing, 1.0 everything."""
        left = sum(
            sum(word.weight for word in side.words) + len(side.names) + AMOUNT_WEIGHT * len(side.amounts)
            for side in (self.old, self.new)
        )
        whole = 2 * (self.matched + len(self.other_names) + AMOUNT_WEIGHT * len(self.other_amounts)) + left
        return 2 * self.matched / whole if whole else 0.0

    @property
    def substituted(self) -> float:
        """The weight that is left on both sides, as a share of what both share."""
        names = len(self.other_names)
        return min(self.old.unshared(names), self.new.unshared(names)) / self.matched


def heavy(words: Sequence[Word]) -> float:
    """Return the weight of the words that say something."""
    return sum(word.weight for word in words if word.is_heavy)


def compare_readings(old: Reading, new: Reading) -> Comparison:
    """Pair the words, names and amounts of two readings; time linear in their lengths."""
    pairs = _pair_words(old.words, new.words)
    old_left = _left(old.words, [one for one, _ in pairs])
    new_left = _left(new.words, [other for _, other in pairs])
    turned = 0
    if len(old_left) <= _MOST_LEFT and len(new_left) <= _MOST_LEFT:
        spelled, turned = _pair_spellings(old_left, new_left)
        pairs += spelled
    same_names, other_names, old_names, new_names = _pair_names(old.names, new.names)
    same, other, old_amounts, new_amounts = _pair_amounts(old.amounts, new.amounts)
    shared: tuple[tuple[Placed, Placed], ...] = (*pairs, *same_names, *same)
    return Comparison(
        old=Side(
            reading=old,
            shared=frozenset(one.place for one, _ in shared),
            words=tuple(old_left),
            names=tuple(old_names),
            amounts=tuple(old_amounts),
        ),
        new=Side(
            reading=new,
            shared=frozenset(other.place for _, other in shared),
            words=tuple(new_left),
            names=tuple(new_names),
            amounts=tuple(new_amounts),
        ),
        words=tuple(pairs),
        same_names=tuple(same_names),
        other_names=tuple(other_names),
        same_amounts=tuple(same),
        other_amounts=tuple(other),
        turned=turned,
    )


def _left(words: Sequence[Word], paired: Sequence[Word]) -> list[Word]:
    taken = {word.place for word in paired}
    return [word for word in words if word.place not in taken]


def _pair_words(old: Sequence[Word], new: Sequence[Word]) -> list[tuple[Word, Word]]:
    uses: dict[str, list[Word]] = defaultdict(list)
    for word in new:
        uses[word.concept].append(word)
    pairs: list[tuple[Word, Word]] = []
    for word in old:
        if not uses[word.concept]:
            continue
        best = min(
            uses[word.concept],
            key=lambda other: (other.conditional != word.conditional, other.pole != word.pole, other.place),
        )
        uses[word.concept].remove(best)
        pairs.append((word, best))
    return pairs


def _pair_spellings(old: list[Word], new: list[Word]) -> tuple[list[tuple[Word, Word]], int]:
    """Pair words that are left by spelling (a typo, a negating prefix), and take them out of both lists."""
    pairs: list[tuple[Word, Word]] = []
    turned = 0
    for one in list(old):
        for other in new:
            negates = _negates(one.concept, other.concept) or _negates(other.concept, one.concept)
            if negates or _same_spelling(one, other):
                turned += negates
                pairs.append((one, other))
                old.remove(one)
                new.remove(other)
                break
    return pairs, turned


def _negates(longer: str, shorter: str) -> bool:
    return any(len(shorter) > len(prefix) + 1 and longer == prefix + shorter for prefix in _NEGATING_PREFIXES)


def _same_spelling(one: Word, other: Word) -> bool:
    short, long = sorted((one.text, other.text), key=len)
    known = one.concept.isupper() or other.concept.isupper()
    lengths = _SHORTEST_COMPARED <= len(short) <= _LONGEST_COMPARED
    if known or not lengths or any(char.isdigit() for char in short + long):
        return False
    typo = short[0] == long[0] and len(long) - len(short) <= 1
    return long.startswith(short) or (typo and SequenceMatcher(None, short, long).ratio() >= LEAST_SPELLED)


def _pair_names(
    old: Sequence[Name], new: Sequence[Name]
) -> tuple[list[tuple[Name, Name]], list[tuple[Name, Name]], list[Name], list[Name]]:
    """Pair equal names, then names of one label with other marks; return also what is left on either side."""
    ones, others = list(old), list(new)
    same = _take(
        ones,
        others,
        lambda one, other: (
            one.mark == other.mark and (one.label == other.label or not one.label or not other.label)
        ),
    )
    return same, _take(ones, others, lambda one, other: one.label == other.label), ones, others


def _pair_amounts(
    old: Sequence[Amount], new: Sequence[Amount]
) -> tuple[list[tuple[Amount, Amount]], list[tuple[Amount, Amount]], list[Amount], list[Amount]]:
    """Pair the amounts that agree, then those that differ; return also what is left on either side."""
    ones, others = list(old[:_MOST_AMOUNTS]), list(new[:_MOST_AMOUNTS])

    def agrees(one: Amount, other: Amount) -> bool:
        return compare(one.quantity, other.quantity) is Agreement.AGREE

    def differs(one: Amount, other: Amount) -> bool:
        affirmed = not (one.quantity.denied or other.quantity.denied)
        return affirmed and compare(one.quantity, other.quantity) is Agreement.DIFFER

    def denies(one: Amount, other: Amount) -> bool:
        return one.quantity.denied != other.quantity.denied

    same = _take(ones, others, lambda one, other: not denies(one, other) and agrees(one, other))
    other = _take(ones, others, lambda one, other: denies(one, other) and agrees(one, other))
    other += _take(
        ones, others, lambda one, other: one.quantity.kind is not Kind.ADDRESS and differs(one, other)
    )
    return same, other + _take(ones, others, differs), ones, others


def _take(
    ones: list[_PartT], others: list[_PartT], fits: Callable[[_PartT, _PartT], bool]
) -> list[tuple[_PartT, _PartT]]:
    """Take the pairs that fit out of both lists, in order."""
    taken: list[tuple[_PartT, _PartT]] = []
    for one in list(ones):
        match = next((other for other in others if fits(one, other)), None)
        if match is not None:
            taken.append((one, match))
            ones.remove(one)
            others.remove(match)
    return taken
