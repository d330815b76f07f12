"""Search by meaning, by words, by both fused, and by context: of one table, or across all three (KNW-06, KNW-07).

:mod:`commonplace.knowledge.search.request` says which memories a search finds. Equal results always come in the same
order: the later first, then by id.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never, cast
from uuid import UUID

from commonplace.core.choices import require_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.bounds import DEFAULT_MIN_CONFIDENCE, MAX_LIMIT
from commonplace.knowledge.model.config import SearchMode
from commonplace.knowledge.model.inputs import require_memory_type
from commonplace.knowledge.model.kinds import Memory, MemoryType
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.rules.deduplication import folded
from commonplace.knowledge.rules.explanation import explain_context, explain_search
from commonplace.knowledge.rules.ranking import ContextualScore, rank_by_context
from commonplace.knowledge.rules.relevance import above_floor
from commonplace.knowledge.rules.scoring import RRF_K, tie_break
from commonplace.knowledge.search.candidates import read_candidates
from commonplace.knowledge.search.future_facts import with_until
from commonplace.knowledge.search.graph_expansion import find_related, followed
from commonplace.knowledge.search.request import (
    Embedding,
    SearchRequest,
    Statement,
    add_vector,
    begin_search,
    make_request,
    search_table,
    widened,
)
from commonplace.knowledge.search.spelling import find_meant
from commonplace.knowledge.store.search_statements import TABLES, SearchTable, require_table
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced

STATEMENTS: Final[Mapping[SearchMode, Statement]] = {
    SearchMode.SEMANTIC: "semantic_search",
    SearchMode.KEYWORD: "keyword_search",
    SearchMode.HYBRID: "hybrid_search",
}
"""Statement of each mode for a table. The mode ``contextual`` ranks the candidates of all tables at once."""

STALE_WEIGHT: Final = 0.7
"""A stale memory has this share of its score."""

STALE_FUSED_WEIGHT: Final = 0.9
"""The weight of stale memories in a fused ranking. Fused scores are close together: nine tenths cost seven places."""

CANDIDATES: Final = 40
"""The number of memories of each table that are ranked by context for their words, and for their meaning."""


class Search:
    """Searches. None counts a use."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def semantic(
        self, query_embedding: Embedding, table: str, *, limit: int | None = None, scope: str | None = None
    ) -> list[SearchResult]:
        """Find memories of a table by the cosine of their vectors.

        Args:
            query_embedding: 384 finite numbers, not all of them zero.
            table: ``"episodes"``, ``"facts"`` or ``"rules"``.
            limit: 1 to 1,000; ``None`` for the configured limit, 20 by default.
            scope: Only this scope; see the module.

        Returns:
            Memories with ``similarity`` (1 is the same, 0 unrelated), the most similar first.

        Raises:
            InvalidInputError: A value has the wrong type or is out of range.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-07.1.
        """
        request = make_request(
            embedding=query_embedding,
            limit=self._session.limit_or_default(limit),
            narrowing=Narrowing(scope=scope),
            now=self._session.clock(),
        )
        return await self._search_one("semantic_search", table, request)

    async def keyword(
        self, query: str, table: str, *, limit: int | None = None, scope: str | None = None
    ) -> list[SearchResult]:
        """Find memories of a table that contain any word of the query, except common English words.

        The 200 memories with the rarest of the words are ranked. A word that is in more than 2,000 memories selects no
        memory if the query has a rarer word.

        Args:
            query: Up to 10,000 characters of plain text, without operators.
            table: ``"episodes"``, ``"facts"`` or ``"rules"``.
            limit: 1 to 1,000; ``None`` for the configured limit, 20 by default.
            scope: Only this scope; see the module.

        Returns:
            Memories with ``rank`` by ``ts_rank``, the highest first; none if the query is empty or has only common
            words.

        Raises:
            InvalidInputError: A value has the wrong type or is out of range.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-07.2, R-KNW-6.
        """
        request = make_request(
            query=query,
            limit=self._session.limit_or_default(limit),
            narrowing=Narrowing(scope=scope),
            now=self._session.clock(),
        )
        if not request.text:
            require_table(table)
            return []
        return await self._search_one("keyword_search", table, request)

    async def hybrid(
        self,
        query: str,
        query_embedding: Embedding,
        table: str,
        *,
        limit: int | None = None,
        scope: str | None = None,
    ) -> list[SearchResult]:
        """Find memories of a table by meaning and by words, and fuse both lists by Reciprocal Rank Fusion.

        Both lists are as long as the limit. A memory that is missing in a list has the rank ``limit + 1`` there. For
        the parameters see :meth:`semantic` and :meth:`keyword`.

        Returns:
            Memories with ``similarity``, ``rank``, ``semantic_rank``, ``keyword_rank`` and ``rrf_score``, which is
            ``1/(60 + semantic_rank) + 1/(60 + keyword_rank)``; the highest first, ties by semantic rank.

        Raises:
            InvalidInputError: A value has the wrong type or is out of range.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-07.3.
        """
        request = make_request(
            query=query,
            embedding=query_embedding,
            limit=self._session.limit_or_default(limit),
            narrowing=Narrowing(scope=scope),
            now=self._session.clock(),
        )
        return (await self._search_one("hybrid_search", table, request))[: request.limit]

    async def search(
        self,
        query: str,
        *,
        types: Sequence[str] | None = None,
        narrowing: Narrowing = EVERYTHING,
        mode: str | None = None,
        limit: int | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float = 0.0,
        explain: bool = False,
        fold: bool = True,
    ) -> list[SearchResult]:
        """Return the episodes, facts and rules that match a query, the best first; this does not count as a use."""
        wanted = self._session.config.retrieval.default_mode if mode is None else mode
        known_mode = require_one_of(SearchMode, wanted, field="mode")
        tables = _require_types(types)
        request = make_request(
            query=query,
            limit=self._session.limit_or_default(limit),
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            narrowing=narrowing,
            now=self._session.clock(),
        )
        if not request.text or not tables:
            return []
        if request.min_relevance > 0.0 and known_mode is not SearchMode.CONTEXTUAL:
            form = f"0.0 in mode {known_mode}: only contextual has a floor"
            raise InvalidInputError("min_relevance", form, request.min_relevance)
        if known_mode is not SearchMode.KEYWORD:
            request = await add_vector(request, self._session.engine)
        async with (
            traced(self._session, "search_memory", query) as note,
            self._session.reading(search=True) as sql,
        ):
            request = await begin_search(sql, request)
            if known_mode is SearchMode.SEMANTIC and request.vector is None:
                known_mode = SearchMode.KEYWORD
            told = await _find(sql, known_mode, tables, request, explain=explain, fold=fold)
            if TABLES["facts"] in tables:
                related = await find_related(sql, told, request, explain=explain)
                told = followed(told, folded(related, scoped=False), request.limit) if related else told
            return note(await with_until(sql, told, request))

    async def _search_one(
        self, statement: Statement, table: str, request: SearchRequest
    ) -> list[SearchResult]:
        known = require_table(table)
        async with self._session.reading(search=True) as sql:
            await begin_search(sql, request)
            return await search_table(sql, statement, known, request)


