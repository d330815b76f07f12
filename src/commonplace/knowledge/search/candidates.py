"""Candidates of a ranking: memories of one or more tables as arrays, with what the ranking needs of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from commonplace.embedding.backend import EMBEDDING_DIMENSIONS
from commonplace.knowledge.kinds import Memory, MemoryType
from commonplace.knowledge.search.request import SearchRequest, select
from commonplace.knowledge.search.statements import TABLES, SearchTable
from commonplace.storage.database import Row, Statements

Array = NDArray[np.float64]

_VECTOR_OCTETS: Final = 4 + 4 * EMBEDDING_DIMENSIONS
"""What ``vector_send`` writes: two numbers of two bytes, then the floats, the highest byte first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Memories to rank; entry ``n`` of each sequence and array belongs to the ``n``-th memory.

    Attributes:
        words: The words of the query as the database writes them.
        frequencies: How many memories hold each word.
        total: How many memories there are, at most 5,000 of each table.
        next_ids: The episode that follows in the session.
        created_at: Aware.
        similarity: Cosine with the query; 0.0 without vectors.
        present: 1.0 if the memory holds the word; a row for each memory, a column for each word.
        octets: Length of the text in UTF-8.
        asks: 1.0 if the text ends with a question mark.
        own: 1.0 for facts and rules of a scope of their own, and for episodes.
        importance: 0.0 to 10.0.
        vectors: Embeddings of length 1; zeros for facts and rules, which have no neighbours.
    """

    words: tuple[str, ...]
    frequencies: Array
    total: int
    types: Sequence[MemoryType]
    ids: Sequence[UUID]
    next_ids: Sequence[UUID | None]
    created_at: Sequence[datetime]
    similarity: Array
    present: Array
    octets: Array
    distinct_words: Array
    asks: Array
    own: Array
    importance: Array
    vectors: NDArray[np.float32]


async def find_candidates(
    sql: Statements, tables: Sequence[SearchTable], request: SearchRequest, *, seeds: int
) -> Candidates | None:
    """Return the candidates for a request, ``None`` if there are none; one round trip for each table.

    Args:
        sql: A transaction that :func:`~.request.begin_search` has tuned.
        tables: The tables to search.
        request: The query.
        seeds: How many memories of a table are taken for their words, and how many for their meaning.
    """
    wider = replace(request, matches=seeds, neighbours=seeds)
    found = [
        _from_row(row, table.memory_type)
        for table in tables
        for row in await select(sql, "ranked_candidates", table, wider)
    ]
    return _joined(found) if found else None


async def read_candidates(
    sql: Statements, candidates: Candidates, places: Sequence[int], request: SearchRequest
) -> dict[int, Memory]:
    """Return the memories at some places of the candidates; one round trip for each table.

    A memory that another transaction has deleted meanwhile is left out.
    """
    memories: dict[int, Memory] = {}
    for table in TABLES.values():
        at = {
            candidates.ids[place]: place for place in places if candidates.types[place] is table.memory_type
        }
        if at:
            for row in await select(sql, "memories_by_id", table, request, ids=list(at)):
                memories[at[row["id"]]] = table.noun.from_row(row, now=request.now)
    return memories


def _from_row(row: Row, memory_type: MemoryType) -> Candidates:
    count = len(row["ids"])
    words = tuple(row["words"] or ())
    bits = np.array(row["present"], np.int64)
    return Candidates(
        words=words,
        frequencies=_floats(row["frequencies"] or ()),
        total=row["total"],
        types=[memory_type] * count,
        ids=row["ids"],
        next_ids=row["next_ids"],
        created_at=row["created_at"],
        similarity=_floats(row["similarity"]),
        present=((bits[:, None] >> np.arange(len(words))) & 1).astype(np.float64),
        octets=_floats(row["octets"]),
        distinct_words=_floats(row["distinct_words"]),
        asks=_floats(row["asks"]),
        own=_floats(row["own"]),
        importance=_floats(row["importance"]),
        vectors=_vectors(row["vectors"], count),
    )


def _joined(parts: Sequence[Candidates]) -> Candidates:
    if len(parts) == 1:
        return parts[0]
    arrays = ("similarity", "present", "octets", "distinct_words", "asks", "own", "importance", "vectors")
    lists = ("types", "ids", "next_ids", "created_at")
    joined: dict[str, Any] = {
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays},
        **{name: [each for part in parts for each in getattr(part, name)] for name in lists},
    }
    return Candidates(
        words=parts[0].words,
        frequencies=np.sum([part.frequencies for part in parts], axis=0),
        total=sum(part.total for part in parts),
        **joined,
    )


def _floats(values: Sequence[float | None]) -> Array:
    return np.array(values, np.float64)


def _vectors(sent: bytes | None, count: int) -> NDArray[np.float32]:
    if sent is None:
        return np.zeros((count, EMBEDDING_DIMENSIONS), np.float32)
    rows = np.frombuffer(sent, np.uint8).reshape(count, _VECTOR_OCTETS)
    return np.ascontiguousarray(rows[:, 4:]).view(">f4").astype(np.float32)
