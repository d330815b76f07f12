"""The block of memories for the prompt of a session (KNW-20, KNW-34)."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.bounds import BudgetTokens, require_within
from commonplace.core.budgets import budget_chars
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import is_blank
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.config import RetrievalConfig
from commonplace.knowledge.model.inputs import require_scope
from commonplace.knowledge.model.kinds import Episode, Fact, Memory, Rule
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.quotas import ContextQuotas
from commonplace.knowledge.rules.context_block import (
    CONTEXT_HEADER,
    DEFAULT_STYLE,
    FILLING_QUOTAS,
    MORE_LINES,
    BlockStyle,
    render_context,
)
from commonplace.knowledge.rules.scoring import tie_break
from commonplace.knowledge.search.future_facts import facts_until
from commonplace.knowledge.search.recall import find_memories
from commonplace.knowledge.search.request import SearchRequest, add_vector, make_request
from commonplace.knowledge.search.reranking import reranker_for
from commonplace.knowledge.store.outage import OUTAGES
from commonplace.knowledge.store.replicas import Replicas
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.unit_of_work import unit_of_work

MAX_PROMPT_CHARS: Final = 4_000
"""Characters at the beginning of a prompt that are searched for. The embedding model reads about a quarter of them."""

_log = logging.getLogger(__name__)


class ContextBlocks:
    """The block for a prompt."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def write(
        self,
        prompt: str,
        butler: str,
        *,
        narrowing: Narrowing = EVERYTHING,
        budget_tokens: int | None = None,
        quotas: ContextQuotas | None = None,
        min_relevance: float | None = None,
        style: BlockStyle = DEFAULT_STYLE,
        hides: Callable[[Memory], bool] | None = None,
        told: Callable[[UUID], object] | None = None,
        fail_open: bool = True,
    ) -> str:
        """Return the block for a prompt: pinned memories, then the facts and rules that matter most."""
        retrieval = self._session.config.retrieval
        budget = require_within(
            BudgetTokens,
            retrieval.context_token_budget if budget_tokens is None else budget_tokens,
            field="budget_tokens",
        )
        if not isinstance(prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
            raise InvalidInputError("prompt", "text", prompt)
        if narrowing.scope is not None:
            raise InvalidInputError("scope", "no scope, because the butler is the scope", narrowing.scope)
        narrowing = replace(narrowing, scope=require_scope(butler, field="butler"))
        if budget_chars(budget) < len(CONTEXT_HEADER):
            return ""
        request = make_request(
            query=prompt[:MAX_PROMPT_CHARS],
            limit=retrieval.default_limit,
            min_confidence=retrieval.min_confidence,
            min_relevance=retrieval.min_relevance if min_relevance is None else min_relevance,
            with_flagged=not retrieval.quarantine,
            narrowing=narrowing,
            now=self._session.clock(),
        )
        fills = style.filled and not is_blank(prompt)
        shares = quotas or _quotas(retrieval, fills=fills)
        more = MORE_LINES if fills else 0
        render = partial(
            render_context,
            budget_tokens=budget,
            topic=request.query,
            limit=request.limit + more,
            quotas=shares,
            style=replace(style, sources=style.sources or retrieval.show_sources),
            told=told,
        )
        try:
            async with traced(self._session, "search_memory", prompt) as note:
                return note(
                    await self._session.unless_out_of_reach(
                        lambda pool: self._block(
                            pool,
                            request,
                            render,
                            pinned=shares.pinned.items,
                            more=more,
                            style=style,
                            hides=hides,
                        )
                    )
                )
        except OUTAGES as error:
            if not fail_open:
                raise
            _log.error("no memory for a session of butler %r: %s", butler, error)
            return ""

    async def _block(
        self,
        pool: asyncpg.Pool | Replicas,
        request: SearchRequest,
        render: Callable[..., str],
        *,
        pinned: int,
        more: int,
        style: BlockStyle,
        hides: Callable[[Memory], bool] | None,
    ) -> str:
        """Recall the memories of a request and at most ``pinned`` pinned facts and rules each, and render them.

        Lines with ids mark memories that contradict each other and wait for a person.
        """
        request = await add_vector(request, self._session.engine)
        weights = self._session.config.retrieval.score_weights
        if not style.by_use:
            weights = weights.without_recency()
        async with unit_of_work(pool, readonly=True, search=True) as sql:
            results, recalled_memories = await find_memories(
                sql,
                request,
                weights=weights,
                explain=False,
                pinned=pinned,
                more=more,
                reader=reranker_for(self._session),
                helpful_only=True,
            )
            memories = [*(each.memory for each in results), *recalled_memories.pinned]
            until = await facts_until(sql, memories, request)
            opposed = await _opposed(sql, memories) if style.ids else {}
        pinned_memories = recalled_memories.pinned
        if hides is not None:
            hidden = await asyncio.to_thread(lambda: {each.id for each in memories if hides(each)})
            results = [each for each in results if each.memory.id not in hidden]
            pinned_memories = [each for each in recalled_memories.pinned if each.id not in hidden]
        return render(
            _statements(each.memory for each in results),
            pinned=_statements(sorted(pinned_memories, key=_by_importance)),
            today=request.now.date(),
            stale={*recalled_memories.stale, *(each.memory.id for each in results if each.is_stale)},
            until=until,
            folded={each.memory.id: each.stands_for for each in results if each.stands_for},
            opposed=opposed,
            passages=recalled_memories.passages,
        )


async def _opposed(sql: KnowledgeStatements, memories: Iterable[Memory]) -> dict[UUID, UUID]:
    """Return the memories that contradict another one of them and wait for a person, each with the other."""
    ids = list({each.id for each in memories})
    if len(ids) < 2:  # noqa: PLR2004 - a pair
        return {}
    opposed: dict[UUID, UUID] = {}
    for pair in await sql.opposed_among(ids=ids):
        opposed |= {pair["older_id"]: pair["newer_id"], pair["newer_id"]: pair["older_id"]}
    return opposed


def _quotas(retrieval: RetrievalConfig, *, fills: bool) -> ContextQuotas:
    """Return the configured quotas, or those of a filled block if none are configured."""
    is_set = "section_quotas" in retrieval.model_fields_set
    return FILLING_QUOTAS if fills and not is_set else retrieval.section_quotas


def _by_importance(memory: Memory) -> tuple[float, float, UUID]:
    importance = DEFAULT_IMPORTANCE if isinstance(memory, Rule) else memory.importance
    return (-importance, *tie_break(memory))


def _statements(memories: Iterable[Memory]) -> list[Fact | Rule]:
    return [memory for memory in memories if not isinstance(memory, Episode)]
