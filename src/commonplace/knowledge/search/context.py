"""The memories that a session should begin with, as a block for its prompt (KNW-20, KNW-34)."""

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.budgets import budget_chars
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import DEFAULT_MIN_RELEVANCE
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.config import ScoreWeights
from commonplace.knowledge.connection.replicas import Replicas
from commonplace.knowledge.connection.unit_of_work import require_context, unit_of_work
from commonplace.knowledge.inputs import require_scope
from commonplace.knowledge.kinds import DEFAULT_IMPORTANCE, Episode, Fact, Memory, Moment, Rule
from commonplace.knowledge.search.context_block import (
    CONTEXT_HEADER,
    DEFAULT_QUOTAS,
    MAX_LINES,
    ContextQuotas,
    render_context,
)
from commonplace.knowledge.search.recall import DEFAULT_WEIGHTS, find_memories
from commonplace.knowledge.search.request import DEFAULT_MIN_CONFIDENCE, add_vector, make_request
from commonplace.knowledge.search.scoring import tie_break
from commonplace.knowledge.search.until import facts_until

DEFAULT_TOKEN_BUDGET: Final = 3000
MAX_PROMPT_CHARS: Final = 4_000
"""Characters at the beginning of a prompt that are searched for. The embedding model reads about a quarter of them."""


async def memory_context(
    pool: asyncpg.Pool | Replicas,
    engine: EmbeddingEngine,
    trigger_prompt: str,
    butler: str,
    *,
    token_budget: int = DEFAULT_TOKEN_BUDGET,
    limit: int = MAX_LINES,
    quotas: ContextQuotas = DEFAULT_QUOTAS,
    weights: ScoreWeights = DEFAULT_WEIGHTS,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    min_relevance: float = DEFAULT_MIN_RELEVANCE,
    with_note: bool = True,
    with_ids: bool = False,
    with_dates: bool = False,
    as_of: Moment | None = None,
    valid_at: Moment | None = None,
    min_trust: str | None = None,
    quarantine: bool = True,
    with_sources: bool = False,
    told: Callable[[UUID], object] | None = None,
    clock: Clock = utc_now,
) -> str:
    """Return the facts and rules that matter most for a prompt, after the pinned ones; this does not count as a use.

    The same question about the same memories at the same moment gives the same text.

    Args:
        pool: Of knowledge memory.
        engine: Computes the prompt's vector.
        trigger_prompt: The topic of the session; its first 4,000 characters count.
        butler: Whose session: facts and rules of this scope and the global ones.
        token_budget: A token is four characters; 0 holds nothing.
        limit: The most lines, 1 to 1,000.
        quotas: What each section may take.
        weights: Of the four parts of a score; see :mod:`commonplace.knowledge.search.scoring`.
        min_confidence: What has less effective confidence is left out, 0.0 to 1.0.
        min_relevance: Likeness with the prompt that the best memory must have, or none is shown. An empty prompt
            has no floor.
        with_note: Whether to explain the lines; a caller that explains several blocks at once leaves it out.
        with_ids: Whether lines end with a short id that the functions of feedback take, such as ``[f:3k7q2]``, as
            far as the budget allows.
        with_dates: Whether facts have the date of their last confirmation.
        as_of: Show what was known at this moment.
        valid_at: Show the facts that were true at this moment.
        min_trust: Leave out memories that are less trusted than this source.
        quarantine: Leave out memories with flags until a person confirms them.
        with_sources: Whether lines name the source of the memory.
        told: Gets the id of each memory that has a line.
        clock: The present.

    Returns:
        Markdown that begins with ``# Memory Context``, of at most ``token_budget * 4`` characters; that line alone
        where no memory is pinned or passes the floor, and empty where not even that line fits.

    Raises:
        InvalidInputError: A value is not of its kind or range.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-20, KNW-34, R-KNW-8.
    """
    if isinstance(token_budget, bool) or not isinstance(token_budget, int) or token_budget < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
        raise InvalidInputError("token_budget", "a whole number from 0", token_budget)
    if not isinstance(trigger_prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
        raise InvalidInputError("trigger_prompt", "text", trigger_prompt)
    scope = require_scope(butler, field="butler")
    if budget_chars(token_budget) < len(CONTEXT_HEADER):
        return ""
    require_context()
    request = make_request(
        query=trigger_prompt[:MAX_PROMPT_CHARS],
        scope=scope,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        with_flagged=not quarantine,
        now=clock(),
    )
    request = await add_vector(request, engine)
    async with unit_of_work(pool, readonly=True, search=True) as sql:
        found, read = await find_memories(
            sql, request, weights=weights, explain=False, pinned=quotas.pinned.items
        )
        until = await facts_until(sql, [*(each.memory for each in found), *read.pinned], request)
    return render_context(
        _statements(each.memory for each in found),
        pinned=_statements(sorted(read.pinned, key=_by_importance)),
        token_budget=token_budget,
        today=request.now.date(),
        limit=request.limit,
        quotas=quotas,
        with_note=with_note,
        with_ids=with_ids,
        with_dates=with_dates,
        with_sources=with_sources,
        stale={*read.stale, *(each.memory.id for each in found if each.is_stale)},
        until=until,
        told=told,
    )


def _by_importance(memory: Memory) -> tuple[float, float, UUID]:
    importance = DEFAULT_IMPORTANCE if isinstance(memory, Rule) else memory.importance
    return (-importance, *tie_break(memory))


def _statements(memories: Iterable[Memory]) -> list[Fact | Rule]:
    return [memory for memory in memories if not isinstance(memory, Episode)]
