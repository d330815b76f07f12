"""Methods of knowledge memory on a test's own pool, as the tenant and actor of the test."""

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.database import KnowledgeDatabase
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.unit_of_work import require_context

_ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))


class OpenDatabase(KnowledgeDatabase):
    """A database whose pool the test has opened, and closes."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        super().__init__(Settings())
        self._pool = pool

    async def pool(self) -> asyncpg.Pool:
        """Return the pool of the test."""
        return self._pool


def memory_on(pool: asyncpg.Pool, *, clock: Clock = utc_now) -> KnowledgeMemory:
    """Return the knowledge memory of the current tenant and actor."""
    context = require_context()
    return KnowledgeMemory(
        OpenDatabase(pool), _ENGINE, tenant_id=context.tenant_id, actor=context.actor, clock=clock
    )


def _method(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(
        pool: asyncpg.Pool, *arguments: object, clock: Clock = utc_now, **options: object
    ) -> object:
        return await getattr(memory_on(pool, clock=clock), name)(*arguments, **options)

    return call


entity_create = _method("entity_create")
entity_get = _method("entity_get")
entity_merge = _method("entity_merge")
entity_resolve = _method("entity_resolve")
entity_unmerge = _method("entity_unmerge")
entity_update = _method("entity_update")
fact_chain = _method("fact_chain")
get_event = _method("get_event")
knowledge_graph = _method("knowledge_graph")
list_applications = _method("list_applications")
list_entities = _method("list_entities")
list_episodes = _method("list_episodes")
list_events = _method("list_events")
list_facts = _method("list_facts")
list_linked = _method("list_linked")
list_rules = _method("list_rules")
names_of = _method("names_of")
preview_merge = _method("preview_merge")
read_memory = _method("read_memory")
