"""Spelling of queries: a word that no memory holds is read as a word of the tenant that differs by one slip.

A slip is a letter too many, a letter too few or two letters in the wrong order, and neither the first nor the last
letter: other changes lead to other words ("mango" and "Mongo", "plan" and "plant"). Common English words are spelt as
they are meant.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Final

import numpy as np

from commonplace.knowledge.model.candidates import Candidates
from commonplace.knowledge.rules.relevance import is_common
from commonplace.knowledge.search.candidates import find_candidates
from commonplace.knowledge.search.request import SearchRequest
from commonplace.knowledge.store.search_statements import SearchTable, spelling_queries
from commonplace.knowledge.store.statements import KnowledgeStatements

SHORTEST: Final = 4
"""A shorter word has too many neighbours, as has a reading with this length."""

MOST_WORDS: Final = 3
"""Words of a query that are looked up; a word has about 30 readings a letter."""


async def find_meant(
    sql: KnowledgeStatements, tables: Sequence[SearchTable], request: SearchRequest, *, seeds: int
) -> Candidates | None:
    """Return the candidates for the words that a request means; see :func:`~.candidates.find_candidates`.

    One round trip, two if the memories lack a word of the request, and three if the word was a slip.
    """
    candidates = await find_candidates(sql, tables, request, seeds=seeds)
    # The words that are kept are those of all memories of the present.
    is_exact = request.narrowing.is_past or request.narrowing.has_filters
    unknown = [] if candidates is None or is_exact else _unknown(candidates)
    if not unknown:
        return candidates
    readings = {word: list(readings_of(word)) for word in unknown}
    queries = spelling_queries(tuple(tables), request.form)
    wanted = [reading for each in readings.values() for reading in each]
    rows = await queries.on(sql.connection).known_words(**request.parameters, wanted=wanted)
    known = {row["word"] for row in rows}
    meant = [word for each in readings.values() if (word := _first(each, known)) is not None]
    if not meant:
        return candidates
    return await find_candidates(
        sql, tables, replace(request, text=" ".join([request.text, *meant])), seeds=seeds
    )


def readings_of(word: str) -> Iterator[str]:
    """Yield the words that differ by one slip: swapped letters first, then a missing one, then one too many."""
    for at in range(1, len(word) - 2):
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    for at in range(1, len(word)):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at:]
    if len(word) > SHORTEST + 1:
        for at in range(1, len(word) - 1):
            yield word[:at] + word[at + 1 :]


def _unknown(candidates: Candidates) -> list[str]:
    missing = np.flatnonzero(candidates.frequencies == 0)
    words = (candidates.words[at] for at in missing)
    plain = [
        word
        for word in words
        if len(word) >= SHORTEST and word.isascii() and word.isalpha() and not is_common(word)
    ]
    return plain[:MOST_WORDS]


def _first(readings: Iterable[str], known: set[str]) -> str | None:
    return next((reading for reading in readings if reading in known), None)
