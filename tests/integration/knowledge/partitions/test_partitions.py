"""Large tenants get tables of their own, while memories are stored and searched."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, StorageUnavailableError
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.partitions import exchanging, layout
from commonplace.knowledge.partitions.layout import TABLES, names_of, shared_name
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    forget_memory,
    memory_search,
    recall,
    store_episodes,
    store_fact,
    store_rule,
)
from commonplace.storage.postgres import open_pool
from support.commands import CommandLine
from support.on_pool import memory_on
from support.passages import QUESTION, ShortSightedEngine, long_text
from support.reembedding import TurnedEngine

LARGE, SMALL = "tenant-large", "tenant-small"
EPISODES = 12

ROWS_SQL = """
SELECT CAST(CAST(tableoid AS regclass) AS text) AS place, id, content FROM episodes
UNION ALL SELECT CAST(CAST(tableoid AS regclass) AS text), id, content FROM facts
UNION ALL SELECT CAST(CAST(tableoid AS regclass) AS text), id, content FROM rules
"""
UNPROTECTED_SQL = """
SELECT relname FROM pg_class
WHERE relname ~ '^(episodes|facts|rules)(_|$)' AND relkind IN ('r', 'p')
    AND NOT (relrowsecurity AND relforcerowsecurity AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid))
"""
KEYS_SQL = """
SELECT CAST(CAST(conrelid AS regclass) AS text), conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 ORDER BY 1, 2
"""
WORDS_SQL = (
    "SELECT word, memory_id FROM fact_words UNION ALL SELECT word, memory_id FROM episode_words ORDER BY 1, 2"
)


@pytest.fixture
async def pool(knowledge_url: str, engine: EmbeddingEngine) -> AsyncIterator[asyncpg.Pool]:
    """A database with episodes, facts and a rule of each of two tenants; its tables are not prepared."""
    async with await open_pool(knowledge_url) as pool:
        for tenant in (LARGE, SMALL):
            with request_context(tenant_id=tenant, actor="tester"):
                await fill(pool, engine, tenant)
        yield pool


@pytest.fixture
async def prepared(pool: asyncpg.Pool) -> asyncpg.Pool:
    """The same, prepared."""
    with request_context(actor="tester"):
        await memory_on(pool).partitions.prepare()
    return pool


async def fill(pool: asyncpg.Pool, engine: EmbeddingEngine, about: str) -> None:
    """Store memories of the current tenant."""
    drafts = [EpisodeDraft(content=f"{about} saw bird {number}", butler="b") for number in range(EPISODES)]
    await store_episodes(pool, engine, drafts)
    await store_fact(pool, engine, subject="owl", predicate="eats", content=f"mice at night, {about} says")
    await store_fact(pool, engine, subject="tern", predicate="flies_to", content="the far south")
    await store_rule(pool, engine, content="Keep quiet near a nest")


async def seen(pool: asyncpg.Pool, tenant: str, query: str = ROWS_SQL) -> list[Any]:
    """Return the rows of a tenant that its role sees."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant)
        return await connection.fetch(query)


async def places(pool: asyncpg.Pool, tenant: str) -> set[str]:
    """Return the tables that hold a tenant's memories."""
    return {row["place"] for row in await seen(pool, tenant)}


async def answers(pool: asyncpg.Pool, engine: EmbeddingEngine, tenant: str) -> list[list[UUID]]:
    """Return what some searches of a tenant find."""
    with request_context(tenant_id=tenant, actor="tester"):
        return [
            [found.memory.id for found in await memory_search(pool, engine, text, limit=5, mode=mode)]
            for text in ("what does the owl eat", "saw bird 3", "near a nest")
            for mode in ("hybrid", "semantic", "keyword", "contextual")
        ]


def own_names() -> set[str]:
    """Return the names of the large tenant's partitions."""
    return {names_of(table, LARGE)["leaf"] for table in TABLES}


