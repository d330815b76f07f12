"""Passages of long memories: found by their meaning, and gone with their text."""

from collections.abc import Iterator
from uuid import UUID

import asyncpg
import pytest
from pgvector import Vector
from pgvector.asyncpg import register_vector

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.narrowing import Narrowing
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from support.on_pool import memory_on
from support.passages import NEEDLE, QUESTION, ShortSightedEngine, long_text

pytestmark = pytest.mark.usefixtures("tenant")

KINDS = ("episode", "fact", "rule")
MODES = ("semantic", "hybrid", "contextual")
OTHER_PASSAGES = """
INSERT INTO fact_passages (tenant_id, memory_id, place, start_char, end_char, embedding)
SELECT tenant_id, memory_id, 100 + number, 0, 1, CAST(
  '[' || array_to_string(ARRAY(SELECT random() - 0.5 + 0 * number FROM generate_series(1, 384)), ',') || ']'
  AS halfvec(384)
)
FROM (SELECT tenant_id, memory_id FROM fact_passages WHERE place = 0 AND memory_id <> $1) AS other,
  generate_series(1, 400) AS number
"""


@pytest.fixture
def reader() -> Iterator[EmbeddingEngine]:
    """An engine that reads 900 characters."""
    engine = ShortSightedEngine()
    yield engine
    engine.close()


@pytest.fixture
async def memory(
    knowledge_pool: asyncpg.Pool, reader: EmbeddingEngine, clock: ManualClock
) -> KnowledgeMemory:
    """Knowledge memory with that engine."""
    return memory_on(knowledge_pool, engine=reader, clock=clock)


async def store(memory: KnowledgeMemory, kind: str, content: str, *, name: str = "book") -> UUID:
    """Store a memory of a kind."""
    if kind == "episode":
        receipt = await memory.store_episode(content=content, butler="general")
        assert receipt.id is not None
        return receipt.id
    if kind == "fact":
        return (await memory.store_fact(subject=name, predicate="holds", content=content)).id
    return (await memory.store_rule(content=content)).id


async def fill(memory: KnowledgeMemory, kind: str) -> UUID:
    """Store a memory with the needle at its end among ten others, long and short; return its id."""
    for number in range(5):
        await store(
            memory, kind, long_text("Nothing else.", about=f"register {number}"), name=f"long {number}"
        )
        await store(memory, kind, f"The porter of house {number} likes tea", name=f"short {number}")
    return await store(memory, kind, long_text())


async def count(pool: asyncpg.Pool, kind: str, *, tenant: str = "tenant-a") -> int:
    """Return the number of passages of a kind."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant)
        number: int = await connection.fetchval(f"SELECT count(*) FROM {kind}_passages")  # noqa: S608 - of this module
        return number


@pytest.mark.requirement("SHW-08.1")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_stands_at_the_end_is_found_by_its_meaning(memory: KnowledgeMemory, kind: str) -> None:
    """In every mode that looks at meanings; the question shares no word with the sentence."""
    needle_id = await fill(memory, kind)
    for mode in MODES:
        results = await memory.search(QUESTION, types=[kind], mode=mode, limit=3)
        assert results[0].memory.id == needle_id, mode
    (nearest, *_) = await memory.search(QUESTION, types=[kind], mode="semantic", limit=3)
    assert nearest.scores.similarity is not None
    assert nearest.scores.similarity > 0.1


@pytest.mark.requirement("SHW-08.1")
async def test_without_its_passages_it_is_not_found(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """So it is the passages that find it."""
    needle_id = await fill(memory, "fact")
    await delete_passages(knowledge_pool, "fact")
    (nearest, *_) = await memory.search(QUESTION, types=["fact"], mode="semantic", limit=3)
    assert nearest.memory.id != needle_id


async def delete_passages(pool: asyncpg.Pool, kind: str) -> None:
    """Delete the passages of a kind, as if an older release had stored the memories."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'tenant-a', true)")
        await connection.execute(f"DELETE FROM {kind}_passages")  # noqa: S608 - of this module


@pytest.mark.requirement("SHW-08.1")
async def test_many_passages_are_found_by_the_index(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """2,000 are enough for the graph; the filter of the search is that of the memories."""
    needle_id = await fill(memory, "fact")
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'tenant-a', true)")
        await connection.execute(OTHER_PASSAGES, needle_id)
    assert await count(knowledge_pool, "fact") > 2_000
    for mode in MODES:
        results = await memory.search(QUESTION, types=["fact"], mode=mode, limit=3)
        assert results[0].memory.id == needle_id, mode
    await memory.forget("fact", needle_id)
    assert needle_id not in {
        each.memory.id for each in await memory.search(QUESTION, mode="semantic", limit=20)
    }


