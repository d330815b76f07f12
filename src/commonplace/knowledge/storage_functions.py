"""The storage functions that the specification names. Each takes a pool.

They act as the tenant and actor of the request context. The parameters are those of the methods of
:class:`~commonplace.knowledge.memory.KnowledgeMemory` and its parts; ``clock`` gives the present.
Source: KNW-05.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import NotFoundError
from commonplace.embedding import EmbeddingEngine, get_embedding_engine
from commonplace.knowledge.consolidation.attempt import Approve
from commonplace.knowledge.consolidation.butlers import Consolidation, Notify
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.spawner import Spawner
from commonplace.knowledge.consolidation.undo import RunUndo, UndoReport
from commonplace.knowledge.lifecycle.any_memory import SingleMemories
from commonplace.knowledge.lifecycle.feedback import RuleFeedback
from commonplace.knowledge.memories.episodes import (
    BATCH_ROWS,
    EpisodeDraft,
    EpisodeImportReceipt,
    EpisodeReceipt,
    Episodes,
)
from commonplace.knowledge.memories.fact_receipts import FactReceipt
from commonplace.knowledge.memories.facts import Facts
from commonplace.knowledge.memories.links import Direction, Link, LinkReceipt, Links
from commonplace.knowledge.memories.rules import RuleDraft, RuleReceipt, Rules
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE, DEFAULT_LIMIT, DEFAULT_MIN_CONFIDENCE
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Memory, Moment, Rule
from commonplace.knowledge.model.narrowing import Narrowing
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.model.quotas import ContextQuotas
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.rules.context_block import DEFAULT_STYLE, BlockStyle
from commonplace.knowledge.search.context_assembly import ContextBlocks
from commonplace.knowledge.search.recall import Recall
from commonplace.knowledge.search.request import Embedding
from commonplace.knowledge.search.search import Search
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.unit_of_work import require_context
from commonplace.knowledge.upkeep.cleanup import CleanupReceipt, EpisodeCleanup
from commonplace.knowledge.upkeep.decay import DecayReceipt, DecaySweep
from commonplace.knowledge.upkeep.progress import OnUpkeep, silent
from commonplace.knowledge.upkeep.stats import MemoryStats, Statistics


async def store_episode(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    content: str,
    butler: str,
    session_id: UUID | str | None = None,
    importance: float = DEFAULT_IMPORTANCE,
    metadata: Mapping[str, Any] | None = None,
    created_at: Moment | None = None,
    source: str | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store an episode and return its id; see :meth:`KnowledgeMemory.store_episode`. An outage is an error."""
    receipt = await Episodes(_session(pool, clock, engine)).store(
        content=content,
        butler=butler,
        session_id=session_id,
        importance=importance,
        metadata=metadata,
        created_at=created_at,
        source=source,
        allow_secrets=allow_secrets,
        fail_open=False,
    )
    return cast("UUID", receipt.id)  # only an outage that is no error leaves an episode without an id


