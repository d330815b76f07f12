"""Values that a speaker takes back in the same turn: "the budget is 120 euros. Oh no, 140 euros"."""
# ruff: noqa: RUF001 - dashes of conversations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from commonplace.language.importance_cues import plain, plain_in_place
from commonplace.language.values import concepts, kind_of, places_of_values

REACH: Final = 3
"""The number of clauses before a retraction that are searched for the retracted value."""

MOST_WORDS: Final = 3
"""The maximum number of words, without values, of a retraction whose marker also has other uses."""

_STRONG: Final = (
    r"(?:(?:oh|ah|ach|ay|uy|eh|nah|o) )?(?:no|nein|nee|non)(?: no| wait| sorry| nein| non)?|scratch that|make that"
    r"|correction|i mean|i meant|(?:ach )?quatsch|falsch|korrektur|ich mein(?:t)?e|mejor dicho|digo|corrijo"
    r"|me equivoque|quiero decir|je veux dire|je voulais dire|je me trompe"
)
_WEAK: Final = (
    r"actually|sorry|wait|hang on|hold on|oops|whoops|rather|moment|halt|entschuldigung|verzeihung|doch"
    r"|perdon|perdona|espera|en realidad|pardon|attends|attendez|oups|plutot|en fait|enfin"
)
_ENDS: Final = r"(?:\s*[,.!:;…–—-]+\s*|\s*$)"
_BEGINS: Final = re.compile(rf"^(?P<markers>(?:(?:{_STRONG}|{_WEAK}){_ENDS})+)")
_CLOSES: Final = re.compile(rf"(?:^|[\s,.!;…–—-])(?P<markers>(?:{_STRONG}|{_WEAK}){_ENDS})$")
_IS_STRONG: Final = re.compile(rf"\b(?:{_STRONG})\b")
_DAY_ALONE: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th|\.|er)?")
_HALF: Final = re.compile(r"\s?[ap]\.?m\b", re.IGNORECASE)
_DAY: Final = re.compile(r"\b\d{1,2}(?:st|nd|rd|th|er)?\b")


def settled(clauses: Sequence[str]) -> list[str]:
    """Return the clauses of a turn, in order, keeping only the last value that the speaker gives for a thing.

    The new value replaces the old one. A clause with no other content becomes empty. Clauses without a marker such as
    "oh no" or "sorry" do not change, and a marker at the end of a clause is removed.
    """
    found = list(clauses)
    announced = ""
    for at, clause in enumerate(clauses):
        folded = plain_in_place(clause)
        begins = _BEGINS.match(folded)
        marker = announced + (begins["markers"] if begins else "")
        closes = _CLOSES.search(folded)
        announced = closes["markers"] if closes else ""
        said = clause[begins.end() if begins else 0 :]
        if begins and not said:
            found[at], announced = "", marker
        elif marker and _replace(found, at, said, is_strong=bool(_IS_STRONG.search(marker))):
            found[at] = ""
        elif closes and not begins:
            found[at] = clause[: closes.start()]
    return found


def takes_back(text: str) -> bool:
    """Return whether a turn begins with a word such as "no" or "correction", before a comma or the like."""
    begins = _BEGINS.match(plain_in_place(text))
    return begins is not None and bool(_IS_STRONG.search(begins["markers"]))


def _replace(clauses: list[str], at: int, said: str, *, is_strong: bool) -> bool:
    """Replace an earlier value by that of a retraction; return whether the retraction has no other content."""
    new = places_of_values(said)
    words = _words(said)
    for before in range(at - 1, max(at - 1 - REACH, -1), -1):
        old = places_of_values(clauses[before])
        kinds = {kind_of(value) for value in old} & {kind_of(value) for value in new}
        same_thing = (
            words <= _words(clauses[before]) if kinds == {"number"} else is_strong or len(words) <= MOST_WORDS
        )
        if not kinds or not same_thing:
            continue
        replaced = [_renew(clauses, before, kind, said, new) for kind in sorted(kinds)]
        return any(replaced) and len(words) <= MOST_WORDS
    return False


def _renew(clauses: list[str], before: int, kind: str, said: str, new: Mapping[str, tuple[int, int]]) -> bool:
    """Exchange a value if each side has a value of one kind that the other lacks; return whether it was exchanged."""
    old = places_of_values(clauses[before])
    gone = [value for value in old if kind_of(value) == kind and value not in new]
    come = [value for value in new if kind_of(value) == kind and value not in old]
    if not len(gone) == len(come) == 1:
        return False
    clauses[before] = exchanged(clauses[before], old[gone[0]], said[slice(*new[come[0]])])
    return True


def _words(text: str) -> frozenset[str]:
    """Return the concepts of a text without its values."""
    places = places_of_values(text).values()
    return concepts(
        "".join(" " if any(a <= at < b for a, b in places) else sign for at, sign in enumerate(text))
    )


def exchanged(text: str, place: tuple[int, int], new: str) -> str:
    """Return a text with a value exchanged; a day alone keeps the month, and "9 a.m." replaces "2:30 p.m."."""
    old = text[slice(*place)]
    end = place[1]
    if _HALF.search(new) and (half := _HALF.match(text, end)):
        end = half.end()
    if _DAY_ALONE.fullmatch(plain(new)) and not _DAY_ALONE.fullmatch(plain(old)):
        new = _DAY.sub(new.rstrip("."), old, count=1)
    return f"{text[: place[0]]}{new}{text[end:]}"