@pytest.mark.requirement("SHW-08.1")
async def test_recall_and_the_block_show_the_passage(memory: KnowledgeMemory) -> None:
    """Of the fact that no word of the prompt finds, and that is too long for its line."""
    needle_id = await fill(memory, "fact")
    results = await memory.recall(QUESTION, limit=3, min_relevance=0.0)
    assert results[0].memory.id == needle_id
    block = await memory.context(QUESTION, "general", min_relevance=0.0)
    assert NEEDLE in block
    assert len(long_text()) > len(block) // 2


@pytest.mark.requirement("SHW-08.1")
@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_an_edited_memory_is_found_by_its_new_text(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool, kind: str
) -> None:
    """And no longer by the old one."""
    needle_id = await fill(memory, kind)
    before = await count(knowledge_pool, kind)
    new = await memory.edit(kind, needle_id, long_text("The harbour froze over.", about="almanac"))
    results = await memory.search("harbour froze over", types=[kind], mode="semantic", limit=1)
    assert results[0].memory.id == new.id
    assert not {needle_id, new.id} & {
        each.memory.id for each in await memory.search(QUESTION, types=[kind], mode="semantic", limit=3)
    }
    assert await count(knowledge_pool, kind) > before
    short = await memory.edit(kind, new.id, "Ink is kept in the cellar")
    assert (await memory.search("ink in the cellar", types=[kind], mode="semantic", limit=1))[
        0
    ].memory == short


@pytest.mark.requirement("SHW-08.1")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_forgotten_memory_is_not_found(memory: KnowledgeMemory, kind: str) -> None:
    """By none of its passages."""
    needle_id = await fill(memory, kind)
    await memory.forget(kind, needle_id)
    for mode in MODES:
        results = await memory.search(QUESTION, types=[kind], mode=mode, limit=20)
        assert needle_id not in {each.memory.id for each in results}


@pytest.mark.requirement("SHW-08.1")
async def test_passages_go_with_their_episode(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool, clock: ManualClock
) -> None:
    """The cleanup that deletes it leaves none."""
    await fill(memory, "episode")
    assert await count(knowledge_pool, "episode") > 0
    clock.advance(days=8)
    await memory.upkeep.cleanup()
    assert await count(knowledge_pool, "episode") == 0


