"""Recall: memories about a topic, by relevance, importance, recency and confidence together (KNW-08)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from commonplace.knowledge.model.bounds import DEFAULT_MIN_CONFIDENCE, MAX_LIMIT
from commonplace.knowledge.model.candidates import Candidates
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.kinds import Episode, Memory, MemoryType
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.rules.deduplication import folded
from commonplace.knowledge.rules.explanation import explain_recall
from commonplace.knowledge.rules.relevance import DEPTH, LEAST_SHOWN, Relevance, relevant
from commonplace.knowledge.rules.rewordings import without_rewordings
from commonplace.knowledge.rules.scoring import score, tie_break
from commonplace.knowledge.search.candidates import ReadMemories, read_candidates
from commonplace.knowledge.search.future_facts import with_until
from commonplace.knowledge.search.graph_expansion import find_related
from commonplace.knowledge.search.request import SearchRequest, add_vector, begin_search, make_request
from commonplace.knowledge.search.reranking import can_reread, nearest, rank_by_help, reranker_for, reread
from commonplace.knowledge.search.spelling import find_meant
from commonplace.knowledge.store.search_statements import TABLES
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced
from commonplace.storage.database import Row

if TYPE_CHECKING:
    from commonplace.reranker import Reranker

STALE_RELEVANCE: Final = 0.13
"""A stale memory has this share of its relevance, so a current memory that is nearly as relevant comes first."""

RECALLED_TABLES: Final = (TABLES["facts"], TABLES["rules"])


class Recall:
    """Recall of memories about a topic."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def recall(
        self,
        topic: str,
        *,
        narrowing: Narrowing = EVERYTHING,
        limit: int | None = None,
        weights: ScoreWeights | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float | None = None,
        explain: bool = False,
        count: bool = True,
    ) -> list[SearchResult]:
        """Return the facts and rules that matter most for a topic, and count a use of each."""
        retrieval = self._session.config.retrieval
        request = make_request(
            query=topic,
            field="topic",
            limit=self._session.limit_or_default(limit),
            min_confidence=min_confidence,
            min_relevance=retrieval.min_relevance if min_relevance is None else min_relevance,
            with_flagged=not retrieval.quarantine,
            narrowing=narrowing,
            now=self._session.clock(),
        )
        request = await add_vector(request, self._session.engine)
        count = count and not narrowing.is_past
        weights = weights or retrieval.score_weights
        # Where replicas serve reads, the primary only counts; elsewhere one transaction does both.
        is_split = count and self._session.database.replicas is not None
        opening = self._session.writing() if count and not is_split else self._session.reading(search=True)
        async with traced(self._session, "search_memory", topic) as note:
            async with opening as sql:
                results, _ = await find_memories(
                    sql, request, weights=weights, explain=explain, reader=reranker_for(self._session)
                )
                results = await with_until(sql, results[: request.limit], request)
                if count and not is_split:
                    results = await _count_uses(sql, results, request)
            if is_split and results:
                async with self._session.writing() as sql:
                    results = await _count_uses(sql, results, request)
            return note(results)


