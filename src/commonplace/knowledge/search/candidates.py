"""Candidates of a ranking: memories of one or more tables as arrays, with the columns that the ranking uses."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np

from commonplace.knowledge.model.candidates import Array, Candidates
from commonplace.knowledge.model.kinds import COLUMNS, Memory, MemoryType
from commonplace.knowledge.rules.passages import PassageSpan
from commonplace.knowledge.search.request import SearchRequest
from commonplace.knowledge.store.search_statements import (
    PRODUCTS,
    TABLES,
    Reach,
    SearchTable,
    ranking_queries,
    reading_queries,
)
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

_NOUNS: Final = {table.memory_type: table.noun for table in TABLES.values()}
_READ_COLUMNS: Final = {kind: [(name, f"{kind}_{name}") for name in COLUMNS[kind]] for kind in MemoryType}
"""The columns of each kind, with their names in the statement ``read_memories``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMemories:
    """The memories at some places of the candidates, and the pinned facts and rules.

    Attributes:
        by_place: The memories, by place.
        pinned: The pinned facts and rules.
        stale: The ids of memories whose source no longer holds.
        passages: The passage of each long fact and rule that is nearest to the query in meaning.
    """

    by_place: Mapping[int, Memory]
    pinned: Sequence[Memory]
    stale: Collection[UUID] = frozenset()
    passages: Mapping[UUID, PassageSpan] = field(default_factory=dict[UUID, PassageSpan])


async def find_candidates(
    sql: KnowledgeStatements, tables: Sequence[SearchTable], request: SearchRequest, *, seeds: int
) -> Candidates | None:
    """Return the candidates for a request, ``None`` if there are none; one round trip.

    Args:
        sql: A transaction that :func:`~.request.begin_search` has tuned.
        tables: The tables to search.
        request: The query.
        seeds: The number of memories of each table that are taken for their words, and for their meaning.
    """
    reach = Reach.of(matches=seeds, neighbours=seeds)
    queries = ranking_queries(tuple(tables), reach, request.form)
    rows = await queries.on(sql.connection).ranked_candidates(**request.parameters)
    return _joined([_from_row(row) for row in rows]) if rows else None


async def read_candidates(
    sql: KnowledgeStatements,
    candidates: Candidates | None,
    places: Sequence[int],
    request: SearchRequest,
    *,
    pinned: int = 0,
) -> ReadMemories:
    """Return the memories at some places of the candidates; one round trip.

    A memory that another transaction has deleted meanwhile is left out.

    Args:
        sql: The transaction of the search.
        candidates: The result of :func:`find_candidates`.
        places: The places of the memories to read.
        request: The query.
        pinned: Most pinned facts, and most pinned rules, to read as well.
    """
    at = {candidates.ids[place]: place for place in places} if candidates else {}
    if not at and not pinned:
        return ReadMemories(by_place={}, pinned=())
    ids: dict[str, list[UUID]] = {f"{memory_type}_ids": [] for memory_type in MemoryType}
    for memory_id, place in at.items():
        ids[f"{candidates.types[place]}_ids"].append(memory_id)  # pyright: ignore[reportOptionalMemberAccess]
    statements = reading_queries(request.form).on(sql.connection)
    rows = await statements.read_memories(**{**request.parameters, **ids, "pinned": pinned})
    pairs = [(row, _memory(row, request.now)) for row in rows]
    return ReadMemories(
        by_place={at[memory.id]: memory for row, memory in pairs if not row["is_pinned"]},
        pinned=[memory for row, memory in pairs if row["is_pinned"]],
        stale=frozenset(memory.id for row, memory in pairs if row["is_stale"]),
        passages={
            memory.id: PassageSpan(row["start_char"], row["end_char"])
            for row, memory in pairs
            if row["start_char"] is not None and row["end_char"] is not None
        },
    )


def _memory(row: Columns, now: datetime) -> Memory:
    memory_type = MemoryType(row["memory_type"])
    columns = {name: row[column] for name, column in _READ_COLUMNS[memory_type]}
    return _NOUNS[memory_type].from_row(columns, now=now)


def _from_row(row: Columns) -> Candidates:
    count = len(row["ids"])
    words = tuple(row["words"] or ())
    bits = np.array(row["present"], np.int64)
    return Candidates(
        words=words,
        frequencies=_floats(row["frequencies"] or ()),
        total=row["total"],
        types=[MemoryType(row["memory_type"])] * count,
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
        products=_products(row, count),
    )


def _joined(parts: Sequence[Candidates]) -> Candidates:
    if len(parts) == 1:
        return parts[0]
    arrays = ("similarity", "present", "octets", "distinct_words", "asks", "own", "importance", "products")
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


def _products(row: Columns, count: int) -> Array:
    if row[PRODUCTS[0]] is None:
        return np.zeros((count, len(PRODUCTS)))
    return np.array([row[name] for name in PRODUCTS], np.float64).T