def _order(mode: SearchMode, found: SearchResult) -> tuple[float, ...]:
    """Return the key that orders the results of all tables."""
    scores, weight = found.scores, STALE_WEIGHT if found.is_stale else 1.0
    match mode:
        case SearchMode.SEMANTIC:
            return (-weight * (scores.similarity or 0.0),)
        case SearchMode.KEYWORD:
            return (-weight * (scores.rank or 0.0),)
        case SearchMode.HYBRID:
            weight = STALE_FUSED_WEIGHT if found.is_stale else 1.0
            return (-weight * (scores.rrf_score or 0.0), scores.semantic_rank or 0)
        case SearchMode.CONTEXTUAL:
            return (-weight * (scores.contextual_score or 0.0),)
        case _:
            assert_never(mode)


def _fused(found: Sequence[SearchResult], limit: int) -> list[SearchResult]:
    """Rank the memories of several tables by meaning and by words over all of them, and fuse both lists."""
    semantic = _places(found, limit, lambda scores: (scores.semantic_rank, -(scores.similarity or 0.0), 0))
    keyword = _places(
        found, limit, lambda scores: (scores.keyword_rank, -(scores.rank or 0.0), scores.keyword_rank or 0)
    )
    fused: list[SearchResult] = []
    for each in found:
        ranks = semantic.get(each.memory.id, limit + 1), keyword.get(each.memory.id, limit + 1)
        scores = replace(
            each.scores,
            semantic_rank=ranks[0],
            keyword_rank=ranks[1],
            rrf_score=sum(1 / (RRF_K + rank) for rank in ranks),
        )
        fused.append(replace(each, scores=scores))
    return fused


