"""Knowledge memory on a test's own pool, as the tenant and actor of the test."""

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.embedding import EmbeddingEngine, get_embedding_engine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.unit_of_work import require_context


def memory_on(
    pool: asyncpg.Pool, *, engine: EmbeddingEngine | None = None, clock: Clock = utc_now
) -> KnowledgeMemory:
    """Return knowledge memory on a pool, acting as the request context says."""
    context = require_context()
    return KnowledgeMemory(
        KnowledgeDatabase.of(pool),
        engine or get_embedding_engine(),
        tenant_id=context.tenant_id,
        actor=context.actor,
        source=context.source,
        clock=clock,
    )
