"""A search of one table: the checked request, and the statement that answers it.

A search finds active facts, rules that are not forgotten, and episodes that have not expired. With a scope, it finds
the facts and rules of that scope, global ones, and the episodes of the butler with that name (KNW-06, R-KNW-7).
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.core.bounds import Share, bounds_of, require_within
from commonplace.core.errors import InvalidInputError
from commonplace.core.pages import require_page
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.embedding.backend import EMBEDDING_DIMENSIONS
from commonplace.knowledge.model.bounds import DEFAULT_LIMIT, MAX_LIMIT, Query
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.model.search_text import search_query_text
from commonplace.knowledge.store.search_statements import Form, Reach, SearchTable, search_queries
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.vectors import VectorModel, model_of, warn_of_other_model

MATCHES: Final = 200
"""The number of memories with the rarest words that are ranked, or the limit if that is higher."""

KEPT_VECTORS: Final = 64
_latest_vectors: WeakKeyDictionary[EmbeddingEngine, OrderedDict[str, Vector]] = WeakKeyDictionary()
"""The vectors of the latest queries of each engine, the latest last."""

Statement = Literal["semantic_search", "keyword_search", "hybrid_search"]
Embedding = Sequence[float] | NDArray[np.float32] | Vector


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A checked request; without slots, because its parameters are made once.

    Attributes:
        query: The query of the caller.
        text: The words of the query as the database stores words; may be empty.
        vector: The vector of the query; ``None`` for a search by words only.
        model: The model that made the vector; ``None`` if the caller passed a vector.
        limit: The maximum number of results.
        min_confidence: The minimum effective confidence of facts and rules; ``None`` for no minimum.
        now: The moment for expiry and decay: the present, or the moment that the request is about.
        reach: How many memories are ranked for their words, and how many for their vectors: twice the limit, because
            the index orders vectors by half precision.
        min_relevance: The minimum likeness of the best memory; 0.0 for no minimum, always so without words.
        with_flagged: Whether memories with flags are found that no person has confirmed.
        narrowing: The memories that are considered.
    """

    query: str
    text: str
    vector: Vector | None
    limit: int
    min_confidence: float | None
    now: datetime
    reach: Reach
    model: VectorModel | None = None
    min_relevance: float = 0.0
    with_flagged: bool = True
    narrowing: Narrowing = EVERYTHING

    @property
    def is_scoped(self) -> bool:
        """Whether the request names a scope."""
        return self.narrowing.scope is not None

    @property
    def form(self) -> Form:
        """The conditions of its statements."""
        return Form(
            scoped=self.is_scoped,
            past=self.narrowing.is_past,
            guarded=not self.with_flagged or len(self.narrowing.trusts) < len(Source),
            filtered=self.narrowing.has_filters,
        )

    @cached_property
    def parameters(self) -> Mapping[str, object]:
        """The parameters of the statements of a search; each statement uses the parameters that it names."""
        narrowing = self.narrowing
        return {
            "query": self.text,
            "embedding": self.vector,
            "limit": self.limit,
            "butlers": [narrowing.scope],
            "scopes": [GLOBAL_SCOPE, narrowing.scope],
            "min_confidence": self.min_confidence,
            "now": self.now,
            "as_of": narrowing.as_of,
            "valid_at": narrowing.valid_at,
            "trusts": list(narrowing.trusts),
            "with_flagged": self.with_flagged,
            "tags": list(narrowing.tags) or None,
            "since": narrowing.since,
            "until": narrowing.until,
            "learned_by": narrowing.learned_by,
            "entity_id": narrowing.entity_id,
        }