def _places(
    found: Sequence[SearchResult], limit: int, key: Callable[[Scores], tuple[int | None, float, int]]
) -> dict[UUID, int]:
    """Return the places in a list over all tables; ``key`` returns the rank in the table, then the sort key."""
    listed = [(each, key(each.scores)) for each in found]
    inside = [
        (order[1:], each.memory) for each, order in listed if order[0] is not None and order[0] <= limit
    ]
    inside.sort(key=lambda pair: (*pair[0], *tie_break(pair[1])))
    return {memory.id: place for place, (_, memory) in enumerate(inside[:limit], start=1)}


async def _find(
    sql: KnowledgeStatements,
    mode: SearchMode,
    tables: Sequence[SearchTable],
    request: SearchRequest,
    *,
    explain: bool,
    fold: bool,
) -> list[SearchResult]:
    """Return the results of a search; a wider search refills the places of repetitions and stale memories."""
    wide = request
    while True:
        if mode is SearchMode.CONTEXTUAL:
            found = await _search_by_context(sql, tables, wide, explain=explain)
        else:
            found = await _search_tables(sql, mode, tables, wide, explain=explain)
        told = folded(found, scoped=False) if fold else found
        has_room = len(told) < min(request.limit, len(found))
        is_stale = wide is request and any(each.is_stale for each in told[: request.limit])
        if not (has_room or is_stale) or len(found) < wide.limit or wide.limit == MAX_LIMIT:
            return told[: request.limit]
        wide = widened(wide)


async def _search_tables(
    sql: KnowledgeStatements,
    mode: SearchMode,
    tables: Sequence[SearchTable],
    request: SearchRequest,
    *,
    explain: bool,
) -> list[SearchResult]:
    """Return the results of all tables, the best first; the limit of the request holds for each table."""
    found = [each for table in tables for each in await search_table(sql, STATEMENTS[mode], table, request)]
    if mode is SearchMode.HYBRID and len(tables) > 1:
        found = _fused(found, request.limit)
    found.sort(key=lambda each: (*_order(mode, each), *tie_break(each.memory)))
    return [_explained(each, request) if explain else each for each in found]


async def _search_by_context(
    sql: KnowledgeStatements,
    tables: Sequence[SearchTable],
    request: SearchRequest,
    *,
    explain: bool,
) -> list[SearchResult]:
    seeds = max(CANDIDATES, 2 * request.limit)
    candidates = await find_meant(sql, tables, request, seeds=seeds)
    if candidates is None:
        return []
    shown = above_floor(
        candidates,
        min_relevance=request.min_relevance,
        scoped=request.is_scoped,
        by_meaning=request.vector is not None,
    )
    best = rank_by_context(candidates, request.query, limit=request.limit, shown=set(shown))
    read = await read_candidates(sql, candidates, [each.place for each in best], request)
    found = [
        _found_by_context(read.by_place[each.place], each, request, explain=explain)
        for each in best
        if each.place in read.by_place
    ]
    found = [each.marked(is_stale=each.memory.id in read.stale) for each in found]
    return sorted(found, key=lambda each: _order(SearchMode.CONTEXTUAL, each))


def _found_by_context(
    memory: Memory, ranked: ContextualScore, request: SearchRequest, *, explain: bool
) -> SearchResult:
    scores = Scores(contextual_score=ranked.score)
    explanation = (
        explain_context(memory, scores, ranked, query=request.query, now=request.now) if explain else None
    )
    return SearchResult(memory=memory, scores=scores, explanation=explanation)


def _explained(found: SearchResult, request: SearchRequest) -> SearchResult:
    explanation = explain_search(found.memory, found.scores, limit=request.limit, now=request.now)
    return replace(found, explanation=explanation).marked(is_stale=found.is_stale)


def _require_types(types: object) -> list[SearchTable]:
    if types is None:
        return list(TABLES.values())
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise InvalidInputError("types", f"a list of {', '.join(MemoryType)}", types)
    wanted = {
        require_memory_type(cast("str", word), field="types") for word in cast("Iterable[object]", types)
    }
    return [table for table in TABLES.values() if table.memory_type in wanted]