async def test_preparing_keeps_memories_and_searches(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Every row, key, policy and answer is as it was; new memories are numbered on; a second call changes nothing."""
    before = [await answers(pool, engine, tenant) for tenant in (LARGE, SMALL)]
    keys = await pool.fetch(KEYS_SQL)
    with request_context(tenant_id=SMALL, actor="tester"):
        (shared,) = await memory_on(pool).partitions.prepare()
        assert shared.tenant is None
        assert await memory_on(pool).partitions.prepare() == [shared]
        assert await memory_on(pool).partitions.list() == [shared]
    assert [await answers(pool, engine, tenant) for tenant in (LARGE, SMALL)] == before
    assert await pool.fetch(KEYS_SQL) == keys
    assert await pool.fetch("SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
    assert await pool.fetch(UNPROTECTED_SQL) == []
    assert await places(pool, SMALL) == {shared_name(table) for table in TABLES}
    with request_context(tenant_id=SMALL, actor="tester"):
        await fill(pool, engine, "later")
    orders = [row[0] for row in await seen(pool, SMALL, "SELECT insertion_order FROM episodes")]
    assert len(set(orders)) == 2 * EPISODES
    assert max(orders) == 3 * EPISODES


async def test_a_tenant_leaves_while_it_writes(prepared: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Whatever it stores, changes and deletes meanwhile is in its own partition at the end; others stay as they are."""
    others = await seen(prepared, SMALL)
    expected: dict[UUID, str] = {row["id"]: row["content"] for row in await seen(prepared, LARGE)}
    told: list[int] = []
    done = asyncio.Event()

    async def write() -> None:
        number = 0
        while not done.is_set() or number < EPISODES:
            number += 1
            draft = EpisodeDraft(content=f"meanwhile {number}", butler="b")
            (stored,) = await store_episodes(prepared, engine, [draft])
            assert stored.id is not None
            expected[stored.id] = draft.content
            fact = await store_fact(
                prepared, engine, subject=f"bird {number}", predicate="eats", content=f"seed {number}"
            )
            expected[fact] = f"seed {number}"
            await confirm_memory(prepared, "fact", fact)
            if number % 3 == 0:
                await prepared_delete(prepared, stored.id)
                del expected[stored.id]

    with request_context(tenant_id=LARGE, actor="tester"):
        writer = asyncio.create_task(write())
        found = await memory_on(prepared).partitions.isolate(LARGE, batch_rows=3, on_copied=told.append)
        done.set()
        await writer
    assert told == sorted(told)
    assert told[-1] >= EPISODES
    assert found.tenant == LARGE
    assert {row["id"]: row["content"] for row in await seen(prepared, LARGE)} == expected
    assert await places(prepared, LARGE) == own_names()
    assert await seen(prepared, SMALL) == others
    confirmed = "SELECT count(*) FROM facts WHERE subject ~ '^bird' AND last_confirmed_at IS NULL"
    assert (await seen(prepared, LARGE, confirmed))[0][0] == 0
    assert await prepared.fetch("SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
    assert await prepared.fetch("SELECT proname FROM pg_proc WHERE proname ~ 'mirror$'") == []


async def prepared_delete(pool: asyncpg.Pool, episode_id: UUID) -> None:
    """Delete an episode of the large tenant as the cleanup does."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", LARGE)
        await connection.execute("DELETE FROM episodes WHERE id = $1", episode_id)


async def test_what_belongs_to_memories_stays_with_them(
    prepared: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Words, states and supersessions refer to the moved rows; deleting these deletes them, too."""
    with request_context(tenant_id=LARGE, actor="tester"):
        former = await store_fact(prepared, engine, subject="tern", predicate="flies_to", content="the ice")
        words, found = await seen(prepared, LARGE, WORDS_SQL), await answers(prepared, engine, LARGE)
        states = await seen(prepared, LARGE, "SELECT * FROM fact_states ORDER BY place")
        await memory_on(prepared).partitions.isolate(LARGE)
        assert await seen(prepared, LARGE, WORDS_SQL) == words
        assert await seen(prepared, LARGE, "SELECT * FROM fact_states ORDER BY place") == states
        assert await answers(prepared, engine, LARGE) == found
        (best, *_) = await recall(prepared, engine, "where does the tern fly to")
        assert (best.memory.id, best.memory.content) == (former, "the ice")
        await forget_memory(prepared, "fact", former)
        assert former not in [each.memory.id for each in await recall(prepared, engine, "tern flies to")]
    await prepared_delete(
        prepared, next(row["id"] for row in await seen(prepared, LARGE) if "bird 3" in row["content"])
    )
    assert len(await seen(prepared, LARGE, WORDS_SQL)) < len(words)


@pytest.mark.parametrize("at", ["while rows are copied", "while indexes are built", "in the exchange"])
async def test_an_interrupted_call_begins_anew(
    prepared: asyncpg.Pool, engine: EmbeddingEngine, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memories stay in the shared partition, writes go on, and the second call ends what the first left."""
    before = await seen(prepared, LARGE)

    def stop(*_: object) -> None:
        raise asyncio.CancelledError

    with request_context(tenant_id=LARGE, actor="tester"):
        with monkeypatch.context() as patch, suppress(asyncio.CancelledError):
            if at == "while indexes are built":
                patch.setattr("commonplace.knowledge.partitions.partitioning.building", stop)
            elif at == "in the exchange":
                patch.setattr("commonplace.knowledge.partitions.exchanging.execute_all", stop)
            await memory_on(prepared).partitions.isolate(
                LARGE,
                batch_rows=5,
                on_copied=stop if at == "while rows are copied" else lambda _: None,
            )
            pytest.fail("the call was not interrupted")
        assert sorted(await seen(prepared, LARGE)) == sorted(before)
        await fill(prepared, engine, "after")
        await memory_on(prepared).partitions.isolate(LARGE)
    assert await places(prepared, LARGE) == own_names()
    assert len(await seen(prepared, LARGE)) == 2 * len(before)


async def test_no_tenant_reads_the_partition_of_another(prepared: asyncpg.Pool) -> None:
    """A query that names a partition does not pass by its table's policy, so each partition has its own."""
    with request_context(actor="tester"):
        await memory_on(prepared).partitions.isolate(LARGE)
    assert await prepared.fetch(UNPROTECTED_SQL) == []
    for name in own_names():
        assert await seen(prepared, SMALL, f"SELECT * FROM {name}") == []  # noqa: S608 - a name of our own
        assert await seen(prepared, LARGE, f"SELECT * FROM {name}") != []  # noqa: S608 - as above


async def test_memories_in_partitions_move_to_another_model(prepared: asyncpg.Pool) -> None:
    """Every partition gets an index of the new vectors, and a tenant can leave before and after."""
    turned = TurnedEngine()
    with request_context(tenant_id=LARGE, actor="tester"):
        await memory_on(prepared).partitions.isolate(LARGE)
        receipt = await memory_on(prepared).reembedding.run(turned)
        assert receipt.moved
        (best, *_) = await memory_search(prepared, turned, "owl eats mice at night", mode="semantic", limit=1)
        assert best.memory.content.startswith("mice at night")
        await memory_on(prepared).partitions.isolate(SMALL)
    count = await prepared.fetchval(
        "SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "JOIN pg_am ON pg_am.oid = relam WHERE amname = 'hnsw' AND indisvalid AND relname NOT LIKE '%passages%'"
    )
    assert count == len(TABLES) * (1 + len(("shared", LARGE, SMALL)))


@pytest.mark.requirement("SHW-08.1")
async def test_passages_follow_their_memories_into_partitions(prepared: asyncpg.Pool) -> None:
    """A tenant that leaves keeps its passages, and a deletion in its partition still deletes them."""
    passages = "SELECT count(*) FROM episode_passages"
    reader = ShortSightedEngine()
    with request_context(tenant_id=LARGE, actor="tester"):
        (receipt,) = await store_episodes(prepared, reader, [EpisodeDraft(content=long_text(), butler="b")])
        await memory_on(prepared).partitions.isolate(LARGE)
        (result,) = await memory_search(prepared, reader, QUESTION, mode="semantic", limit=1)
        assert result.memory.id == receipt.id
        async with prepared.acquire() as connection, connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", LARGE)
            assert await connection.fetchval(passages) > 1
            await connection.execute("DELETE FROM episodes WHERE id = $1", receipt.id)
            assert await connection.fetchval(passages) == 0


async def test_refuses_what_it_cannot_do(pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant without memories, tables that are not prepared, a tenant with its own partition, an old server."""
    with request_context(actor="tester"):
        assert await memory_on(pool).partitions.list() == []
        with pytest.raises(ConflictError, match="partitions prepare"):
            await memory_on(pool).partitions.isolate(LARGE)
        await memory_on(pool).partitions.prepare()
        with pytest.raises(NotFoundError, match="nobody"):
            await memory_on(pool).partitions.isolate("nobody")
        with pytest.raises(InvalidInputError, match="tenant_id"):
            await memory_on(pool).partitions.isolate("no'body")
        await memory_on(pool).partitions.isolate(LARGE)
        with pytest.raises(ConflictError, match="already has its own"):
            await memory_on(pool).partitions.isolate(LARGE)
        await pool.execute(
            "ALTER SCHEMA public OWNER TO CURRENT_USER; REVOKE CREATE ON SCHEMA public FROM CURRENT_USER"
        )
        with pytest.raises(StorageUnavailableError, match="may not create tables"):
            await memory_on(pool).partitions.prepare()
        monkeypatch.setattr(layout, "OLDEST_SERVER", 990_000)
        with pytest.raises(StorageUnavailableError, match="PostgreSQL 99"):
            await memory_on(pool).partitions.prepare()


async def test_gives_up_on_tables_that_stay_in_use(
    pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has changed then, and the message says where to look."""
    monkeypatch.setattr(exchanging, "ATTEMPTS", 1)
    monkeypatch.setattr(exchanging, "PAUSE_S", 0.0)
    async with pool.acquire() as other, other.transaction():
        await other.execute("LOCK TABLE facts IN ACCESS SHARE MODE")
        with (
            request_context(actor="tester"),
            pytest.raises(StorageUnavailableError, match="pg_stat_activity"),
        ):
            await memory_on(pool).partitions.prepare()
    with request_context(actor="tester"):
        assert await memory_on(pool).partitions.list() == []
        assert len(await memory_on(pool).partitions.prepare()) == 1


def test_the_commands(commonplace: CommandLine) -> None:
    """An operator prepares, isolates and lists; a list without partitions names the command."""
    assert "partitions prepare" in commonplace("admin", "partitions", "list").out
    commonplace("knowledge", "store-fact", "owl", "eats", "the owl eats mice", "--tenant", "big")
    assert "(all others)" in commonplace("admin", "partitions", "prepare").out
    assert "big" in commonplace("admin", "partitions", "isolate", "big").out
    listed = commonplace("admin", "partitions", "list", "--json").json
    assert [each["tenant"] for each in listed["partitions"]] == [None, "big"]