def make_request(
    *,
    query: object = "",
    field: str = "query",
    embedding: Embedding | None = None,
    limit: int = DEFAULT_LIMIT,
    min_confidence: object = None,
    min_relevance: object = 0.0,
    with_flagged: bool = True,
    narrowing: Narrowing = EVERYTHING,
    now: datetime,
) -> SearchRequest:
    """Return a checked request.

    Raises:
        InvalidInputError: A value has the wrong type or is out of range; the message names the field.
    """
    require_page(limit, max_limit=MAX_LIMIT)
    asked = _require_query(query, field=field)
    text = search_query_text(asked)
    floor = require_within(Share, min_relevance, field="min_relevance")
    return SearchRequest(
        query=asked,
        text=text,
        vector=None if embedding is None else _require_embedding(embedding),
        limit=limit,
        min_confidence=None
        if min_confidence is None
        else require_within(Share, min_confidence, field="min_confidence"),
        min_relevance=floor if text else 0.0,
        now=narrowing.as_of or now,
        reach=_reach(limit),
        with_flagged=with_flagged,
        narrowing=narrowing,
    )


def widened(request: SearchRequest) -> SearchRequest:
    """Return a request for four times as many results, at most 1,000."""
    limit = min(4 * request.limit, MAX_LIMIT)
    return replace(request, limit=limit, reach=_reach(limit))


async def add_vector(request: SearchRequest, engine: EmbeddingEngine) -> SearchRequest:
    """Return a request with the vector of its query, computed before a connection is taken.

    A request without words is returned unchanged, and the model is not loaded for it. The vectors of the latest queries
    are kept, because a prompt is often searched for in several ways.

    Raises:
        EmbeddingError: The model cannot be used.
    """
    if not request.text:
        return request
    kept = _latest_vectors.setdefault(engine, OrderedDict())
    vector = kept.pop(request.query, None) or Vector(await engine.embed_query_async(request.query))
    kept[request.query] = vector
    if len(kept) > KEPT_VECTORS:
        kept.popitem(last=False)
    return replace(request, vector=vector, model=model_of(engine))


async def begin_search(sql: KnowledgeStatements, request: SearchRequest) -> SearchRequest:
    """Tune a transaction for searches, with one round trip unless the transaction began as a search.

    Returns:
        The request. If the memories have vectors of another model, this is logged, and the request has no vector: the
        memories have moved to another model, and this process must be restarted.
    """
    begun = sql.begun
    tuned = begun if begun and "version" in begun else await sql.tune_search()
    name, version = tuned["model"], tuned["version"]
    if request.model is None or name is None or version is None or version == request.model.version:
        return request
    warn_of_other_model(request.model, VectorModel(name=name, version=version))
    return replace(request, vector=None)


async def search_table(
    sql: KnowledgeStatements, statement: Statement, table: SearchTable, request: SearchRequest
) -> list[SearchResult]:
    """Run a search of one table in a transaction that :func:`begin_search` has tuned; one round trip."""
    statements = search_queries(table, request.reach, request.form).on(sql.connection)
    search = {
        "semantic_search": statements.semantic_search,
        "keyword_search": statements.keyword_search,
        "hybrid_search": statements.hybrid_search,
    }[statement]
    rows = await search(**request.parameters)
    return [
        SearchResult(
            memory=table.noun.from_row(row, now=request.now),
            scores=Scores.from_row(row),
            is_stale=row["is_stale"],
        )
        for row in rows
    ]


def _reach(limit: int) -> Reach:
    return Reach.of(matches=max(MATCHES, limit), neighbours=2 * limit)


def _require_query(query: object, *, field: str) -> str:
    if query is None:
        return ""
    bounds = bounds_of(Query)
    if not bounds.hold(query):
        got = f"{len(query)} characters" if isinstance(query, str) else query
        raise InvalidInputError(field, bounds.expected, got)
    return cast("str", query)


def _require_embedding(embedding: Embedding) -> Vector:
    form = f"{EMBEDDING_DIMENSIONS} finite numbers, not all zero"
    try:
        with np.errstate(over="ignore"):  # A number that overflows is infinite, which is refused below.
            vector = embedding if isinstance(embedding, Vector) else Vector(np.asarray(embedding, np.float32))
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("query_embedding", form, embedding) from None
    if vector.dimensions() != EMBEDDING_DIMENSIONS:
        raise InvalidInputError("query_embedding", form, f"{vector.dimensions()} numbers")
    length = math.hypot(*vector.to_list())
    if length == 0.0 or not math.isfinite(length):
        raise InvalidInputError("query_embedding", form, f"a vector of length {length}")
    return vector
