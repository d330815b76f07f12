"""Differences: parts in which two observations of one subject contradict each other.

Source: OPS-10.1, R-OPS-5.
"""

from typing import Final

from commonplace.judge.comparison import ComparedText, Comparison
from commonplace.judge.lexicon import BREAKS
from commonplace.judge.observation import Reading
from commonplace.judge.words import spelled

_HALVES: Final = frozenset({"LENGTH", "LEVEL", "LOCAL", "PUBLIC", "SIZE", "STATIC"})
"""Concepts whose poles divide a kind of thing in two."""


def denial(comparison: Comparison) -> str:
    """Return how one text denies the other, or an empty string.

    Each negator and each negative word inverts its clause, so that "is not writable" and "is read-only" agree, and so
    do "cannot start without it" and "starts with it": only an odd number of inversions in the clauses that both texts
    share is a denial.
    """
    old, new = _turns(comparison.old), _turns(comparison.new)
    left = {word.text for word in (*comparison.old.words, *comparison.new.words) if word.is_heavy}
    is_detail = len(old) + len(new) == 1 and not left.isdisjoint((*old, *new))
    if is_detail or (len(old) + len(new) + comparison.turned) % 2 == 0:
        return ""
    said = [", ".join(map(spelled, turns)) for turns in (old, new)]
    if all(said):
        return f'"{said[0]}" against "{said[1]}"'
    if not any(said):
        return "a word of one text has a negating prefix in the other"
    return f'only the {"old" if old else "new"} text says "{said[0] or said[1]}"'


def _turns(side: ComparedText) -> list[str]:
    """Return the negators and negative words in the clauses of which the other text has a part, or another amount."""
    reading = side.reading
    left = {*side.words, *side.names, *side.amounts}
    parts = (*reading.words, *reading.names, *reading.amounts)
    clauses = {part.clause for part in parts if part not in left}
    negative = (*reading.negators, *(word for word in reading.words if word.pole < 0))
    return [part.text for part in negative if part.clause in clauses]


def other_subject(comparison: Comparison) -> bool:
    """Return whether the subjects are two of a kind: "pool app" and "pool db", "small files" and "large files"."""
    old, new = comparison.old.reading.subject, comparison.new.reading.subject
    halves = (
        pair for pair in comparison.words if pair[0].pole != pair[1].pole and pair[0].concept in _HALVES
    )
    if any(one.place in old and other.place in new for one, other in (*comparison.other_names, *halves)):
        return True
    return not _behind(comparison.old).isdisjoint(_behind(comparison.new))


def _behind(side: ComparedText) -> set[str]:
    """Return the words right before those parts of the subject that the other text lacks."""
    words = {word.place: word.text for word in side.reading.words}
    parts = [part for part in side.parts if part.place in side.reading.subject]
    return {words.get(part.place - 1, part.opener) for part in parts} - {"", *BREAKS}


def exchanged_ends(comparison: Comparison) -> str:
    """Return the words at the ends of "from … to" that the two texts exchange."""
    moved = {(one.role, other.role): one.text for one, other in comparison.words if one.role != other.role}
    for one, other in (("from", "to"), ("from", ""), ("to", "")):
        if {(one, other), (other, one)} <= moved.keys():
            return f"{moved[one, other]}, {moved[other, one]}"
    return ""


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
