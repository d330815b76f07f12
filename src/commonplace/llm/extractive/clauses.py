"""Clauses of a conversation: the turns cut into clauses, each with what it says and what it is worth."""

# ruff: noqa: RUF001 - punctuation of many scripts

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from commonplace.language.importance_cues import NOISE, VITAL, signals_of
from commonplace.language.questions import is_question, told_and_asked
from commonplace.language.sentences import split_clauses, split_sentences
from commonplace.language.speech import advises, reports, speaks_of_self, tidy
from commonplace.language.values import concepts, values
from commonplace.llm.extractive.retractions import settled

LEAST_WORTH: Final = 2.0
"""The minimum worth of a kept clause; a lower worth means small talk, or a matter of the moment."""

LEAST_FILL: Final = 1.0
"""The minimum worth of a user's clause that fills the remaining room."""

LONG_SENTENCE: Final = 110
"""The length in characters up to which an assistant's sentence stays whole."""

_TURN: Final = re.compile(r"^(user|assistant): ?", re.MULTILINE)
_HIDDEN: Final = re.compile(r"\[hidden: [^\]]*\]")
_REJECTS: Final = re.compile(r"(?:and not|not|nicht|no|pas|et pas|y no)\b.*\d", re.IGNORECASE)
_LIST_MARK: Final = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_NAME: Final = re.compile(
    r"(?<=[\w,;:] )[A-ZÄÖÜÉÁÓÍÚÑ][\w'’-]+|\b[A-Z]{2,}\w*|\b(?=\w*\d)(?=\w*[A-Za-z])\w[\w-]+"
)


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


def read_turns(text: str) -> list[Turn]:
    """Return the turns of a transcript: a line with ``user:`` or ``assistant:`` begins a turn."""
    starts = list(_TURN.finditer(text))
    ends = [match.start() for match in starts] + [len(text)]
    head = Turn(role="", text=text[: ends[0]])
    said = [Turn(role=one[1], text=text[one.end() : end]) for one, end in zip(starts, ends[1:], strict=True)]
    return [head, *said] if head.text.strip() else said


def read_clauses(turn: Turn, place: int, language: str | None) -> Iterator[Clause]:
    """Return the clauses of the turn with this number, in order, each with its worth by itself."""
    is_users = turn.role != "assistant"
    lines = (_LIST_MARK.sub("", line.strip()) for line in turn.text.splitlines())
    sentences = [
        part
        for line in lines
        for sentence in split_sentences(line, language)
        for part in (told_and_asked(sentence) if is_users else [sentence])
    ]
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
    if not may_tell(clause) or not reports(clause.text):
        return 0.0
    return 1.0 + (1.0 if clause.values else 0.0) + (0.5 if _NAME.search(clause.text) else 0.0)


def words_of(clauses: Iterable[Clause]) -> frozenset[str]:
    """Return the words of all these clauses."""
    return frozenset[str]().union(*(one.words for one in clauses))


def may_tell(clause: Clause) -> bool:
    """Return whether an assistant's clause can hold a statement: it is no question, courtesy or advice."""
    return not clause.asks and "courtesy" not in clause.tags and not advises(clause.text)


def with_neighbours(clauses: Sequence[Clause]) -> list[Clause]:
    """Add to users' clauses a share of the worth of neighbouring clauses in the same sentence."""
    found: list[Clause] = []
    for place, clause in enumerate(clauses):
        near = [one.worth for one in clauses[max(0, place - 1) : place + 2] if one.at[:2] == clause.at[:2]]
        share_ = 0.2 * max(near) if clause.is_users and clause.worth > 0 and len(near) > 1 else 0.0
        found.append(replace(clause, worth=clause.worth + share_))
    return found
