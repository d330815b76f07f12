"""Facts of one key, stored at once: one stays active, and the others form its chain."""

import asyncio
from itertools import pairwise
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.connection.unit_of_work import unit_of_work
from commonplace.knowledge.facts import FactDraft, store_fact, store_facts
from commonplace.knowledge.lifecycle.any_memory import forget_memory

WRITERS = 50


async def chain(pool: asyncpg.Pool) -> list[UUID]:
    """Return the ids from the active fact back to the first; fails where there is not exactly one chain."""
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.connection.fetch("SELECT id, validity, supersedes_id FROM facts")
        links = await sql.connection.fetch(
            "SELECT source_id, target_id FROM memory_links WHERE relation = 'supersedes'"
        )
    (active,) = [row["id"] for row in rows if row["validity"] == "active"]
    before = {row["id"]: row["supersedes_id"] for row in rows}
    ids: list[UUID] = []
    key = active
    while key is not None:
        ids.append(key)
        key = before[key]
    assert len(ids) == len(rows)
    assert {(row["source_id"], row["target_id"]) for row in links} == set(pairwise(ids))
    return ids


@pytest.mark.requirement("KNW-02.2", "KNW-05.2", "R-KNW-3")
@pytest.mark.parametrize("by_entity", [False, True])
@pytest.mark.usefixtures("tenant")
async def test_fifty_writers_of_one_key_leave_one_active_fact(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, *, by_entity: bool
) -> None:
    """And a chain of forty-nine superseded ones, each linked to the one that it replaced."""
    entity = None
    if by_entity:
        async with unit_of_work(knowledge_pool) as sql:
            entity = await sql.connection.fetchval(
                "INSERT INTO entities (tenant_id, canonical_name, entity_type)"
                " VALUES (current_setting('commonplace.tenant_id'), 'Ann', 'person') RETURNING id"
            )
    stored = await asyncio.gather(
        *(
            store_fact(
                knowledge_pool,
                engine,
                subject=f"Ann {n}" if by_entity else "Ann",
                predicate="works_at",
                content=f"Company {n}",
                entity_id=entity,
            )
            for n in range(WRITERS)
        )
    )
    assert set(await chain(knowledge_pool)) == set(stored)


@pytest.mark.usefixtures("tenant")
async def test_batches_with_keys_in_common_never_wait_for_each_other(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Batches that name the same keys in opposite orders all end, while facts are forgotten in between."""
    drafts = [FactDraft(subject="Ann", predicate=f"p{n}", content="x") for n in range(20)]
    receipts = await store_facts(knowledge_pool, engine, drafts)
    orders = [drafts, drafts[::-1]] * 5
    await asyncio.gather(
        *(store_facts(knowledge_pool, engine, order) for order in orders),
        *(forget_memory(knowledge_pool, "fact", receipt.id) for receipt in receipts),
    )
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        counts = await sql.connection.fetch(
            "SELECT predicate, count(*), count(*) FILTER (WHERE validity = 'active') FROM facts GROUP BY predicate"
        )
    assert {tuple(row)[1:] for row in counts} == {(11, 1)}


async def test_the_same_key_in_two_tenants_is_two_facts(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Neither supersedes the other."""
    for tenant in ("tenant-a", "tenant-b"):
        with request_context(tenant_id=tenant, actor="tester"):
            await store_fact(knowledge_pool, engine, subject="Ann", predicate="works_at", content=tenant)
    for tenant in ("tenant-a", "tenant-b"):
        with request_context(tenant_id=tenant, actor="tester"):
            assert len(await chain(knowledge_pool)) == 1
