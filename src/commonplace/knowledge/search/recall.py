"""Recall: what is known of a topic, by relevance, importance, recency and confidence together (KNW-08)."""

from dataclasses import replace
from typing import Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.config import MAX_LIMIT, ScoreWeights
from commonplace.knowledge.kinds import Episode, MemoryType
from commonplace.knowledge.search.explanation import explain_recall
from commonplace.knowledge.search.found import Found
from commonplace.knowledge.search.request import (
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    SearchRequest,
    add_vector,
    begin_search,
    make_request,
    search_table,
)
from commonplace.knowledge.search.scoring import score, tie_break
from commonplace.knowledge.search.statements import TABLES
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.storage.database import Row, Statements

DEFAULT_WEIGHTS: Final = ScoreWeights()
RECALLED_TABLES: Final = ("facts", "rules")
CANDIDATES_PER_RESULT: Final = 3
"""A memory that is less relevant may be more important, so more are scored than returned."""


async def recall(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    topic: str,
    *,
    scope: str | None = None,
    limit: int = DEFAULT_LIMIT,
    weights: ScoreWeights = DEFAULT_WEIGHTS,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    explain: bool = False,
    count: bool = True,
    clock: Clock = utc_now,
) -> list[Found]:
    """Return the facts and rules that matter most for a topic, and count a use of each.

    Args:
        pool: Of knowledge memory.
        engine: Computes the topic's vector.
        topic: Up to 10,000 characters. With an empty one, importance, recency and confidence decide alone.
        scope: This scope and the global one; ``None`` for all.
        limit: 1 to 1,000.
        weights: Of the four parts.
        min_confidence: What has less effective confidence is left out, 0.0 to 1.0.
        explain: Whether to explain each result.
        count: Whether to count a use of each result.
        clock: The present.

    Returns:
        Facts and rules with ``composite_score`` and the scores of a hybrid search; the best first, of equal ones the
        later, then the lower id. Their counts of uses include this one, their scores do not.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-08, R-KNW-5.
    """
    request = await prepare_recall(
        engine, topic, scope=scope, limit=limit, min_confidence=min_confidence, clock=clock
    )
    async with unit_of_work(pool, readonly=not count) as sql:
        found = await find_memories(sql, request, weights=weights, explain=explain)
        if count:
            found = await _count_uses(sql, found, request)
    return found


async def prepare_recall(
    engine: EmbeddingEngine,
    topic: str,
    *,
    scope: str | None,
    limit: int,
    min_confidence: float,
    clock: Clock,
) -> SearchRequest:
    """Check a recall and compute the topic's vector, before a connection is taken; see :func:`recall`."""
    require_context()
    request = make_request(
        query=topic, field="topic", limit=limit, scope=scope, min_confidence=min_confidence, now=clock()
    )
    return await add_vector(request, engine)


async def find_memories(
    sql: Statements, request: SearchRequest, *, weights: ScoreWeights, explain: bool
) -> list[Found]:
    """Return the facts and rules of :func:`recall` without counting a use; one round trip for each table."""
    most = min(MAX_LIMIT, CANDIDATES_PER_RESULT * request.limit)
    wider = replace(await begin_search(sql, request), limit=most, neighbours=2 * most)
    found = [
        _scored(candidate, wider, weights, explain=explain)
        for table in RECALLED_TABLES
        for candidate in await search_table(sql, "hybrid_search", TABLES[table], wider)
    ]
    found.sort(key=lambda each: (-(each.scores.composite_score or 0.0), *tie_break(each.memory)))
    return found[: request.limit]


def _scored(candidate: Found, request: SearchRequest, weights: ScoreWeights, *, explain: bool) -> Found:
    memory = candidate.memory
    assert not isinstance(memory, Episode)  # noqa: S101 - RECALLED_TABLES holds none
    scored = score(memory, candidate.scores.rrf_score or 0.0, weights, request.now)
    scores = replace(candidate.scores, composite_score=scored.composite)
    explanation = (
        explain_recall(memory, scores, scored, weights, limit=request.limit, now=request.now)
        if explain
        else None
    )
    return Found(memory=memory, scores=scores, explanation=explanation)


async def _count_uses(sql: Statements, found: list[Found], request: SearchRequest) -> list[Found]:
    ids = {kind: [each.memory.id for each in found if each.memory.memory_type is kind] for kind in MemoryType}
    if not found:
        return found
    counted = await sql.bump_references(
        fact_ids=ids[MemoryType.FACT], rule_ids=ids[MemoryType.RULE], now=request.now
    )
    # A memory that another transaction has deleted meanwhile keeps the counts that were read.
    counts = {row["id"]: row for row in counted}
    return [_counted(each, counts.get(each.memory.id)) for each in found]


def _counted(found: Found, counts: Row | None) -> Found:
    if counts is None:
        return found
    memory = replace(
        found.memory,
        reference_count=counts["reference_count"],
        last_referenced_at=counts["last_referenced_at"],
    )
    return replace(found, memory=memory)
