"""Comparison of two readings: the parts that both share, and the remaining parts.

Source: R-OPS-5.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, TypeAlias, TypeVar

from commonplace.judge.observation import Amount, Name, Placed, Reading, Word
from commonplace.judge.quantities import Agreement, compare
from commonplace.language.stems import stem

AMOUNT_WEIGHT: Final = 0.75
_MOST_LEFT: Final = 16
"""The maximum number of remaining words on either side that are compared by spelling."""

_MOST_AMOUNTS: Final = 16
"""Further amounts of a text are not compared, so that a page of numbers does not take quadratic time."""

_SHORTEST_COMPARED: Final = 4
_LONGEST_COMPARED: Final = 40
LEAST_SPELLED: Final = 0.88
"""Ratio of equal letters above which one word is a typo of another."""

_NEGATING_PREFIXES: Final = ("un", "in", "im", "non", "dis", "ir")

_PartT = TypeVar("_PartT", bound=Placed)
_Pairs: TypeAlias = "tuple[tuple[Word, Word], ...]"
_Names: TypeAlias = "tuple[tuple[Name, Name], ...]"
_Amounts: TypeAlias = "tuple[tuple[Amount, Amount], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedText:
    """One of two texts: its reading, the positions that the other text shares, and the remaining parts."""

    reading: Reading
    shared: frozenset[int]
    words: tuple[Word, ...]
    names: tuple[Name, ...]
    amounts: tuple[Amount, ...]

    @property
    def heavy(self) -> float:
        """The weight of the content words that the other text lacks."""
        return sum(word.weight for word in self.words if word.is_heavy)

    @property
    def parts(self) -> list[Word | Name]:
        """The names and content words that the other text lacks."""
        return [*self.names, *(word for word in self.words if word.is_heavy)]

    @property
    def narrowed(self) -> bool:
        """Whether the text limits the shared subject: "full backups", "VMs with a GPU", "the first sync"."""
        shared = [word for word in self.reading.words if word.is_heavy and word.place in self.shared]
        begins = min((word.place for word in shared), default=0)
        ends = {word.clause: word.place for word in shared}
        limits = [part for part in self.parts if isinstance(part, Name) or not part.conditional]
        return any(one.place < (ends.get(one.clause, 0) if one.is_attached else begins) for one in limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Shared and remaining parts of two texts; ``turned`` counts pairs such as "reachable" and "unreachable"."""

    old: ComparedText
    new: ComparedText
    words: _Pairs
    same_names: _Names
    other_names: _Names
    same_amounts: _Amounts
    other_amounts: _Amounts
    turned: int

    @property
    def matched(self) -> float:
        """The weight of the parts that both texts share."""
        words = sum(min(one.weight, other.weight) for one, other in self.words)
        return words + len(self.same_names) + AMOUNT_WEIGHT * len(self.same_amounts)

    @property
    def similarity(self) -> float:
        """The paired share of the two texts, by weight: 0.0 for nothing, 1.0 for everything."""
        whole = sum(
            sum(word.weight for word in reading.words)
            + len(reading.names)
            + AMOUNT_WEIGHT * len(reading.amounts)
            for reading in (self.old.reading, self.new.reading)
        )
        return min(2 * self.matched / whole, 1.0) if whole else 0.0

    @property
    def substituted(self) -> float:
        """The remaining weight on both sides, relative to the weight that both texts share."""
        left = (side.heavy + len(side.names) + 0.5 * len(side.amounts) for side in (self.old, self.new))
        return (min(left) + len(self.other_names)) / max(self.matched, 0.25)


def compare_readings(old: Reading, new: Reading) -> Comparison:
    """Pair the words, names and amounts of two readings; takes time linear in their lengths."""
    pairs = _pair_words(old.words, new.words)
    old_words = _left(old.words, [one for one, _ in pairs])
    new_words = _left(new.words, [other for _, other in pairs])
    turned = 0
    if len(old_words) <= _MOST_LEFT and len(new_words) <= _MOST_LEFT:
        opposed = _take(old_words, new_words, _negates)
        # A typo such as "fial" has no pole; the other spelling determines it.
        spelled = _take(old_words, new_words, _same_spelling)
        turned = len(opposed) + sum(one.pole != other.pole for one, other in spelled)
        pairs += [*opposed, *((one, replace(other, pole=one.pole)) for one, other in spelled)]
        pairs += _compounds(old_words, new_words)
        pairs += [(one, other) for other, one in _compounds(new_words, old_words)]
    old_names, new_names = list(old.names), list(new.names)
    same_names, other_names = _pair_names(old_names, new_names)
    old_amounts, new_amounts = list(old.amounts[:_MOST_AMOUNTS]), list(new.amounts[:_MOST_AMOUNTS])
    same, other = _pair_amounts(old_amounts, new_amounts)
    shared: tuple[tuple[Placed, Placed], ...] = (*pairs, *same_names, *same)
    return Comparison(
        old=_side(old, [one for one, _ in shared], old_words, old_names, old_amounts),
        new=_side(new, [one for _, one in shared], new_words, new_names, new_amounts),
        words=tuple(pairs),
        same_names=same_names,
        other_names=other_names,
        same_amounts=same,
        other_amounts=other,
        turned=turned,
    )


