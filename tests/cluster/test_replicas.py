"""Read replicas: reads go to a replica, show every acknowledged write, and go to the primary when the replica fails."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.store import replicas
from commonplace.knowledge.store.replicas import Replicas, ReplicaState
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.deadlines import DEADLINE_S
from support.replication import Server, all_of, primary_and_replica, promote

pytestmark = pytest.mark.cluster
ROUNDS = 50


@dataclass(slots=True, kw_only=True)
class Pair:
    """Two servers and the settings that name them."""

    primary: Server
    replica: Server
    settings: Settings


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Run a primary and its replica; a read waits for the replica for as long as a busy machine needs."""
    monkeypatch.setattr(replicas, "WAIT_S", DEADLINE_S)
    with primary_and_replica() as (primary, replica):
        settings = Settings(
            home=tmp_path, workspace=tmp_path, postgres_url=primary.url, postgres_read_url=replica.url
        )
        yield Pair(primary=primary, replica=replica, settings=settings)


@pytest.fixture
async def memory(pair: Pair, engine: EmbeddingEngine) -> AsyncIterator[KnowledgeMemory]:
    """Open knowledge memory, with the replica in use."""
    async with KnowledgeMemory.open(pair.settings, engine=engine) as opened:
        assert (await state(opened)).fault == ""
        yield opened


def of(memory: KnowledgeMemory) -> Replicas:
    """Return the replicas of an open memory."""
    assert memory.database.replicas is not None
    return memory.database.replicas


async def state(memory: KnowledgeMemory) -> ReplicaState:
    """Return the state of the one replica."""
    (only,) = await of(memory).states()
    return only


async def execute(server: Server, statement: str) -> None:
    """Run a statement as the superuser."""
    connection = await asyncpg.connect(server.url)
    await connection.execute(statement)
    await connection.close()


async def contents(memory: KnowledgeMemory) -> set[str]:
    """Return the contents of all facts that a list shows."""
    return {each.content for each in await memory.lists.facts(limit=1000)}


async def test_another_process_reads_each_write_from_the_replica(
    pair: Pair, memory: KnowledgeMemory, engine: EmbeddingEngine
) -> None:
    """A reader that knows nothing of the writer finds each write as soon as it was acknowledged."""
    async with KnowledgeMemory.open(pair.settings, engine=engine) as reader:
        await state(reader)
        for number in range(ROUNDS):
            await memory.store_fact(subject="Ann", predicate=f"likes{number}", content=f"tea {number}")
            assert f"tea {number}" in await contents(reader)
        assert [each.memory.content for each in await reader.search("tea 7", limit=1)] == ["tea 7"]
        assert "tea 7" in await reader.context("tea 7", "b")
        assert of(reader).reads_of_primary == 0
        assert (await state(reader)).reads == ROUNDS + 2


async def test_a_recall_reads_from_the_replica_and_counts_on_the_primary(memory: KnowledgeMemory) -> None:
    """The results carry the new counts, and the next read shows them."""
    receipt = await memory.store_fact(subject="Ann", predicate="drinks", content="green tea")
    for count in (1, 2):
        (found,) = await memory.recall("green tea")
        assert found.memory.id == receipt.id
        assert (await memory.lists.facts())[0].reference_count == count
    assert of(memory).reads_of_primary == 0
    assert (await state(memory)).reads == 4


async def test_a_primary_that_is_listed_takes_its_turn(pair: Pair, engine: EmbeddingEngine) -> None:
    """A URL that names all servers spreads reads over all of them; only the replica has a state."""
    every = pair.settings.model_copy(update={"postgres_read_url": all_of(pair.primary, pair.replica)})
    async with KnowledgeMemory.open(every, engine=engine) as memory:
        assert (await state(memory)).fault == ""
        for number in range(ROUNDS):
            await memory.store_fact(subject="Ann", predicate=f"likes{number}", content=f"tea {number}")
            assert f"tea {number}" in await contents(memory)
        assert (await state(memory)).reads == of(memory).reads_of_primary == ROUNDS // 2


async def test_tenants_are_kept_apart_on_the_replica(memory: KnowledgeMemory) -> None:
    """The URL of the replica names a superuser, and a statement without a condition still sees one tenant's rows."""
    for tenant in ("one", "other"):
        acting = memory.acting_for(tenant_id=tenant, actor="tester")
        await acting.store_fact(subject="Ann", predicate="drinks", content=f"tea of {tenant}")
    for tenant in ("one", "other"):
        async with memory.acting_for(tenant_id=tenant, actor="tester").session.acting():
            async with unit_of_work(of(memory), readonly=True) as sql:
                rows = await sql.connection.fetch("SELECT content, pg_is_in_recovery() AS there FROM facts")
            assert [tuple(row) for row in rows] == [(f"tea of {tenant}", True)]
    async with of(memory).acquire() as connection:
        assert await connection.fetchval("SELECT count(*) FROM facts") == 0
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute("DELETE FROM facts")


async def test_a_replica_that_lags_is_left_alone_until_it_catches_up(
    pair: Pair, memory: KnowledgeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the replay stands still, reads show the new write from the primary; then they use the replica again."""
    await execute(pair.replica, "SELECT pg_wal_replay_pause()")
    monkeypatch.setattr(replicas, "WAIT_S", 1.0)
    await memory.store_fact(subject="Ann", predicate="drinks", content="green tea")
    assert await contents(memory) == {"green tea"}
    assert of(memory).reads_of_primary == 1
    lagging = await state(memory)
    assert "has not replayed the log" in lagging.fault
    assert lagging.reads == 0
    assert lagging.lag_bytes is not None
    assert lagging.lag_bytes > 0
    monkeypatch.setattr(replicas, "WAIT_S", DEADLINE_S)
    await execute(pair.replica, "SELECT pg_wal_replay_resume()")
    caught_up = await state(memory)
    assert caught_up.fault == ""
    assert await contents(memory) == {"green tea"}
    assert (await state(memory)).reads == 1


async def test_a_replica_that_dies_or_is_promoted_takes_no_reads(pair: Pair, memory: KnowledgeMemory) -> None:
    """Reads go on at the primary: from a server that became a primary itself, and from a killed server."""
    await promote(pair.replica)
    await memory.store_fact(subject="Ann", predicate="drinks", content="green tea")
    assert await contents(memory) == {"green tea"}
    assert await of(memory).states() == []
    await asyncio.to_thread(pair.replica.kill)
    assert await contents(memory) == {"green tea"}
    assert of(memory).reads_of_primary == 2
    dead = await state(memory)
    assert dead.fault
    assert dead.lag_bytes is None


async def test_a_copy_of_another_server_takes_no_reads(
    pair: Pair, engine: EmbeddingEngine, knowledge_url: str
) -> None:
    """A wrong URL never shows the memories of another installation."""
    wrong = pair.settings.model_copy(update={"postgres_read_url": knowledge_url})
    async with KnowledgeMemory.open(wrong, engine=engine) as memory:
        assert "is not a copy of COMMONPLACE_POSTGRES_URL" in (await state(memory)).fault
        assert await contents(memory) == set()
        assert of(memory).reads_of_primary == 1
