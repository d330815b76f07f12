"""Notes of a conversation: picked clauses in the words of the speakers.

Statements of users come first. Statements of assistants count if they report an action or repeat the user. A corrected
value replaces the earlier one. Questions, courtesies and general knowledge are left out.

The worth of a clause is the sum of its signals. Clauses are picked by worth, by new information, and by length.
Source: measured on conversations in seven languages, see ADR 0009.
"""

# ruff: noqa: RUF001 - punctuation of many scripts

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from commonplace.language.scripts import HAN, HIRAGANA, KATAKANA
from commonplace.language.sentences import split_clauses, split_sentences
from commonplace.language.signals import NOISE, VITAL, language_of, signals_of
from commonplace.language.speech import (
    acknowledges,
    advises,
    changes,
    is_question,
    points,
    rejected,
    reports,
    speaks_of_self,
    thanks_for_telling,
    tidy,
)
from commonplace.language.values import concepts, kind_of, places_of_values, share, units, values
from commonplace.llm.retractions import exchanged, settled, takes_back

LEAST_WORTH: Final = 2.0
"""The minimum worth of a kept clause; a lower worth means small talk, or a matter of the moment."""

LEAST_FILL: Final = 1.0
"""The minimum worth of a user's clause that fills the remaining room."""

LEAST_NEWS: Final = {"": 0.33, "user": 0.33, "assistant": 0.5}
"""The share of a clause's words that must be new compared with the picked clauses."""

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

MOST_CANDIDATES: Final = 200
"""The number of clauses, by worth, from which the notes are picked."""

LONG_SENTENCE: Final = 110
"""The length in characters up to which an assistant's sentence stays whole."""

REPEATED: Final = 1.0
"""Extra worth that a user's clause needs if the answer repeats one of its words but does not note it."""

IGNORED: Final = 1.5
"""Extra worth that a user's clause needs if the answer repeats none of its words."""

DISCLOSED: Final = 2.0
"""The worth that a user's clause gains if the answer thanks for the information."""

SETTLED: Final = 3.0
"""The worth that an assistant's clause gains if it repeats a corrected value, or reports an action with a value."""

SPEAKER: Final = "The user: "

