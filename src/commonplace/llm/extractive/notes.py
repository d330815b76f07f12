"""Notes of a conversation: the clauses that are picked by worth, new information and length, composed to a text."""

# ruff: noqa: RUF001 - punctuation of many scripts

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from commonplace.language.importance_cues import language_of
from commonplace.language.scripts import HAN, HIRAGANA, KATAKANA
from commonplace.language.values import share
from commonplace.llm.extractive.clauses import (
    LEAST_FILL,
    LEAST_WORTH,
    Clause,
    Turn,
    read_clauses,
    with_neighbours,
    words_of,
)
from commonplace.llm.extractive.corrections import lasting, outdated_values, without_repeats, without_stale
from commonplace.llm.extractive.echoes import disclosed, is_worth_notes, settles_correction, with_echoes

LEAST_NEWS: Final = {"": 0.33, "user": 0.33, "assistant": 0.5}
"""The share of a clause's words that must be new compared with the picked clauses."""

MOST_CANDIDATES: Final = 200
"""The number of clauses, by worth, from which the notes are picked."""

SPEAKER: Final = "The user: "
_WIDE: Final = re.compile(f"[{HIRAGANA}{KATAKANA}{HAN}]$")


def take_notes(turns: Sequence[Turn], chars: int) -> str:
    """Return notes of a conversation in at most ``chars`` characters; an empty text if nothing is worth keeping."""
    users = [turn.text for turn in turns if turn.role != "assistant"]
    language = language_of(" ".join(users)) or language_of(" ".join(turn.text for turn in turns))
    clauses = [clause for place, turn in enumerate(turns) for clause in read_clauses(turn, place, language)]
    stale = outdated_values(clauses, turns, language)
    clauses = without_repeats(without_stale(clauses, stale), stale)
    clauses = with_neighbours(disclosed(lasting(clauses), turns))
    if not any(
        is_worth_notes(clause, turns) or settles_correction(clause, turns, language) for clause in clauses
    ):
        return ""
    return _composed(_picked(with_echoes(clauses, frozenset(one.turn for one in stale.values())), chars))


def _picked(clauses: Sequence[Clause], chars: int) -> list[Clause]:
    """Pick the clauses with the greatest worth for their length, then fill the remaining room."""
    by_worth = sorted(clauses, key=lambda clause: -clause.worth)[:MOST_CANDIDATES]
    picked = _filled([clause for clause in by_worth if clause.worth >= LEAST_WORTH], [], chars)
    rest = [one for one in by_worth if one.worth >= LEAST_FILL and one.is_users and one not in picked]
    return _filled(rest, picked, chars)


def _filled(left: list[Clause], picked: list[Clause], chars: int) -> list[Clause]:
    while left:
        known = words_of(picked)
        gains = {clause.at: _gain(clause, known) for clause in left}
        left = [one for one in left if gains[one.at] > 0 and len(_composed([*picked, one])) <= chars]
        if left:
            best = max(left, key=lambda one: gains[one.at])
            picked = [*picked, best]
            left.remove(best)
    return picked


def _gain(clause: Clause, known: frozenset[str]) -> float:
    news = 1 - share(clause.words, known)
    if not clause.words or news < LEAST_NEWS[clause.role]:
        return 0.0
    return clause.worth * news / (len(clause.text) + 20) ** 0.5


def _composed(clauses: Sequence[Clause]) -> str:
    """Return the clauses as a text: users' clauses first, each side in the order of the conversation."""
    parts: list[str] = []
    for role in LEAST_NEWS:
        side = sorted((clause for clause in clauses if clause.role == role), key=lambda clause: clause.at)
        if side:
            text = _joined(side)
            speaker = SPEAKER if role == "user" and any(one.is_of_self for one in side) else ""
            parts.append(f"{speaker}{text}" if speaker else text[0].upper() + text[1:])
    return " ".join(part if part.endswith((".", "!")) else f"{part}{_signs(part)[2]}" for part in parts)


def _joined(clauses: Sequence[Clause]) -> str:
    text = clauses[0].text
    for before, clause in pairwise(clauses):
        goes_on = (*before.at[:2], before.at[2] + 1) == clause.at
        text += f"{_signs(before.text)[0 if goes_on else 1]}{clause.text}"
    return text


def _signs(text: str) -> tuple[str, str, str]:
    """Return the punctuation between clauses, between sentences and at the end, in the script at the end of a text."""
    return ("、", "；", "。") if _WIDE.search(text) else (", ", "; ", ".")
