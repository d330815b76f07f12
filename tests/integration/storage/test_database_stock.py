"""The databases of tests: used again if they can be made as they were, else dropped."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.storage.embedded import Membership
from support.database_stock import DatabaseStock
from support.on_pool import memory_on


@pytest.fixture
async def stock(embedded_cluster: Membership, knowledge_template: str) -> AsyncIterator[DatabaseStock]:
    """Databases that no test has used: those of other tests may be about to reach the limit of uses."""
    stock = DatabaseStock(embedded_cluster, knowledge_template)
    yield stock
    await stock.close()


async def test_a_database_is_used_again_without_its_rows(
    stock: DatabaseStock, engine: EmbeddingEngine
) -> None:
    """The next test finds no row of any table, and the same connections."""
    with request_context(tenant_id="tenant-a", actor="tester"):
        async with stock.lend() as first:
            pool = await first.pool()
            await memory_on(pool, engine=engine).store_fact(
                subject="Ann", predicate="works_at", content="Acme"
            )
            assert len(await memory_on(pool).lists.facts()) == 1
        async with stock.lend() as second:
            assert (second, await second.pool()) == (first, pool)
            assert await memory_on(pool).lists.facts() == []
            assert await memory_on(pool).events.list() == []


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE facts ADD COLUMN note text",
        "ALTER TABLE facts DISABLE ROW LEVEL SECURITY",
        "DROP INDEX idx_facts_embedding",
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "UPDATE alembic_version SET version_num = 'mem_999'",
        "ANALYZE facts",
    ],
)
async def test_a_database_with_another_schema_is_dropped(stock: DatabaseStock, change: str) -> None:
    """So is one with other statistics, which would change the plans of later tests."""
    async with stock.lend() as first:
        await (await first.pool()).execute(change)
    async with stock.lend() as second:
        assert second is not first
        with pytest.raises(asyncpg.InvalidCatalogNameError):
            await asyncpg.connect(first.url)


async def test_a_database_that_is_in_use_is_dropped(stock: DatabaseStock) -> None:
    """Whoever is connected could write into the next test."""
    async with stock.lend() as first:
        connection = await asyncpg.connect(first.url)
    async with stock.lend() as second:
        assert second is not first
    assert connection.is_closed()


async def test_a_database_that_was_used_often_is_dropped(
    stock: DatabaseStock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its indexes have grown."""
    monkeypatch.setattr("support.database_stock.USES", 2)
    async with stock.lend() as first:
        pass
    async with stock.lend() as second:
        assert second is first
    async with stock.lend() as third:
        assert third is not first