@pytest.mark.requirement("SHW-08.1")
async def test_an_inverted_rule_has_the_passages_of_its_warning(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """Not those of the text that did harm."""
    rule = await store(memory, "rule", long_text())
    before = await count(knowledge_pool, "rule")
    for _ in range(3):
        await memory.mark_harmful(rule)
    assert before <= await count(knowledge_pool, "rule") <= before + 1
    results = await memory.search(QUESTION, types=["rule"], mode="semantic", limit=1)
    assert NEEDLE in results[0].memory.content
    assert results[0].memory.content.startswith("ANTI-PATTERN")


@pytest.mark.requirement("SHW-08.1")
async def test_the_past_and_filters_are_those_of_the_memory(
    knowledge_pool: asyncpg.Pool, reader: EmbeddingEngine
) -> None:
    """A superseded fact is found as of its time; a tag and a scope leave others out."""
    memory = memory_on(knowledge_pool, engine=reader)
    needle_id = await fill(memory, "fact")
    before = await knowledge_pool.fetchval("SELECT clock_timestamp()")
    await memory.edit("fact", needle_id, "The book is blank")

    async def ids(**narrowing: object) -> set[UUID]:
        results = await memory.search(
            QUESTION,
            types=["fact"],
            mode="semantic",
            limit=1,
            narrowing=Narrowing(**narrowing),  # pyright: ignore[reportArgumentType]
        )
        return {each.memory.id for each in results}

    assert await ids(as_of=before) == {needle_id}
    assert needle_id not in await ids()
    diary_id = (
        await memory.store_fact(
            subject="diary", predicate="holds", content=long_text(about="diary"), scope="home", tags=["cat"]
        )
    ).id
    assert await ids(tags=("cat",)) == {diary_id}
    assert await ids(scope="home") == {diary_id}
    assert diary_id not in await ids(scope="work")


@pytest.mark.requirement("SHW-08.1")
async def test_tenants_see_only_their_own_passages(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """By policy, and in a search."""
    await fill(memory, "episode")
    other = memory.acting_for(tenant_id="tenant-b", actor="tester")
    await store(other, "episode", "A short note of the other tenant")
    assert await count(knowledge_pool, "episode", tenant="tenant-b") == 0
    results = await other.search(QUESTION, mode="semantic")
    assert [each.memory.content for each in results] == ["A short note of the other tenant"]


@pytest.mark.requirement("SHW-08.1")
async def test_older_memories_get_their_passages(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """Upkeep and the command that moves memories make what is missing, once; short memories need none."""
    needle_ids = {kind: await fill(memory, kind) for kind in KINDS}
    counts = [await count(knowledge_pool, kind) for kind in KINDS]
    for kind in KINDS:
        await delete_passages(knowledge_pool, kind)
    assert await memory.upkeep.make_passages() == 18
    assert [await count(knowledge_pool, kind) for kind in KINDS] == counts
    assert await memory.upkeep.make_passages() == 0
    for kind, each in needle_ids.items():
        results = await memory.search(QUESTION, types=[kind], mode="semantic", limit=1)
        assert results[0].memory.id == each
    await delete_passages(knowledge_pool, "rule")
    receipt = await memory.reembedding.run(memory.engine)
    assert (receipt.moved, receipt.with_passages) == (False, 6)


@pytest.mark.requirement("SHW-08.1")
async def test_another_model_makes_the_passages_again(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool, clock: ManualClock
) -> None:
    """A move leaves no passage of the former model, and a process of that model makes none."""
    for kind in KINDS:
        await fill(memory, kind)
    counts = [await count(knowledge_pool, kind) for kind in KINDS]
    newer = ShortSightedEngine(2)
    receipt = await memory.reembedding.run(newer)
    assert (receipt.moved, receipt.with_passages) == (True, 18)
    assert [await count(knowledge_pool, kind) for kind in KINDS] == counts
    newer_memory = memory_on(knowledge_pool, engine=newer, clock=clock)
    for kind in KINDS:
        (result,) = await newer_memory.search(QUESTION, types=[kind], mode="semantic", limit=1)
        assert NEEDLE in result.memory.content
        await delete_passages(knowledge_pool, kind)
    assert await memory.upkeep.make_passages() == 0
    assert await newer_memory.upkeep.make_passages() == 18


@pytest.mark.requirement("SHW-08.1")
async def test_short_memories_store_no_passages(
    memory: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """Of a batch, the long one has passages, in its place."""
    texts = ["a short one", long_text(), "another short one"]
    receipts = await memory.store_episodes([EpisodeDraft(content=text, butler="b") for text in texts])
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'tenant-a', true)")
        rows = await connection.fetch(
            "SELECT memory_id, place, start_char, end_char FROM episode_passages ORDER BY place"
        )
    assert {row["memory_id"] for row in rows} == {receipts[1].id}
    assert [row["place"] for row in rows] == list(range(len(rows)))
    assert any(NEEDLE in texts[1][row["start_char"] : row["end_char"]] for row in rows)


@pytest.mark.requirement("SHW-08.1")
async def test_a_database_of_the_release_before_gets_passages(
    postgres_url: str, reader: EmbeddingEngine
) -> None:
    """The migration keeps its memories, and upkeep makes what they lack."""
    await migrate_postgres(postgres_url, "memory", target="mem_025")
    connection = await asyncpg.connect(postgres_url)
    await register_vector(connection)
    async with connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'tenant-a', true)")
        await connection.execute(
            "INSERT INTO embedding_versions (model, version, dimensions) VALUES ('fake', $1, 384)",
            reader.model_version,
        )
        await connection.execute(
            "INSERT INTO rules (tenant_id, content, embedding, embedding_model, embedding_version) "
            "VALUES ('tenant-a', $1, $2, 'fake', $3)",
            long_text(),
            Vector(reader.embed(long_text())),
            reader.model_version,
        )
    await connection.close()
    await migrate_postgres(postgres_url, "memory")
    async with await open_pool(postgres_url) as pool:
        memory = memory_on(pool, engine=reader)
        await store(memory, "rule", "The porter likes tea")
        assert await memory.upkeep.make_passages() == 1
        (result,) = await memory.search(
            QUESTION, types=["rule"], mode="semantic", limit=1, min_confidence=0.0
        )
        assert NEEDLE in result.memory.content
