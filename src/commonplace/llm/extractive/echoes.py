"""What an answer says about a statement: it repeats, acknowledges or settles the statement, or ignores it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from commonplace.language.importance_cues import VITAL, signals_of
from commonplace.language.speech import acknowledges, changes, points, reports, thanks_for_telling
from commonplace.language.values import concepts, kind_of, share
from commonplace.llm.extractive.clauses import LEAST_WORTH, Clause, Turn, may_tell, words_of

LEAST_ECHO: Final = 0.4
"""The share of a user's clause above which an assistant's clause counts as repeating it."""

FULL_ECHO: Final = 0.5
"""The share above which it replaces a user's clause that is too brief to be understood alone."""

WARNING: Final = 6.0
"""The worth of a health constraint that an assistant states about a topic of the user."""

MOST_ELLIPTIC: Final = 3
"""The maximum number of words, without numbers, of a clause that is too brief."""

REACH: Final = 12
"""The number of earlier turns that an assistant's statement can refer to."""

REPEATED: Final = 1.0
"""Extra worth that a user's clause needs if the answer repeats one of its words but does not note it."""

IGNORED: Final = 1.5
"""Extra worth that a user's clause needs if the answer repeats none of its words."""

DISCLOSED: Final = 2.0
"""The worth that a user's clause gains if the answer thanks for the information."""

SETTLED: Final = 3.0
"""The worth that an assistant's clause gains if it repeats a corrected value, or reports an action with a value."""

_STATED: Final = VITAL | {"solution", "commitment", "deadline", "decision"}


def disclosed(clauses: Sequence[Clause], turns: Sequence[Turn]) -> list[Clause]:
    """Raise the worth of users' clauses that the answer thanks for, because they say something about the user."""
    thanked = {place for place, turn in enumerate(turns) if place and thanks_for_telling(turn.text)}
    return [
        replace(one, worth=max(one.worth, 0.0) + DISCLOSED)
        if one.is_users
        and one.turn + 1 in thanked
        and len(one.words) > 1
        and not one.asks
        and one.worth != -1.0
        else one
        for one in clauses
    ]


def is_worth_notes(clause: Clause, turns: Sequence[Turn]) -> bool:
    """Return whether a user's clause on its own is worth a note.

    The clause needs more worth if the answer does not note it, unless it is vital or asks to be remembered.
    """
    answer = turns[clause.turn + 1].text if clause.turn + 1 < len(turns) else ""
    least = LEAST_WORTH
    if answer and not acknowledges(answer) and not clause.tags & {"health", "safety", "lesson"}:
        least += REPEATED if clause.words & concepts(answer) else IGNORED
    return clause.is_users and clause.worth >= least


def settles_correction(clause: Clause, turns: Sequence[Turn], language: str | None) -> bool:
    """Return whether an assistant's clause reports the result of a user's correction of a day or a date."""
    before = turns[clause.turn - 1] if clause.turn else None
    return (
        before is not None
        and not clause.is_users
        and before.role == "user"
        and changes(clause.text)
        and any(kind_of(value) in ("date", "day") for value in clause.values)
        and "correction" in signals_of(before.text, language).tags
    )


def with_echoes(clauses: Sequence[Clause], corrections: frozenset[int]) -> list[Clause]:
    """Raise the worth of assistants' clauses that repeat users, and halve that of replaced users' clauses."""
    own = [clause for clause in clauses if clause.is_users and clause.words]
    topics = words_of(own)
    echoed = [_echo(clause, own, topics, corrections) for clause in clauses]
    said = [clause for clause in echoed if not clause.is_users and clause.worth > 0]
    replaced = {one.at for one in own if any(_replaces(clause, one) for clause in said)}
    return [replace(one, worth=one.worth / 2) if one.at in replaced else one for one in echoed]


def _echo(
    clause: Clause, own: Sequence[Clause], topics: frozenset[str], corrections: frozenset[int]
) -> Clause:
    """Return an assistant's clause with the worth of the clauses that it repeats; do not change a user's clause."""
    if clause.is_users or clause.worth < 0 or not may_tell(clause):
        return clause
    heard = [one for one in own if clause.turn - REACH <= one.turn < clause.turn]
    best = max((_repeated(one, clause) for one in heard), default=0.0)
    worth = _answer_worth(clause, heard, topics)
    if not worth and not (best and clause.tags & _STATED):
        return clause
    fuller = 1.0 if worth and best and _is_on_topic(clause, topics) else 0.0
    settles = any(_says_back(one, clause) for one in own if one.turn in corrections) or (
        bool(clause.values) and _is_on_topic(clause, topics) and reports(clause.text)
    )
    settles = settles and "past" not in clause.tags
    return replace(clause, worth=worth + 0.7 * best + fuller + (SETTLED if settles else 0.0))


def _repeated(one: Clause, said: Clause) -> float:
    """Return the worth of a user's clause times the share that an assistant repeats."""
    part = share(one.words, said.words)
    return part * max(0.0, one.worth) if part >= LEAST_ECHO else 0.0


def _answer_worth(clause: Clause, heard: Sequence[Clause], topics: frozenset[str]) -> float:
    """Return the worth of an assistant's clause as an answer: a warning, a report, or a value said back."""
    if "health" in clause.tags and clause.tags & VITAL - {"health"} and clause.words & topics:
        return WARNING
    says_back = not clause.worth and any(_says_back(one, clause) for one in heard)
    if _is_on_topic(clause, topics) and (says_back or reports(clause.text)):
        return max(clause.worth, LEAST_WORTH)
    return clause.worth


def _says_back(one: Clause, answer: Clause) -> bool:
    """Return whether an answer repeats a value of a user's clause in the turn before it."""
    return one.turn == answer.turn - 1 and bool(one.values & answer.values)


def _is_on_topic(clause: Clause, topics: frozenset[str]) -> bool:
    return len(clause.words & topics) > 1


def _replaces(said: Clause, one: Clause) -> bool:
    """Return whether an assistant's clause repeats in full a brief clause of the user's turn before it."""
    return one.turn == said.turn - 1 and _is_elliptic(one) and share(one.words, said.words) >= FULL_ECHO


def _is_elliptic(clause: Clause) -> bool:
    """Return whether a clause is too brief to be understood alone. "I'm diabetic" is brief and complete."""
    is_complete = clause.is_of_self and bool(clause.tags & VITAL)
    is_brief = sum(not word[0].isdigit() for word in clause.words) <= MOST_ELLIPTIC
    return (is_brief and not is_complete) or points(clause.text)
