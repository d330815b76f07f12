"""Ranks episodes by their words, their meaning, and both of what was said around them. Pure.

A turn of a conversation is often found by its neighbours: the question names what the answer leaves out. So a word
counts in part where a turn up to two places away holds it, a vector counts alone and together with those around it,
and a date's words count as if they stood in the text.

Source: the constants were chosen on conversations and confirmed on others (ADR 0010). They say: a neighbour is worth
0.4 of the turn itself; a word's second occurrence adds less than its first; cosine and words weigh about alike; and
of two equal turns the longer one, or the one that does not ask, is the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

NEIGHBOUR_WEIGHT: Final = 0.4
WINDOW: Final = 2
"""Turns on either side that count as around."""

SATURATION: Final = 0.9
COSINE_WEIGHT: Final = 0.6
CONTEXT_WEIGHT: Final = 0.6
LENGTH_WEIGHT: Final = 0.1
QUESTION_PENALTY: Final = 0.05
MONTH_STEMS: Final = (
    *("januari", "februari", "march", "april", "may", "june"),
    *("juli", "august", "septemb", "octob", "novemb", "decemb"),
)
"""The months as PostgreSQL's English configuration writes them."""

_SMALLEST_NORM: Final = 1e-9
_QUESTION_MARKS: Final = ("?", "\N{FULLWIDTH QUESTION MARK}", "\N{ARABIC QUESTION MARK}")

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """A word of the query as the database writes it, and how rare it is: 0.0 is in every episode, 1.0 in none."""

    word: str
    rarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An episode of the pool.

    Attributes:
        id: Its id.
        next_id: The episode after it in its session, or ``None``.
        created_at: When it happened (aware).
        content: Its text.
        distinct_words: How many different words it has.
        present: Bit ``n`` is set where it holds the ``n``-th word of the query.
        vector: Its embedding, of length 1.
    """

    id: UUID
    next_id: UUID | None
    created_at: datetime
    content: str
    distinct_words: int
    present: int
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualScore:
    """A turn's score and its parts, weighted: they sum to it.

    ``matched`` are the words of the query that the turn holds, ``nearby`` those only around it or in its date.
    """

    turn: Turn
    score: float
    words: float
    meaning: float
    context: float
    form: float
    matched: tuple[str, ...]
    nearby: tuple[str, ...]


def rank_by_context(
    turns: Sequence[Turn], words: Sequence[QueryWord], question: NDArray[np.float32], *, limit: int
) -> list[ContextualScore]:
    """Rank episodes of several sessions for a query.

    Args:
        turns: In the order of their sessions; a turn whose ``next_id`` is not the next of the list ends a run.
        words: Of the query, in the order of the bits of ``present``.
        question: The query's vector, of length 1.
        limit: How many to return at most.

    Returns:
        The scores of the best, the best first; of equal ones the later turn first, then the lower id.
    """
    if not turns:
        return []
    linked = np.array([turn.next_id == after.id for turn, after in pairwise(turns)], bool)
    present = _present(turns, len(words))
    around = present + NEIGHBOUR_WEIGHT * _sum_of_neighbours(present, linked) + _dated(turns, words)
    by_words = (around / (around + SATURATION)) @ np.array([word.rarity for word in words], np.float64)
    vectors = np.stack([turn.vector for turn in turns]).astype(np.float64)
    by_meaning = COSINE_WEIGHT * (vectors @ question)
    by_context = CONTEXT_WEIGHT * (_with_context(vectors, linked) @ question)
    by_form = np.array([_form(turn) for turn in turns])
    # A product of matrices differs in its last digits from row to row, and equal turns must stay equal.
    total = np.round(by_words + by_meaning + by_context + by_form, 9)
    best = sorted(
        range(len(turns)), key=lambda at: (-total[at], -turns[at].created_at.timestamp(), turns[at].id)
    )
    return [
        ContextualScore(
            turn=turns[at],
            score=float(total[at]),
            words=float(by_words[at]),
            meaning=float(by_meaning[at]),
            context=float(by_context[at]),
            form=float(by_form[at]),
            matched=tuple(word.word for column, word in enumerate(words) if present[at, column]),
            nearby=tuple(
                word.word
                for column, word in enumerate(words)
                if around[at, column] > present[at, column] == 0
            ),
        )
        for at in best[:limit]
    ]


def _present(turns: Sequence[Turn], words: int) -> Array:
    bits = np.array([turn.present for turn in turns], np.int64)
    return ((bits[:, None] >> np.arange(words)) & 1).astype(np.float64)


def _dated(turns: Sequence[Turn], words: Sequence[QueryWord]) -> Array:
    """Return 1.0 where a word of the query is the day, month or year of a turn."""
    column = {word.word: place for place, word in enumerate(words)}
    dated = np.zeros((len(turns), len(words)))
    for row, turn in enumerate(turns):
        day = turn.created_at.astimezone(UTC)
        for word in (str(day.day), MONTH_STEMS[day.month - 1], str(day.year)):
            if word in column:
                dated[row, column[word]] = 1.0
    return dated


def _with_context(vectors: Array, linked: NDArray[np.bool_]) -> Array:
    """Return each vector together with those around it, of length 1 again."""
    context = vectors + NEIGHBOUR_WEIGHT * _sum_of_neighbours(vectors, linked)
    return context / np.maximum(np.linalg.norm(context, axis=1, keepdims=True), _SMALLEST_NORM)


def _sum_of_neighbours(values: Array, linked: NDArray[np.bool_]) -> Array:
    """Sum over the rows up to two links away on either side; no sum reaches over a gap between sessions."""
    total = np.zeros_like(values)
    reachable = linked
    for distance in range(1, min(WINDOW, len(linked)) + 1):
        if distance > 1:
            reachable = reachable[:-1] & linked[distance - 1 :]
        (rows,) = np.nonzero(reachable)
        total[rows] += values[rows + distance]
        total[rows + distance] += values[rows]
    return total


def _form(turn: Turn) -> float:
    asks = turn.content.rstrip().endswith(_QUESTION_MARKS)
    return LENGTH_WEIGHT * float(np.log1p(turn.distinct_words)) - QUESTION_PENALTY * asks
