"""A search of one table: the checked request, and the statement that answers it.

A search finds active facts, rules that are not forgotten, and episodes that have not expired. With a scope, it finds
the facts and rules of that scope, global ones, and the episodes of the butler with that name (KNW-06, R-KNW-7).
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.core.choices import optional_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.pages import require_page
from commonplace.core.sources import Source, at_least
from commonplace.embedding import EmbeddingEngine
from commonplace.embedding.backend import EMBEDDING_DIMENSIONS
from commonplace.knowledge.model.config import MAX_LIMIT
from commonplace.knowledge.model.inputs import optional_moment, require_scope
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE
from commonplace.knowledge.model.search_text import search_query_text
from commonplace.knowledge.search.filters import NO_FILTERS, Filters
from commonplace.knowledge.search.results import Found, Scores
from commonplace.knowledge.search.statements import Form, Reach, SearchTable, search_queries
from commonplace.knowledge.statements import KnowledgeStatements
from commonplace.knowledge.store.vectors import VectorModel, model_of, warn_of_other_model

DEFAULT_LIMIT: Final = 10
DEFAULT_MIN_CONFIDENCE: Final = 0.2
MAX_QUERY_CHARS: Final = 10_000
MATCHES: Final = 200
"""The number of memories with the rarest words that are ranked, or the limit if that is higher."""

KEPT_VECTORS: Final = 64
_latest_vectors: WeakKeyDictionary[EmbeddingEngine, OrderedDict[str, Vector]] = WeakKeyDictionary()
"""The vectors of the latest queries of each engine, the latest last."""

Statement = Literal["semantic_search", "keyword_search", "hybrid_search"]
Embedding = Sequence[float] | NDArray[np.float32] | Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A checked request.

    Attributes:
        query: The query of the caller.
        text: The words of the query as the database stores words; may be empty.
        vector: The vector of the query; ``None`` for a search by words only.
        model: The model that made the vector; ``None`` if the caller passed a vector.
        limit: The maximum number of results.
        scope: The scope that the caller named; ``None`` for all scopes.
        min_confidence: The minimum effective confidence of facts and rules; ``None`` for no minimum.
        now: The current time, for expiry and decay.
        reach: How many memories are ranked for their words, and how many for their vectors: twice the limit, because
            the index orders vectors by half precision.
        min_relevance: The minimum likeness of the best memory; 0.0 for no minimum, always so without words.
        as_of: Find what was known at this moment; ``None`` for what is known now.
        valid_at: Find the facts that were true at this moment; ``None`` for the facts that hold now.
        trusts: The sources that are trusted enough.
        with_flagged: Whether memories with flags are found that no person has confirmed.
        filters: The filters by tag, time, butler and entity.
    """

    query: str
    text: str
    vector: Vector | None
    limit: int
    scope: str | None
    min_confidence: float | None
    now: datetime
    reach: Reach
    model: VectorModel | None = None
    min_relevance: float = 0.0
    as_of: datetime | None = None
    valid_at: datetime | None = None
    trusts: Sequence[Source] = tuple(Source)
    with_flagged: bool = True
    filters: Filters = NO_FILTERS

    @property
    def is_past(self) -> bool:
        """Whether the request is about an earlier moment."""
        return self.as_of is not None or self.valid_at is not None

    @property
    def form(self) -> Form:
        """The conditions of its statements."""
        return Form(
            scoped=self.scope is not None,
            past=self.is_past,
            guarded=not self.with_flagged or len(self.trusts) < len(Source),
            filtered=self.filters != NO_FILTERS,
        )


def make_request(
    *,
    query: object = "",
    field: str = "query",
    embedding: Embedding | None = None,
    limit: int = DEFAULT_LIMIT,
    scope: object = None,
    min_confidence: object = None,
    min_relevance: object = 0.0,
    as_of: object = None,
    valid_at: object = None,
    min_trust: object = None,
    with_flagged: bool = True,
    filters: Filters = NO_FILTERS,
    now: datetime,
) -> SearchRequest:
    """Return a checked request.

    Raises:
        InvalidInputError: A value has the wrong type or is out of range; the message names the field.
    """
    require_page(limit, max_limit=MAX_LIMIT)
    asked = _require_query(query, field=field)
    text = search_query_text(asked)
    floor = _require_share(min_relevance, field="min_relevance")
    known_at = optional_moment(as_of, field="as_of", at_end=True)
    least = optional_one_of(Source, min_trust, field="min_trust")
    return SearchRequest(
        query=asked,
        text=text,
        vector=None if embedding is None else _require_embedding(embedding),
        limit=limit,
        scope=None if scope is None else require_scope(scope),
        min_confidence=None
        if min_confidence is None
        else _require_share(min_confidence, field="min_confidence"),
        min_relevance=floor if text else 0.0,
        now=known_at or now,
        reach=_reach(limit),
        as_of=known_at,
        valid_at=optional_moment(valid_at, field="valid_at", at_end=True),
        trusts=tuple(Source) if least is None else at_least(least),
        with_flagged=with_flagged,
        filters=filters,
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
) -> list[Found]:
    """Run a search of one table in a transaction that :func:`begin_search` has tuned; one round trip."""
    statements = search_queries(table, request.reach, request.form).on(sql.connection)
    search = {
        "semantic_search": statements.semantic_search,
        "keyword_search": statements.keyword_search,
        "hybrid_search": statements.hybrid_search,
    }[statement]
    rows = await search(**parameters(request))
    return [
        Found(
            memory=table.noun.from_row(row, now=request.now),
            scores=Scores.from_row(row),
            is_stale=row["is_stale"],
        )
        for row in rows
    ]


def parameters(request: SearchRequest) -> dict[str, object]:
    """Return the parameters for the statements of a search; each statement uses the parameters that it names."""
    return {
        "query": request.text,
        "embedding": request.vector,
        "limit": request.limit,
        "butlers": [request.scope],
        "scopes": [GLOBAL_SCOPE, request.scope],
        "min_confidence": request.min_confidence,
        "now": request.now,
        "as_of": request.as_of,
        "valid_at": request.valid_at,
        "trusts": list(request.trusts),
        "with_flagged": request.with_flagged,
        **request.filters.parameters(),
    }


def _reach(limit: int) -> Reach:
    return Reach.of(matches=max(MATCHES, limit), neighbours=2 * limit)


def _require_query(query: object, *, field: str) -> str:
    form = f"text of at most {MAX_QUERY_CHARS} characters"
    if query is None:
        return ""
    if not isinstance(query, str):
        raise InvalidInputError(field, form, query)
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInputError(field, form, f"{len(query)} characters")
    return query


def _require_share(value: object, *, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(field, "a number from 0.0 to 1.0", value)
    return float(value)


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
