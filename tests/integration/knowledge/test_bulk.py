"""Many episodes at once: batch by batch, in their order, the next one embedded while one is stored."""

import asyncio
from collections.abc import Iterator, Sequence

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, TenantUnsetError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import import_episodes
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.deadlines import DEADLINE_S


def drafts(count: int) -> Iterator[EpisodeDraft]:
    """Make numbered episodes, one at a time."""
    return (EpisodeDraft(content=f"turn {number}", butler="b") for number in range(count))


async def contents(pool: asyncpg.Pool) -> list[str]:
    """Return the texts in the order in which they came."""
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.connection.fetch("SELECT content FROM episodes ORDER BY insertion_order")
    return [row["content"] for row in rows]


@pytest.mark.requirement("KNW-05.1")
@pytest.mark.usefixtures("tenant")
async def test_any_number_is_stored_in_order(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Told batch by batch, with the ids; none for none."""
    told: list[Sequence[object]] = []
    receipt = await import_episodes(
        knowledge_pool, engine, drafts(23), batch_rows=5, on_stored=told.append, clock=clock
    )
    assert (receipt.stored, receipt.batches) == (23, 5)
    assert [len(ids) for ids in told] == [5, 5, 5, 5, 3]
    assert await contents(knowledge_pool) == [f"turn {number}" for number in range(23)]
    nothing = await import_episodes(knowledge_pool, engine, [])
    assert (nothing.stored, nothing.batches) == (0, 0)


@pytest.mark.usefixtures("tenant")
async def test_what_fails_ends_it_after_the_batches_before(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Nothing of the batch that holds it is stored, and the sum of what was told is what is there."""
    told: list[object] = []
    bad = [*drafts(8), EpisodeDraft(content="", butler="b"), *drafts(3)]
    with pytest.raises(InvalidInputError, match="content"):
        await import_episodes(knowledge_pool, engine, bad, batch_rows=3, on_stored=told.extend)
    assert len(await contents(knowledge_pool)) == len(told) == 6
    with pytest.raises(InvalidInputError, match="batch: expected 1 to 5000 rows, got 0"):
        await import_episodes(knowledge_pool, engine, drafts(1), batch_rows=0)


async def test_it_is_somebodys(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Without a tenant nothing is read."""
    with pytest.raises(TenantUnsetError):
        await import_episodes(knowledge_pool, engine, drafts(1))


class _Watched(EmbeddingEngine):
    """Says when its second batch comes."""

    def __init__(self, engine: EmbeddingEngine) -> None:
        super().__init__(engine.options)
        self.calls = 0
        self.second_began = asyncio.Event()

    async def embed_batch_async(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Count, then embed."""
        self.calls += 1
        if self.calls == 2:
            self.second_began.set()
        return await super().embed_batch_async(texts)


@pytest.mark.usefixtures("tenant")
async def test_the_next_batch_is_embedded_while_one_is_stored(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """The first cannot be stored, because somebody holds the table; the second is embedded all the same, no third."""
    watched = _Watched(engine)
    async with knowledge_pool.acquire() as holder:
        async with holder.transaction():
            await holder.execute("LOCK TABLE episodes IN SHARE MODE")
            importing = asyncio.create_task(import_episodes(knowledge_pool, watched, drafts(9), batch_rows=3))
            await asyncio.wait_for(watched.second_began.wait(), DEADLINE_S)
            assert watched.calls == 2
        assert (await importing).stored == 9
    watched.close()