async def store_episodes(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[EpisodeDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[EpisodeReceipt]:
    """Store episodes; see :meth:`KnowledgeMemory.store_episodes`."""
    return await Episodes(_session(pool, clock, engine)).store_many(drafts, allow_secrets=allow_secrets)


async def import_episodes(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Iterable[EpisodeDraft],
    *,
    batch_rows: int = BATCH_ROWS,
    on_stored: Callable[[Sequence[UUID]], object] | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> EpisodeImportReceipt:
    """Import episodes; see :meth:`KnowledgeMemory.import_episodes`."""
    return await Episodes(_session(pool, clock, engine)).import_all(
        drafts, batch_rows=batch_rows, on_stored=on_stored, allow_secrets=allow_secrets
    )


async def store_fact(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    subject: str,
    predicate: str,
    content: str,
    importance: float = DEFAULT_IMPORTANCE,
    permanence: str = Permanence.STANDARD,
    scope: str = GLOBAL_SCOPE,
    tags: Sequence[str] | None = None,
    entity_id: UUID | str | None = None,
    source_butler: str | None = None,
    source_episode_id: UUID | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    valid_from: Moment | None = None,
    valid_to: Moment | None = None,
    source: str | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store a fact and return its id; see :meth:`KnowledgeMemory.store_fact`. Only facts of its key are replaced."""
    receipt = await Facts(_session(pool, clock, engine)).store(
        subject=subject,
        predicate=predicate,
        content=content,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tags,
        entity_id=entity_id,
        source_butler=source_butler,
        source_episode_id=source_episode_id,
        metadata=metadata,
        valid_from=valid_from,
        valid_to=valid_to,
        source=source,
        allow_secrets=allow_secrets,
        compares=False,
    )
    return receipt.id


async def store_facts(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[FactDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[FactReceipt]:
    """Store facts; see :meth:`KnowledgeMemory.store_facts`."""
    return await Facts(_session(pool, clock, engine)).store_many(drafts, allow_secrets=allow_secrets)


async def store_rule(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    content: str,
    scope: str = GLOBAL_SCOPE,
    tags: Sequence[str] | None = None,
    source_butler: str | None = None,
    source_episode_id: UUID | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    source: str | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store a rule and return its id; see :meth:`KnowledgeMemory.store_rule`.

    Each call inserts a row, as the specification demands; reads show equal texts once.
    """
    receipt = await Rules(_session(pool, clock, engine)).store(
        content=content,
        scope=scope,
        tags=tags,
        source_butler=source_butler,
        source_episode_id=source_episode_id,
        metadata=metadata,
        source=source,
        allow_secrets=allow_secrets,
        repeats=True,
    )
    return receipt.id


async def store_rules(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[RuleDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[RuleReceipt]:
    """Store rules; see :meth:`KnowledgeMemory.store_rules` and :func:`store_rule`."""
    rules = Rules(_session(pool, clock, engine))
    return await rules.store_many(drafts, allow_secrets=allow_secrets, repeats=True)


async def create_link(
    pool: asyncpg.Pool,
    *,
    source_type: str,
    source_id: UUID | str,
    target_type: str,
    target_id: UUID | str,
    relation: str,
    clock: Clock = utc_now,
) -> LinkReceipt:
    """Link two memories; see :meth:`Links.create`."""
    return await Links(_session(pool, clock)).create(
        source_type=source_type,
        source_id=source_id,
        target_type=target_type,
        target_id=target_id,
        relation=relation,
    )


async def get_links(
    pool: asyncpg.Pool,
    memory_type: str,
    memory_id: UUID | str,
    *,
    direction: Direction = "both",
    clock: Clock = utc_now,
) -> list[Link]:
    """Return the links of a memory; see :meth:`Links.list`."""
    return await Links(_session(pool, clock)).list(memory_type, memory_id, direction=direction)


async def get_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> dict[str, Any] | None:
    """Return the fields of a memory after counting this use, of a fact whatever its validity; ``None`` if not found.

    Source: KNW-05.6, R-KNW-9.
    """
    memories = SingleMemories(_session(pool, clock))
    try:
        return asdict(await memories.count_use(memory_type, memory_id, retracted=True))
    except NotFoundError:
        return None


async def confirm_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Restart the decay of a fact or rule; see :meth:`KnowledgeMemory.confirm`."""
    return await SingleMemories(_session(pool, clock)).confirm(memory_type, memory_id)


async def forget_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Remove a memory from every search; see :meth:`KnowledgeMemory.forget`."""
    return await SingleMemories(_session(pool, clock)).forget(memory_type, memory_id)


async def mark_helpful(
    pool: asyncpg.Pool,
    rule_id: UUID | str,
    *,
    context: Mapping[str, Any] | None = None,
    clock: Clock = utc_now,
) -> Rule:
    """Count a helpful application of a rule; see :meth:`KnowledgeMemory.mark_helpful`."""
    return await RuleFeedback(_session(pool, clock)).mark_helpful(rule_id, context=context)


async def mark_harmful(
    pool: asyncpg.Pool,
    rule_id: UUID | str,
    *,
    reason: str | None = None,
    context: Mapping[str, Any] | None = None,
    clock: Clock = utc_now,
) -> Rule:
    """Count a harmful application of a rule as :meth:`KnowledgeMemory.mark_harmful` does, without the inversion."""
    return await RuleFeedback(_session(pool, clock)).count_harmful(rule_id, reason=reason, context=context)


async def invert_to_anti_pattern(
    pool: asyncpg.Pool, engine: EmbeddingEngine, rule_id: UUID | str, *, clock: Clock = utc_now
) -> Rule:
    """Rewrite a harmful rule as a warning; see :meth:`KnowledgeUpkeep.invert_rule`."""
    return await RuleFeedback(_session(pool, clock, engine)).invert(rule_id)


async def semantic_search(
    pool: asyncpg.Pool,
    query_embedding: Embedding,
    table: str,
    *,
    limit: int | None = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[SearchResult]:
    """Find memories of a table by the cosine of their vectors; see :meth:`Search.semantic`."""
    return await Search(_session(pool, clock)).semantic(query_embedding, table, limit=limit, scope=scope)


async def keyword_search(
    pool: asyncpg.Pool,
    query: str,
    table: str,
    *,
    limit: int | None = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[SearchResult]:
    """Find memories of a table that contain any word of the query; see :meth:`Search.keyword`."""
    return await Search(_session(pool, clock)).keyword(query, table, limit=limit, scope=scope)


async def hybrid_search(
    pool: asyncpg.Pool,
    query: str,
    query_embedding: Embedding,
    table: str,
    *,
    limit: int | None = DEFAULT_LIMIT,
    scope: str | None = None,
    clock: Clock = utc_now,
) -> list[SearchResult]:
    """Find memories of a table by meaning and by words; see :meth:`Search.hybrid`."""
    return await Search(_session(pool, clock)).hybrid(query, query_embedding, table, limit=limit, scope=scope)


async def memory_search(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    query: str,
    *,
    types: Sequence[str] | None = None,
    scope: str | None = None,
    mode: str | None = None,
    limit: int | None = DEFAULT_LIMIT,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    min_relevance: float = 0.0,
    explain: bool = False,
    clock: Clock = utc_now,
) -> list[SearchResult]:
    """Search memories; see :meth:`KnowledgeMemory.search`."""
    return await Search(_session(pool, clock, engine)).search(
        query,
        types=types,
        narrowing=Narrowing(scope=scope),
        mode=mode,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
    )


async def recall(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    topic: str,
    *,
    scope: str | None = None,
    limit: int | None = DEFAULT_LIMIT,
    weights: ScoreWeights | None = None,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    min_relevance: float | None = None,
    explain: bool = False,
    count: bool = True,
    clock: Clock = utc_now,
) -> list[SearchResult]:
    """Recall memories about a topic; see :meth:`KnowledgeMemory.recall`."""
    return await Recall(_session(pool, clock, engine)).recall(
        topic,
        narrowing=Narrowing(scope=scope),
        limit=limit,
        weights=weights,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
        count=count,
    )


async def memory_context(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    trigger_prompt: str,
    butler: str,
    *,
    token_budget: int | None = None,
    quotas: ContextQuotas | None = None,
    min_relevance: float | None = None,
    style: BlockStyle = DEFAULT_STYLE,
    clock: Clock = utc_now,
) -> str:
    """Return the block for a prompt; see :meth:`KnowledgeMemory.context`."""
    return await ContextBlocks(_session(pool, clock, engine)).write(
        trigger_prompt,
        butler,
        budget_tokens=token_budget,
        quotas=quotas,
        min_relevance=min_relevance,
        style=style,
        fail_open=False,
    )


async def run_decay_sweep(
    pool: asyncpg.Pool, *, on_progress: OnUpkeep = silent, clock: Clock = utc_now
) -> DecayReceipt:
    """Expire faded facts and forget faded rules; see :meth:`KnowledgeUpkeep.sweep`."""
    return await DecaySweep(_session(pool, clock)).run(on_progress=on_progress)


async def run_episode_cleanup(
    pool: asyncpg.Pool,
    *,
    max_entries: int | None = None,
    on_progress: OnUpkeep = silent,
    clock: Clock = utc_now,
) -> CleanupReceipt:
    """Delete expired episodes; see :meth:`KnowledgeUpkeep.cleanup`."""
    return await EpisodeCleanup(_session(pool, clock)).run(max_entries=max_entries, on_progress=on_progress)


async def memory_stats(
    pool: asyncpg.Pool, *, scope: str | None = None, clock: Clock = utc_now
) -> MemoryStats:
    """Count memories by state; see :meth:`KnowledgeMemory.stats`."""
    return await Statistics(_session(pool, clock)).count(scope=scope)


async def run_consolidation(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    cc_spawner: Spawner | None = None,
    *,
    butler: str | None = None,
    worker: str | None = None,
    policy: Policy | None = None,
    approve: Approve | None = None,
    notify: Notify | None = None,
    clock: Clock = utc_now,
) -> ConsolidationReport:
    """Consolidate episodes; see :meth:`ConsolidationRuns.consolidate`."""
    return await Consolidation(_session(pool, clock, engine)).run(
        cc_spawner, butler=butler, worker=worker, policy=policy, approve=approve, notify=notify
    )


async def undo_run(
    pool: asyncpg.Pool, run_id: UUID | str, *, requeue: bool = False, clock: Clock = utc_now
) -> UndoReport:
    """Undo a run; see :meth:`ConsolidationRuns.undo`."""
    return await RunUndo(_session(pool, clock)).run(run_id, requeue=requeue)


def _session(pool: asyncpg.Pool, clock: Clock, engine: EmbeddingEngine | None = None) -> KnowledgeSession:
    """Return a session on a pool for the tenant, actor and source of the request context."""
    context = require_context()
    return KnowledgeSession(
        KnowledgeDatabase.of(pool),
        engine or get_embedding_engine(),
        tenant_id=context.tenant_id,
        actor=context.actor,
        source=context.source,
        clock=clock,
    )
