"""Search by meaning, by words, by both fused, and by context: of one table, or across all three (KNW-06, KNW-07).

What a search finds is said in :mod:`commonplace.knowledge.search.request`. Equal results always come in the same
order: the later first, then by id.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never, cast

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.config import SearchMode
from commonplace.knowledge.inputs import require_memory_type
from commonplace.knowledge.kinds import MemoryType
from commonplace.knowledge.search.contextual import search_by_context
from commonplace.knowledge.search.explanation import explain_search
from commonplace.knowledge.search.found import Found, Scores
from commonplace.knowledge.search.request import (
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    Embedding,
    SearchRequest,
    Statement,
    add_vector,
    begin_search,
    make_request,
    search_table,
)
from commonplace.knowledge.search.scoring import tie_break
from commonplace.knowledge.search.statements import TABLES, SearchTable, require_table
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.storage.database import Statements

STATEMENTS: Final[Mapping[SearchMode, Statement]] = {
    SearchMode.SEMANTIC: "semantic_search",
    SearchMode.KEYWORD: "keyword_search",
    SearchMode.HYBRID: "hybrid_search",
    SearchMode.CONTEXTUAL: "hybrid_search",
}
"""What each mode runs; by context only episodes can be ranked, and the other two are then fused."""


async def semantic_search(
    pool: asyncpg.Pool,
    query_embedding: Embedding,
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[Found]:
    """Find memories by the cosine of their vectors.

    Args:
        pool: Of knowledge memory.
        query_embedding: 384 finite numbers, not all of them zero.
        table: ``"episodes"``, ``"facts"`` or ``"rules"``.
        limit: 1 to 1,000.
        scope: Only this scope; see the module.
        clock: The present.

    Returns:
        Rows without vectors, with ``similarity`` (1 is the same, 0 unrelated), the most similar first; facts and
        rules with ``effective_confidence``.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-07.1.
    """
    request = make_request(embedding=query_embedding, limit=limit, scope=scope, now=clock())
    return await _search_one(pool, "semantic_search", table, request)


async def keyword_search(
    pool: asyncpg.Pool,
    query: str,
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[Found]:
    """Find memories that hold any of the query's words, common English words aside.

    Candidates are the 200 memories that hold the rarest of the words; where one word stands in more than 2,000
    memories, common words choose none as long as there is a rarer one.

    Args:
        pool: Of knowledge memory.
        query: Up to 10,000 characters of plain text; nothing in it is an operator.
        table: ``"episodes"``, ``"facts"`` or ``"rules"``.
        limit: 1 to 1,000.
        scope: Only this scope; see the module.
        clock: The present.

    Returns:
        Rows without vectors, with ``rank`` by ``ts_rank``, the highest first; facts and rules with
        ``effective_confidence``. None for an empty query, or one of common words only.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-07.2, R-KNW-6.
    """
    request = make_request(query=query, limit=limit, scope=scope, now=clock())
    if not request.text:
        require_table(table)
        return []
    return await _search_one(pool, "keyword_search", table, request)


async def hybrid_search(
    pool: asyncpg.Pool,
    query: str,
    query_embedding: Embedding,
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[Found]:
    """Find memories by meaning and by words, and fuse both lists by Reciprocal Rank Fusion.

    Both lists are as long as the limit; a list that lacks a memory counts as rank ``limit + 1``. For the
    parameters see :func:`semantic_search` and :func:`keyword_search`.

    Returns:
        Rows without vectors, with ``similarity``, ``rank``, ``semantic_rank``, ``keyword_rank`` and
        ``rrf_score``, which is ``1/(60 + semantic_rank) + 1/(60 + keyword_rank)``; the highest first, of equal ones
        that of the better semantic rank.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-07.3.
    """
    request = make_request(query=query, embedding=query_embedding, limit=limit, scope=scope, now=clock())
    return await _search_one(pool, "hybrid_search", table, request)


async def memory_search(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    query: str,
    *,
    types: Sequence[str] | None = None,
    scope: str | None = None,
    mode: str = SearchMode.HYBRID,
    limit: int = DEFAULT_LIMIT,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    explain: bool = False,
    clock: Clock = utc_now,
) -> list[Found]:
    """Search episodes, facts and rules; nothing is counted as a reference.

    Args:
        pool: Of knowledge memory.
        engine: Computes the query's vector; not used by the mode ``keyword``.
        query: Up to 10,000 characters of plain text.
        types: Which of ``episode``, ``fact`` and ``rule``; all three for ``None``.
        scope: Facts and rules of this scope and global ones, episodes of the butler of this name; ``None`` for all.
        mode: ``semantic``, ``keyword``, ``hybrid``, or ``contextual``: episodes by what was said around them in
            their session as well, facts and rules as in ``hybrid``, the lists taken in turn.
        limit: Most results over all types, 1 to 1,000.
        min_confidence: Facts and rules of less effective confidence are left out.
        explain: Adds ``explanation`` to each result: its ranks, scores and decay, and why it was found.
        clock: The present.

    Returns:
        Rows without vectors, each with ``memory_type`` and the scores of its mode (see
        :mod:`commonplace.knowledge.search.search`; ``contextual_score`` by context); the best first, of equal ones the
        later, then the lower id. None for an empty query. Where the memories have moved to another model than the
        engine's, words alone count: ``similarity`` is ``None``, ``semantic`` finds what ``keyword`` does.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-07.4.
    """
    require_context()
    known_mode = _require_mode(mode)
    tables = _require_types(types)
    now = clock()
    request = make_request(query=query, limit=limit, scope=scope, min_confidence=min_confidence, now=now)
    if not request.text or not tables:
        return []
    if known_mode is not SearchMode.KEYWORD:
        request = await add_vector(request, engine)
    ranked: list[tuple[tuple[float, ...], Found]] = []
    async with unit_of_work(pool, readonly=True) as sql:
        request = await begin_search(sql, request)
        if known_mode is SearchMode.SEMANTIC and request.vector is None:
            known_mode = SearchMode.KEYWORD
        for table in tables:
            found = await _search(sql, table, known_mode, request, explain=explain)
            ranked += [(_order(known_mode, each.scores, place), each) for place, each in enumerate(found)]
    ranked.sort(key=lambda pair: (*pair[0], *tie_break(pair[1].memory)))
    return [each for _, each in ranked[: request.limit]]


def _order(mode: SearchMode, scores: Scores, place: int) -> tuple[float, ...]:
    """Return the key that orders the results of several tables; by context the lists are taken in turn."""
    match mode:
        case SearchMode.SEMANTIC:
            return (-(scores.similarity or 0.0),)
        case SearchMode.KEYWORD:
            return (-(scores.rank or 0.0),)
        case SearchMode.HYBRID:
            return (-(scores.rrf_score or 0.0), scores.semantic_rank or 0)
        case SearchMode.CONTEXTUAL:
            return (place,)
        case _:
            assert_never(mode)


async def _search(
    sql: Statements, table: SearchTable, mode: SearchMode, request: SearchRequest, *, explain: bool
) -> list[Found]:
    if mode is SearchMode.CONTEXTUAL and table.memory_type is MemoryType.EPISODE:
        return await search_by_context(sql, table, request, explain=explain)
    found = await search_table(sql, STATEMENTS[mode], table, request)
    if not explain:
        return found
    return [
        replace(
            each,
            explanation=explain_search(each.memory, each.scores, limit=request.limit, now=request.now),
        )
        for each in found
    ]


async def _search_one(
    pool: asyncpg.Pool, statement: Statement, table: str, request: SearchRequest
) -> list[Found]:
    known = require_table(table)
    require_context()
    async with unit_of_work(pool, readonly=True) as sql:
        await begin_search(sql, request)
        return await search_table(sql, statement, known, request)


def _require_mode(mode: str) -> SearchMode:
    try:
        return SearchMode(mode)
    except ValueError:
        raise InvalidInputError("mode", f"one of {', '.join(SearchMode)}", mode) from None


def _require_types(types: object) -> list[SearchTable]:
    if types is None:
        return list(TABLES.values())
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise InvalidInputError("types", f"a list of {', '.join(MemoryType)}", types)
    wanted = {
        require_memory_type(cast("str", word), field="types") for word in cast("Iterable[object]", types)
    }
    return [table for table in TABLES.values() if table.memory_type in wanted]
