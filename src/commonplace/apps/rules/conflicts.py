"""Digests that contradict each other, by the judge of all memories. Source: APP-16.8, DIG-03, JDG-06.

A digest makes several statements, and a newer digest may outdate one of them, so statements are compared one by one.
A statement that opposes several others is one of a series ("finished week 3", "finished week 4") and outdates none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace import judge
from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.memories import Digest
from commonplace.core.quoting import quoted
from commonplace.language.importance_cues import DATE, TIME, plain
from commonplace.language.sentences import split_sentences
from commonplace.language.values import concepts, kind_of, values
from commonplace.llm.extractive import SPEAKER

MOST_READ_CHARS: Final = 6_000
"""Characters that are compared, the newest digests first. It takes a fifth of a second of processor time."""

MOST_READ_OF_NEW_CHARS: Final = 800
"""The same for a new digest, whose receipt waits for them, 20 ms. With 600, `benchmarks/conflicts.py` finds no less."""

_STATES: Final = re.compile(r"\b(?:is|are|was|ist|sind|es|esta|est|sera)\b")
_SEMICOLON: Final = re.compile(";\\s+|\uff1b")
_BETWEEN: Final = " ;\uff1b"
_STOPS: Final = (".", "!", "\u3002")


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementPair:
    """A statement of an older memory, and one of a newer memory."""

    older: Digest
    newer: Digest
    statement: str
    correction: str

    @property
    def sides(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """The two statements, each with the id of its memory."""
        return (self.older.id, self.statement), (self.newer.id, self.correction)


def find_conflicts(memories: Sequence[Digest], new: Digest | None = None) -> list[Contradiction]:
    """Return the pairs that contradict each other, the most certain first; ties: those with the newest memories.

    Args:
        memories: The memories of a space.
        new: One of them, if only pairs with it are compared.
    """
    pairs = [
        _StatementPair(older=older, newer=newer, statement=statement, correction=correction)
        for older, newer in newest_first(memories)
        if new is None or new in (older, newer)
        for statement in statements(older.content)
        for correction in statements(newer.content)
    ]
    most_chars = MOST_READ_CHARS if new is None else MOST_READ_OF_NEW_CHARS
    judged = judge.stances_of([(pair.statement, pair.correction) for pair in pairs], most_chars=most_chars)
    opposed = [
        (pair, grounds)
        for pair, (_, grounds) in zip(pairs, judged, strict=True)
        if grounds and _is_certain(grounds) and not _is_another_event(pair.statement, pair.correction)
    ]
    others = Counter(side for pair, _ in opposed for side in pair.sides)
    conflicts: dict[tuple[int, int], Contradiction] = {}
    for pair, grounds in sorted(opposed, key=lambda each: -each[1].probability):
        if all(others[side] <= judge.MOST_OPPOSED for side in pair.sides):
            conflicts.setdefault((pair.older.id, pair.newer.id), _contradiction(pair, grounds))
    return list(conflicts.values())


def newest_first(memories: Sequence[Digest]) -> Iterator[tuple[Digest, Digest]]:
    """Yield the pairs of an older and a newer memory, those with the newest memories first."""
    ordered = sorted(memories, key=lambda memory: (memory.updated_at, memory.id), reverse=True)
    for place, newer in enumerate(ordered):
        for older in ordered[place + 1 :]:
            yield older, newer


def statements(text: str) -> list[str]:
    """Return the statements of a memory: its sentences, and their parts between semicolons, as digests join them."""
    told = text.removeprefix(SPEAKER)
    parts = [part.strip() for one in split_sentences(told) for part in _SEMICOLON.split(one)]
    return [part for part in parts if part]


def without(text: str, statement: str) -> str:
    """Return a memory without one of its :func:`statements`; empty if it has no other."""
    speaker = SPEAKER if text.startswith(SPEAKER) else ""
    before, _, after = text.removeprefix(SPEAKER).partition(statement)
    before, after = before.rstrip(_BETWEEN), after.lstrip(_BETWEEN)
    is_whole = before.endswith(_STOPS)
    if after in {"", *_STOPS}:
        rest = before if is_whole or not before else f"{before}{after or '.'}"
    else:
        rest = f"{before}{' ' if is_whole else '; '}{after}" if before else after
    return f"{speaker}{rest}" if rest else ""


def _contradiction(pair: _StatementPair, grounds: "judge.Judgement") -> Contradiction:
    return Contradiction(
        older=pair.older,
        newer=pair.newer,
        sentence=pair.statement,
        probability=grounds.probability,
        reason=f"{quoted(pair.statement)}, {quoted(pair.correction)}: {grounds.reason}",
    )


def _is_certain(grounds: "judge.Judgement") -> bool:
    """Return whether a statement corrects another one; its number may be the last word ("runs on port 9090")."""
    return grounds.verdict is judge.Verdict.CORRECT and grounds.probability >= judge.LEAST_OPPOSED


def _is_another_event(older: str, newer: str) -> bool:
    """Return whether two statements differ in dates and numbers alone, and do not say that something *is* on a date.

    Source: ADR 0009. The judge takes the second of two dentist appointments for a change of the first.
    """
    dates = [{value for value in values(text) if kind_of(value) == "date"} for text in (older, newer)]
    if not all(dates) or dates[0] & dates[1] or all(_STATES.search(plain(text)) for text in (older, newer)):
        return False
    return _matter(older) == _matter(newer)


def _matter(text: str) -> frozenset[str]:
    undated = TIME.sub(" ", DATE.sub(" ", plain(text)))
    return frozenset(word for word in concepts(undated) if not word[0].isdigit())
