"""Corrections of values by later turns: "sorry, make that Tuesday"."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from commonplace.language.importance_cues import NOISE, VITAL, signals_of
from commonplace.language.speech import changes, rejected
from commonplace.language.values import concepts, kind_of, places_of_values, units, values
from commonplace.llm.extractive.clauses import Clause, Turn, words_of
from commonplace.llm.extractive.retractions import exchanged, takes_back


class Correction(NamedTuple):
    """The turn that corrects a value, and the new value in its words; empty if the value is unclear."""

    turn: int
    new: str


def outdated_values(
    clauses: Sequence[Clause], turns: Sequence[Turn], language: str | None
) -> dict[str, Correction]:
    """Return the corrected values with their corrections.

    A correction counts if the user's words announce it, or if the user or the answer mentions a change.
    """
    found: dict[str, Correction] = {}
    for place, turn in enumerate(turns):
        if turn.role == "assistant":
            continue
        known = {value for one in clauses if one.turn < place for value in one.values}
        says_so = "correction" in signals_of(turn.text, language).tags or bool(rejected(turn.text) & known)
        answer = turns[place + 1].text if place + 1 < len(turns) else ""
        back = takes_back(turn.text)
        if says_so or changes(answer) or changes(turn.text) or back:
            found |= _corrected(clauses, place, says_so=says_so, takes_back=back)
    return found


def _corrected(
    clauses: Sequence[Clause], turn: int, *, says_so: bool, takes_back: bool
) -> dict[str, Correction]:
    """Return the values that a correction replaces: the last earlier values of the same kinds, about the same matter.

    Of several values in a correction, the values that the answer repeats are valid, else the new values. The answer's
    words belong to the matter only if it repeats a value. For constraints, the texts must share a word or the turn must
    take something back.

    Args:
        clauses: All clauses.
        turn: The number of the correcting turn.
        says_so: Whether its words announce a correction; otherwise the user or the answer mentions a change.
        takes_back: Whether it begins with a word such as "no" or "correction".
    """
    before = [one for one in clauses if one.turn < turn]
    said = _values_of(clauses, turn)
    answer = _values_of(clauses, turn + 1).keys()
    known = {value for one in before for value in one.values}
    valid = answer if said.keys() & answer else (said.keys() - known) or said.keys()
    own = words_of(one for one in clauses if one.turn == turn)
    told = words_of(one for one in clauses if one.turn == turn + 1)
    matter = own | told if said.keys() & answer else own
    old: dict[str, Correction] = {}
    for kind in {kind_of(value) for value in said}:
        new = [text for value, text in said.items() if kind_of(value) == kind and value in valid]
        for clause in reversed(before):
            near = says_so and turn - clause.turn <= 2  # noqa: PLR2004 - the assistant's last turn and the user's turn before it
            near = near and (takes_back or not clause.tags & VITAL or bool(clause.words & own))
            gone = {value for value in clause.values if kind_of(value) == kind} - valid
            if not gone and kind == "number" and near:
                gone = {value for value in clause.values if kind_of(value) == "date"} - valid
            gone = _counted_alike(gone, clause.text, [one.text for one in clauses if one.turn == turn])
            if gone and (near or clause.words & matter):
                is_clear = len(gone) == len(new) == 1 and {kind_of(value) for value in gone} == {kind}
                old |= dict.fromkeys(gone, Correction(turn, new[0] if is_clear else ""))
                break
    return old


def _counted_alike(gone: set[str], text: str, said: Sequence[str]) -> set[str]:
    """Return the numbers of a text that count the same thing as a number in a correction, or all if none does."""
    counted = {unit for one in said for unit in units(one).values() if unit}
    alike = {value for value, unit in units(text).items() if unit in counted}
    return gone & alike or gone


def _values_of(clauses: Sequence[Clause], turn: int) -> dict[str, str]:
    """Return the values of a turn, each with its words."""
    return {
        value: one.text[start:end]
        for one in clauses
        if one.turn == turn
        for value, (start, end) in places_of_values(one.text).items()
    }


def without_stale(clauses: Sequence[Clause], stale: Mapping[str, Correction]) -> list[Clause]:
    """Return users' clauses with the new values, and others with a worth of -1 for outdated values.

    Later mentions of an outdated value lose half of their worth.
    """
    found: list[Clause] = []
    for clause in clauses:
        last = max((stale[value].turn for value in clause.values if value in stale), default=-1)
        gone = clause.turn < last or (clause.turn == last and clause.values <= stale.keys())
        renewed = _renewed(clause, stale) if gone and clause.is_users and clause.turn < last else None
        worth = -1.0 if gone else clause.worth / 2 if last >= 0 else clause.worth
        found.append(renewed or replace(clause, worth=worth))
    return found


def _renewed(clause: Clause, stale: Mapping[str, Correction]) -> Clause | None:
    """Return a clause with new values in place of the outdated ones; ``None`` if a new value is unknown."""
    text = clause.text
    for value in clause.values & stale.keys():
        place, new = places_of_values(text).get(value), stale[value].new
        if not place or not new:
            return None
        text = exchanged(text, place, new)
    return replace(clause, text=text, words=concepts(text), values=values(text))


def without_repeats(clauses: Sequence[Clause], stale: Mapping[str, Correction]) -> list[Clause]:
    """Return clauses with a worth of -1 for a correction if earlier statements, with the new values, hold all of it.

    The statements get the correction's worth. The answer to the correction also gets a worth of -1, unless the
    statements are requests, because then the answer reports their outcome.
    """
    worths: dict[tuple[int, int, int], float] = {}
    for turn in {one.turn for one in stale.values()}:
        news = {one.new for one in stale.values() if one.turn == turn}
        renewed = [
            [one for one in clauses if one.is_users and one.turn < turn and new and new in one.text]
            for new in news
        ]
        if all(renewed):
            held = [one for found in renewed for one in found]
            words = words_of(held)
            last = turn + 1 if all(one.is_of_self for one in held) else turn
            repeated = [one for one in clauses if turn <= one.turn <= last and _is_told(one, words)]
            best = max((one.worth for one in repeated if one.is_users), default=0.0)
            worths |= {one.at: max(one.worth, best) for one in held}
            worths |= {one.at: -1.0 for one in repeated}
    return [replace(one, worth=worths.get(one.at, one.worth)) for one in clauses]


def _is_told(clause: Clause, words: frozenset[str]) -> bool:
    """Return whether a clause has, besides numbers, at most one word that is not among the given words."""
    return sum(not word[0].isdigit() for word in clause.words - words) < 2  # noqa: PLR2004 - one word says little


def lasting(clauses: Sequence[Clause]) -> list[Clause]:
    """Return clauses without worth for a correction of a wish of the moment: "play jazz", "no, rather Coltrane"."""
    best: dict[int, float] = {}
    for one in clauses:
        best[one.turn] = max(one.worth, best.get(one.turn, 0.0))
    return [
        replace(one, worth=min(one.worth, 0.0))
        if one.is_users
        and "correction" in one.tags
        and one.tags <= {"correction", "preference", *NOISE}
        and not (one.values or one.is_of_self)
        and best.get(one.turn - 2) == 0.0
        else one
        for one in clauses
    ]
