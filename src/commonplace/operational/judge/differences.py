"""Differences: parts in which two observations of one subject contradict each other.

Source: OPS-10.1, R-OPS-5.
"""

from bisect import bisect_left
from typing import Final

from commonplace.operational.judge.comparison import Comparison, Side
from commonplace.operational.judge.lexicon import OBLIGATION, PERMISSION
from commonplace.operational.judge.reading import Reading
from commonplace.operational.judge.words import spelled

_NOUN_NEGATORS: Final = frozenset({"without", "no", "unless", "lacking"})
"""Negators of the next noun; before a noun that the other text lacks, they begin a detail."""


def denial(comparison: Comparison) -> str:
    """Return how one text denies the other, or an empty string.

    Each negator and each negative word inverts its clause, so that "is not writable" and "is read-only" agree, and so
    do "cannot start without it" and "starts with it": only an odd number of inversions in the clauses that both texts
    share is a denial.
    """
    old, new = _turns(comparison.old), _turns(comparison.new)
    left = (*comparison.old.words, *comparison.new.words)
    if len(old) + len(new) == 1 and any(word.is_heavy and word.text in {*old, *new} for word in left):
        # A word such as "slow" that occurs in only one text is a detail.
        return ""
    if (len(old) + len(new) + comparison.turned) % 2 == 0:
        return "" if any(word.is_heavy for word in left) else _modal(comparison)
    said = [", ".join(map(spelled, turns)) for turns in (old, new)]
    if old and new:
        return f'"{said[0]}" against "{said[1]}"'
    if not old and not new:
        return "a word of one text has a negating prefix in the other"
    return f'only the {"old" if old else "new"} text says "{said[0] or said[1]}"'


def _modal(comparison: Comparison) -> str:
    """Return "must" against "can", if one text says the first word and the other text the second."""
    one, other = (set(side.reading.tokens) for side in (comparison.old, comparison.new))
    found = {(not words.isdisjoint(OBLIGATION), not words.isdisjoint(PERMISSION)) for words in (one, other)}
    return '"must" against "can"' if found == {(True, False), (False, True)} else ""


def _turns(side: Side) -> list[str]:
    """Return the negators and the negative words in the clauses of one text that the other text shares."""
    reading = side.reading
    clauses = _shared_clauses(side)
    negators = [
        negator.text
        for negator in reading.negators
        if negator.clause in clauses
        and not (negator.text in _NOUN_NEGATORS and _opens_detail(side, negator.place))
    ]
    return negators + [word.text for word in reading.words if word.clause in clauses and word.pole < 0]


def _opens_detail(side: Side, place: int) -> bool:
    """Return whether the word after a position occurs only in this text."""
    words = side.reading.words
    at = bisect_left(words, place, key=lambda word: word.place)
    return at < len(words) and words[at].place not in side.shared and words[at].weight >= 1


def _shared_clauses(side: Side) -> set[int]:
    """Return the clauses with a part that the other text shares or for which it has another amount."""
    reading = side.reading
    parts = (*reading.words, *reading.names, *reading.amounts)
    left = {*side.words, *side.names, *side.amounts}
    return {part.clause for part in parts if part not in left}


def exchanged_ends(comparison: Comparison) -> str:
    """Return the words at the ends of "from … to" that the two texts exchange."""
    moved = {
        (one.role, other.role): one.text
        for one, other in comparison.words
        if one.is_heavy and one.role != other.role
    }
    alone = not comparison.old.heavy and not comparison.new.heavy
    ends = (("from", "to"), ("from", ""), ("to", "")) if alone else (("from", "to"),)
    exchanged = next(
        ((one, other) for one, other in ends if {(one, other), (other, one)} <= moved.keys()), None
    )
    return f"{moved[exchanged]}, {moved[exchanged[1], exchanged[0]]}" if exchanged else ""


def order_is_turned(old: Reading, new: Reading) -> bool:
    """Return whether the order in the old text is the reverse of the order of the same things in the new text."""
    for one in old.orders:
        turned: list[bool] = []
        for other in new.orders:
            straight = min(len(one.left & other.left), len(one.right & other.right))
            crossed = min(len(one.left & other.right), len(one.right & other.left))
            if straight != crossed:
                turned.append((one.pole == other.pole) == (crossed > straight))
        if turned and all(turned):
            return True
    return False
