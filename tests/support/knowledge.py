"""Knowledge memory for tests: a database that is migrated once a session and copied for each test."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.request_context import RequestContext, request_context
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.storage.embedded import Membership
from support.apart import run_apart
from support.database_stock import DatabaseStock, ReusableDatabase
from support.postgres import make_template
from support.run_share import GROUP, RunShare

TENANT = "tenant-a"
ACTOR = "tester"

OF_ENTITIES = frozenset(each for each in EventType if each.startswith("entity_")) | {EventType.FACT_LINKED}
OF_CONSOLIDATION = frozenset(each for each in EventType if each.startswith("consolidation_")) | {
    EventType.EPISODE_CONSOLIDATED,
    EventType.EPISODE_DEAD_LETTER,
    EventType.EPISODE_REQUEUED,
    EventType.FACT_RESTORED,
    EventType.FACT_UNCONFIRMED,
    EventType.RULE_UNCONFIRMED,
    EventType.LINK_REMOVED,
}
"""What consolidation and its undo write."""

OF_PEOPLE = frozenset(each for each in EventType if each.startswith(("review_", "scope_"))) | {
    EventType.RULE_RESTORED,
    EventType.MEMORY_ERASED,
    EventType.FACT_SYNCED,
    EventType.RULE_SYNCED,
}
"""What a person's decision, a move between scopes, taking back a withdrawal, an erasure, or another device writes."""


@pytest.fixture(scope="session")
def knowledge_template(embedded_cluster: Membership, run_share: RunShare) -> str:
    """The name of a database with the newest schema of knowledge memory; nobody is connected to it."""
    make = partial(make_template, embedded_cluster, "memory")
    return run_share.once(f"template of knowledge memory {GROUP}", lambda: run_apart(make()))


@pytest.fixture(scope="session")
async def knowledge_databases(
    embedded_cluster: Membership, knowledge_template: str
) -> AsyncIterator[DatabaseStock]:
    """The databases of knowledge memory, for one test after the other."""
    stock = DatabaseStock(embedded_cluster, knowledge_template)
    yield stock
    await stock.close()


@pytest.fixture
async def knowledge_database(knowledge_databases: DatabaseStock) -> AsyncIterator[ReusableDatabase]:
    """A migrated, empty database for one test."""
    async with knowledge_databases.lend() as database:
        yield database


@pytest.fixture
def knowledge_url(knowledge_database: ReusableDatabase) -> str:
    """The URL of a migrated, empty database for one test."""
    return knowledge_database.url


@pytest.fixture
async def knowledge_pool(knowledge_database: ReusableDatabase) -> asyncpg.Pool:
    """A pool on a migrated, empty database."""
    return await knowledge_database.pool()


@pytest.fixture(scope="session")
def engine() -> Iterator[EmbeddingEngine]:
    """An engine whose vectors are near each other where texts share words; needs no model."""
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    yield engine
    engine.close()


@pytest.fixture
async def knowledge(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> KnowledgeMemory:
    """Knowledge memory as its doors use it, on a test's own database, for the tenant of the test."""
    database = KnowledgeDatabase.of(knowledge_pool)
    return KnowledgeMemory(database, engine, tenant_id=TENANT, actor=ACTOR, clock=clock)


@pytest.fixture
def tenant() -> Iterator[RequestContext]:
    """Work for one tenant, for the whole test."""
    with request_context(tenant_id=TENANT, actor=ACTOR) as context:
        yield context