async def find_memories(
    sql: KnowledgeStatements,
    request: SearchRequest,
    *,
    weights: ScoreWeights,
    explain: bool,
    pinned: int = 0,
    more: int = 0,
    reader: "Reranker | None" = None,
    helpful_only: bool = False,
) -> tuple[list[SearchResult], ReadMemories]:
    """Return all relevant facts and rules, the best first, and the memories that were read, without counting a use.

    This takes two round trips, one more in a transaction that did not begin as a search, and one more if a fact has an
    entity. The list may be longer than the limit of the request. ``more`` memories follow those that the limit lets in,
    the most similar to the topic first, so that a use displaces none of them.

    Args:
        sql: A transaction.
        request: From :func:`~.request.add_vector`.
        weights: The weights of the four parts of a score.
        explain: Whether to explain each result.
        pinned: The maximum number of pinned facts, and of pinned rules.
        more: The maximum number of relevant memories beyond the limit of the request.
        reader: The reranker, which ranks the memories by how much they help; ``None`` ranks them by likeness.
        helpful_only: Whether to return the memories that help, in place of the memories above the floor of likeness.
    """
    request = await begin_search(sql, request)
    candidates = await find_meant(sql, RECALLED_TABLES, request, seeds=max(DEPTH, request.limit + more))
    if reader is not None and not await can_reread(request, reader):
        reader = None
    if candidates is None:
        relevances = []
    elif reader is not None and helpful_only:
        relevances = nearest(candidates, request)
    else:
        relevances = _above_floor(candidates, request, more=more)
    places = [each.place for each in relevances]
    memories = await read_candidates(sql, candidates, places, request, pinned=pinned)
    if reader is not None:
        rank = reread if helpful_only else rank_by_help
        relevances = await rank(relevances, memories, request, reader)
    results = [
        _result(memory, each, request, weights, is_stale=memory.id in memories.stale, explain=explain)
        for each in relevances
        if (memory := memories.by_place.get(each.place))
    ]
    first = max(LEAST_SHOWN, request.limit) if request.text else len(results)
    best = sorted(results[:first], key=_by_score)
    rest = {each.memory.id for each in results[first:]}
    results = without_rewordings(folded([*best, *results[first:]], scoped=request.is_scoped))
    related = await find_related(sql, results, request, explain=explain)
    if related:
        direct = [each for each in results if each.memory.id not in rest]
        results = folded([*direct, *related, *results[len(direct) :]], scoped=request.is_scoped)
    return results, memories


def _by_score(result: SearchResult) -> tuple[float, float, UUID]:
    return (-(result.scores.composite_score or 0.0), *tie_break(result.memory))


def _above_floor(candidates: Candidates, request: SearchRequest, *, more: int) -> list[Relevance]:
    return relevant(
        candidates,
        min_relevance=request.min_relevance,
        scoped=request.is_scoped,
        by_meaning=request.vector is not None,
        limit=request.limit + more if request.text else MAX_LIMIT,
    )


def _result(
    memory: Memory,
    relevance: Relevance,
    request: SearchRequest,
    weights: ScoreWeights,
    *,
    is_stale: bool,
    explain: bool,
) -> SearchResult:
    assert not isinstance(memory, Episode)  # noqa: S101 - RECALLED_TABLES holds none
    share = relevance.relevance * (STALE_RELEVANCE if is_stale else 1.0) if request.text else 0.0
    parts = score(memory, share, weights, request.now)
    scores = Scores(
        likeness=relevance.likeness,
        similarity=relevance.similarity,
        semantic_rank=relevance.semantic_rank,
        keyword_rank=relevance.keyword_rank,
        rrf_score=relevance.rrf_score,
        composite_score=parts.composite,
    )
    explanation = (
        explain_recall(
            memory, scores, parts, weights, min_relevance=request.min_relevance, limit=DEPTH, now=request.now
        )
        if explain
        else None
    )
    result = SearchResult(memory=memory, scores=scores, explanation=explanation)
    return result.marked(is_stale=is_stale)


async def _count_uses(
    sql: KnowledgeStatements, results: list[SearchResult], request: SearchRequest
) -> list[SearchResult]:
    if not results:
        return results
    ids = {
        kind: [each.memory.id for each in results if each.memory.memory_type is kind] for kind in MemoryType
    }
    rows = await sql.bump_references(
        fact_ids=ids[MemoryType.FACT], rule_ids=ids[MemoryType.RULE], now=request.now
    )
    # A memory that another transaction has deleted meanwhile keeps the counts that were read.
    counts = {row["id"]: row for row in rows}
    return [_with_counts(each, counts.get(each.memory.id)) for each in results]


def _with_counts(result: SearchResult, counts: Row | None) -> SearchResult:
    if counts is None:
        return result
    memory = replace(
        result.memory,
        reference_count=counts["reference_count"],
        last_referenced_at=counts["last_referenced_at"],
    )
    return replace(result, memory=memory)
