"""Recall: what is known of a topic, by relevance, importance, recency and confidence together (KNW-08)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.config import MAX_LIMIT, ScoreWeights
from commonplace.knowledge.inputs import MemoryType
from commonplace.knowledge.search.explanation import explain_recall
from commonplace.knowledge.search.request import (
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    SearchRequest,
    add_vector,
    begin_search,
    make_request,
    require_query,
    search_table,
)
from commonplace.knowledge.search.scoring import score, tie_break
from commonplace.knowledge.search.statements import TABLES
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.storage.database import Statements

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
) -> list[dict[str, Any]]:
    """Recall the facts and rules that matter most for a topic, and count the reference to each.

    Args:
        pool: Of knowledge memory.
        engine: Computes the topic's vector.
        topic: Up to 10,000 characters. With an empty one, importance, recency and confidence decide alone.
        scope: This scope and the global one; ``None`` for all.
        limit: 1 to 1,000.
        weights: Of the four parts.
        min_confidence: What has less effective confidence is left out, 0.0 to 1.0.
        explain: Adds ``explanation`` to each result: its ranks, scores and decay, and why it was recalled.
        count: Whether this is a reference; a person who looks at what an agent would be told makes none.
        clock: The present.

    Returns:
        Rows without vectors, each with ``memory_type``, ``composite_score``, ``effective_confidence`` and the
        fields of a hybrid search; the best first, of equal ones the later, then the lower id. Their references
        are counted with this one, their scores without it.

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
            await _count_references(sql, found, request)
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
    text = require_query(topic, field="topic")
    request = make_request(query=text, limit=limit, scope=scope, min_confidence=min_confidence, now=clock())
    return await add_vector(request, engine, text)


async def find_memories(
    sql: Statements, request: SearchRequest, *, weights: ScoreWeights, explain: bool
) -> list[dict[str, Any]]:
    """Return what :func:`recall` returns, and count nothing; one round trip a table."""
    most = min(MAX_LIMIT, CANDIDATES_PER_RESULT * request.limit)
    wider = replace(await begin_search(sql, request), limit=most, neighbours=2 * most)
    found: list[dict[str, Any]] = []
    for name in RECALLED_TABLES:
        table = TABLES[name]
        for memory in await search_table(sql, "hybrid_search", table, wider):
            scored = score(memory, weights, request.now)
            memory["memory_type"] = str(table.memory_type)
            memory["composite_score"] = scored.composite
            if explain:
                memory["explanation"] = explain_recall(memory, scored, weights, limit=most, now=request.now)
            found.append(memory)
    found.sort(key=lambda memory: (-memory["composite_score"], *tie_break(memory)))
    return found[: request.limit]


async def _count_references(
    sql: Statements, memories: Sequence[dict[str, Any]], request: SearchRequest
) -> None:
    ids = {
        kind: [memory["id"] for memory in memories if memory["memory_type"] == kind]
        for kind in (MemoryType.FACT, MemoryType.RULE)
    }
    if not memories:
        return
    counted = await sql.bump_references(
        fact_ids=ids[MemoryType.FACT], rule_ids=ids[MemoryType.RULE], now=request.now
    )
    bumped = {row["id"]: row for row in counted}
    for memory in memories:
        # What another transaction has deleted meanwhile keeps the counts that were read.
        row = bumped.get(memory["id"], memory)
        memory["reference_count"] = row["reference_count"]
        memory["last_referenced_at"] = row["last_referenced_at"]