_TURN: Final = re.compile(r"^(user|assistant): ?", re.MULTILINE)
_WIDE: Final = re.compile(f"[{HIRAGANA}{KATAKANA}{HAN}]$")
_HIDDEN: Final = re.compile(r"\[hidden: [^\]]*\]")
_REJECTS: Final = re.compile(r"(?:and not|not|nicht|no|pas|et pas|y no)\b.*\d", re.IGNORECASE)
_LIST_MARK: Final = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_NAME: Final = re.compile(
    r"(?<=[\w,;:] )[A-ZÄÖÜÉÁÓÍÚÑ][\w'’-]+|\b[A-Z]{2,}\w*|\b(?=\w*\d)(?=\w*[A-Za-z])\w[\w-]+"
)
_STATED: Final = VITAL | {"solution", "commitment", "deadline", "decision"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation; ``role`` is empty if no speaker is named."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause of a turn, with its position and worth.

    Attributes:
        text: The clause without filler.
        role: The speaker.
        at: The numbers of the turn, of the sentence in the turn, and of the clause in the sentence.
        tags: Its signals.
        worth: Below 0 if the clause is outdated, or an earlier clause contains all of it.
        asks: Whether it is part of a question, or of an assistant's exclamation.
        words: Its concepts, see :func:`~commonplace.language.values.concepts`.
        values: Its dates, times and numbers.
        is_of_self: Whether users speak about themselves: "I", "my", "we".
    """

    text: str
    role: str
    at: tuple[int, int, int]
    tags: frozenset[str]
    worth: float
    asks: bool
    words: frozenset[str]
    values: frozenset[str]
    is_of_self: bool

    @property
    def turn(self) -> int:
        """The number of the turn."""
        return self.at[0]

    @property
    def is_users(self) -> bool:
        """Whether the speaker is not an assistant."""
        return self.role != "assistant"


class Correction(NamedTuple):
    """The turn that corrects a value, and the new value in its words; empty if the value is unclear."""

    turn: int
    new: str


def read_turns(text: str) -> list[Turn]:
    """Return the turns of a transcript: a line with ``user:`` or ``assistant:`` begins a turn."""
    starts = list(_TURN.finditer(text))
    ends = [match.start() for match in starts] + [len(text)]
    head = Turn(role="", text=text[: ends[0]])
    said = [Turn(role=one[1], text=text[one.end() : end]) for one, end in zip(starts, ends[1:], strict=True)]
    return [head, *said] if head.text.strip() else said


def take_notes(turns: Sequence[Turn], chars: int) -> str:
    """Return notes of a conversation in at most ``chars`` characters; an empty text if nothing is worth keeping."""
    users = [turn.text for turn in turns if turn.role != "assistant"]
    language = language_of(" ".join(users)) or language_of(" ".join(turn.text for turn in turns))
    clauses = [clause for place, turn in enumerate(turns) for clause in _clauses(turn, place, language)]
    stale = _outdated(clauses, turns, language)
    clauses = _without_repeats(_without_stale(clauses, stale), stale)
    clauses = _with_neighbours(_disclosed(_lasting(clauses), turns))
    if not any(_is_worth_notes(clause, turns) or _settles(clause, turns, language) for clause in clauses):
        return ""
    return _composed(_picked(_with_echoes(clauses, frozenset(one.turn for one in stale.values())), chars))


def _clauses(turn: Turn, place: int, language: str | None) -> Iterator[Clause]:
    is_users = turn.role != "assistant"
    lines = (_LIST_MARK.sub("", line.strip()) for line in turn.text.splitlines())
    sentences = [sentence for line in lines for sentence in split_sentences(line, language)]
    parts = [
        (number, index, part)
        for number, sentence in enumerate(sentences)
        for index, part in enumerate(
            [sentence] if not is_users and len(sentence) <= LONG_SENTENCE else split_clauses(sentence)
        )
    ]
    said = [part for *_, part in parts]
    for (number, index, _), part in zip(parts, settled(said) if is_users else said, strict=True):
        sentence = sentences[number]
        asks = is_question(sentence, marked=not is_users) or (not is_users and _exclaims(sentence))
        text = tidy(part, keeps_self=is_users)
        if not text or _says_nothing(text):
            continue
        found = signals_of(text, language)
        clause = Clause(
            text=text,
            role=turn.role,
            at=(place, number, index),
            tags=found.tags,
            worth=found.points,
            asks=asks,
            words=concepts(text),
            values=values(text),
            is_of_self=is_users and speaks_of_self(text, language),
        )
        own = _stated(clause, sentence) if is_users else _reported(clause)
        yield replace(clause, worth=0.0 if asks else own)


def _says_nothing(text: str) -> bool:
    """Return whether a clause is only the label of a secret ("My [hidden: PIN]") or a rejected value ("not at 9")."""
    rest, hidden = _HIDDEN.subn(" ", text)
    words = concepts(rest)
    is_label = bool(hidden) and len(words) < 2  # noqa: PLR2004 - one word says little
    return is_label or (bool(_REJECTS.match(text)) and all(word[0].isdigit() for word in words))


def _exclaims(sentence: str) -> bool:
    return sentence.endswith("!") and not reports(sentence) and not any(sign.isdigit() for sign in sentence)


def _stated(clause: Clause, sentence: str) -> float:
    """Return the worth of a user's clause: its signals, and a little for numbers, names and words."""
    named = bool(_NAME.search(clause.text))
    worth = (
        clause.worth + (0.5 if any(sign.isdigit() for sign in clause.text) else 0.0) + (0.5 if named else 0.0)
    )
    if clause.tags and clause.tags <= {"correction", *NOISE} and not clause.values and not named:
        return min(worth, 0.0)
    if sum(not word[0].isdigit() for word in clause.words) < 2:  # noqa: PLR2004 - one word says little
        return worth if clause.tags & VITAL or clause.values else min(worth, LEAST_FILL)
    if clause.tags & {"courtesy", "momentary"}:
        return worth
    written = sentence[0].isupper() and sentence.endswith((".", "。")) and not clause.tags & NOISE
    return worth + (2.0 if written else 1.0)


def _reported(clause: Clause) -> float:
    """Return the worth of an assistant's clause on its own: only reports of actions count."""
    if not _may_tell(clause) or not reports(clause.text):
        return 0.0
    return 1.0 + (1.0 if clause.values else 0.0) + (0.5 if _NAME.search(clause.text) else 0.0)


def _may_tell(clause: Clause) -> bool:
    return not clause.asks and "courtesy" not in clause.tags and not advises(clause.text)


def _outdated(
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


def _without_stale(clauses: Sequence[Clause], stale: Mapping[str, Correction]) -> list[Clause]:
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


def _without_repeats(clauses: Sequence[Clause], stale: Mapping[str, Correction]) -> list[Clause]:
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
            words = frozenset[str]().union(*(one.words for one in held))
            last = turn + 1 if all(one.is_of_self for one in held) else turn
            repeated = [one for one in clauses if turn <= one.turn <= last and _is_told(one, words)]
            best = max((one.worth for one in repeated if one.is_users), default=0.0)
            worths |= {one.at: max(one.worth, best) for one in held}
            worths |= {one.at: -1.0 for one in repeated}
    return [replace(one, worth=worths.get(one.at, one.worth)) for one in clauses]


def _is_told(clause: Clause, words: frozenset[str]) -> bool:
    """Return whether a clause has, besides numbers, at most one word that is not among the given words."""
    return sum(not word[0].isdigit() for word in clause.words - words) < 2  # noqa: PLR2004 - one word says little


def _lasting(clauses: Sequence[Clause]) -> list[Clause]:
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
    own = frozenset[str]().union(*(one.words for one in clauses if one.turn == turn))
    told = frozenset[str]().union(*(one.words for one in clauses if one.turn == turn + 1))
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


def _disclosed(clauses: Sequence[Clause], turns: Sequence[Turn]) -> list[Clause]:
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


def _with_neighbours(clauses: Sequence[Clause]) -> list[Clause]:
    """Add to users' clauses a share of the worth of neighbouring clauses in the same sentence."""
    found: list[Clause] = []
    for place, clause in enumerate(clauses):
        near = [one.worth for one in clauses[max(0, place - 1) : place + 2] if one.at[:2] == clause.at[:2]]
        share_ = 0.2 * max(near) if clause.is_users and clause.worth > 0 and len(near) > 1 else 0.0
        found.append(replace(clause, worth=clause.worth + share_))
    return found


def _is_worth_notes(clause: Clause, turns: Sequence[Turn]) -> bool:
    """Return whether a user's clause on its own is worth a note.

    The clause needs more worth if the answer does not note it, unless it is vital or asks to be remembered.
    """
    answer = turns[clause.turn + 1].text if clause.turn + 1 < len(turns) else ""
    least = LEAST_WORTH
    if answer and not acknowledges(answer) and not clause.tags & {"health", "safety", "lesson"}:
        least += REPEATED if clause.words & concepts(answer) else IGNORED
    return clause.is_users and clause.worth >= least


def _settles(clause: Clause, turns: Sequence[Turn], language: str | None) -> bool:
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


def _with_echoes(clauses: Sequence[Clause], corrections: frozenset[int]) -> list[Clause]:
    """Raise the worth of assistants' clauses that repeat users, and halve that of replaced users' clauses."""
    own = [clause for clause in clauses if clause.is_users and clause.words]
    topics = frozenset[str]().union(*(clause.words for clause in own))
    echoed = [_echo(clause, own, topics, corrections) for clause in clauses]
    said = [clause for clause in echoed if not clause.is_users and clause.worth > 0]
    replaced = {one.at for one in own if any(_replaces(clause, one) for clause in said)}
    return [replace(one, worth=one.worth / 2) if one.at in replaced else one for one in echoed]


def _echo(
    clause: Clause, own: Sequence[Clause], topics: frozenset[str], corrections: frozenset[int]
) -> Clause:
    """Return an assistant's clause with the worth of the clauses that it repeats; do not change a user's clause."""
    if clause.is_users or clause.worth < 0 or not _may_tell(clause):
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
    """Return whether a clause is too brief to be understood alone."""
    return sum(not word[0].isdigit() for word in clause.words) <= MOST_ELLIPTIC or points(clause.text)


def _picked(clauses: Sequence[Clause], chars: int) -> list[Clause]:
    """Pick the clauses with the greatest worth for their length, then fill the remaining room."""
    by_worth = sorted(clauses, key=lambda clause: -clause.worth)[:MOST_CANDIDATES]
    picked = _filled([clause for clause in by_worth if clause.worth >= LEAST_WORTH], [], chars)
    rest = [one for one in by_worth if one.worth >= LEAST_FILL and one.is_users and one not in picked]
    return _filled(rest, picked, chars)


def _filled(left: list[Clause], picked: list[Clause], chars: int) -> list[Clause]:
    while left:
        known = frozenset[str]().union(*(clause.words for clause in picked))
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