def _side(
    reading: Reading, shared: list[Placed], words: list[Word], names: list[Name], amounts: list[Amount]
) -> ComparedText:
    return ComparedText(
        reading=reading,
        shared=frozenset(part.place for part in shared),
        words=tuple(words),
        names=tuple(names),
        amounts=tuple(amounts),
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


def _compounds(ones: list[Word], others: list[Word]) -> list[tuple[Word, Word]]:
    """Pair words that the other text writes separately or in full: "wifi", "wi-fi"; "DC", "domain controller"."""
    taken: list[tuple[Word, Word]] = []
    for one in list(ones):
        for size in (2, 3):
            runs = [others[at : at + size] for at in range(len(others) - size + 1)]
            match = next((run for run in runs if _spells(one.text, [word.text for word in run])), None)
            if match is not None:
                taken.append((one, match[0]))
                ones.remove(one)
                for word in match:
                    others.remove(word)
                break
    return taken


def _spells(word: str, parts: list[str]) -> bool:
    initials = "".join(part[0] for part in parts)
    return word == "".join(parts) or word.removesuffix("s") == initials


def _negates(one: Word, other: Word) -> bool:
    shorter, longer = sorted((stem(one.text), stem(other.text)), key=len)
    return len(shorter) >= _SHORTEST_COMPARED and longer in {
        prefix + shorter for prefix in _NEGATING_PREFIXES
    }


def _same_spelling(one: Word, other: Word) -> bool:
    short, long = sorted((one.text, other.text), key=len)
    known = one.concept.isupper() and other.concept.isupper()
    lengths = _SHORTEST_COMPARED <= len(short) <= _LONGEST_COMPARED
    if known or not lengths or any(char.isdigit() for char in short + long):
        return False
    typo = short[0] == long[0] and len(long) - len(short) <= 1
    swapped = len(short) == len(long) and sorted(short) == sorted(long)
    return (
        swapped
        or long.startswith(short)
        or (typo and SequenceMatcher(None, short, long).ratio() >= LEAST_SPELLED)
    )


def _pair_names(ones: list[Name], others: list[Name]) -> tuple[_Names, _Names]:
    """Remove equal names from both lists, then names with the same label and different marks."""

    def same(one: Name, other: Name) -> bool:
        return one.mark == other.mark and (one.label == other.label or not one.label or not other.label)

    return _take(ones, others, same), _take(ones, others, lambda one, other: one.label == other.label)


def _pair_amounts(ones: list[Amount], others: list[Amount]) -> tuple[_Amounts, _Amounts]:
    """Remove agreeing amounts from both lists, then differing ones."""

    def agrees(one: Amount, other: Amount) -> bool:
        return compare(one.quantity, other.quantity) is Agreement.AGREE

    def differs(one: Amount, other: Amount) -> bool:
        affirmed = not (one.quantity.denied or other.quantity.denied)
        return affirmed and compare(one.quantity, other.quantity) is Agreement.DIFFER

    def same(one: Amount, other: Amount) -> bool:
        return one.quantity.denied == other.quantity.denied and agrees(one, other)

    return _take(ones, others, same), _take(ones, others, agrees) + _take(ones, others, differs)


def _take(
    ones: list[_PartT], others: list[_PartT], fits: Callable[[_PartT, _PartT], bool]
) -> tuple[tuple[_PartT, _PartT], ...]:
    """Remove matching pairs from both lists, in order."""
    taken: list[tuple[_PartT, _PartT]] = []
    for one in list(ones):
        match = next((other for other in others if fits(one, other)), None)
        if match is not None:
            taken.append((one, match))
            ones.remove(one)
            others.remove(match)
    return tuple(taken)
