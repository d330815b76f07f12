"""All memories to another embedding model: while they are used, through kills, and back (KNW-31)."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import pytest
from psycopg.pq import TransactionStatus

from commonplace.core.errors import (
    ConflictError,
    EmbeddingError,
    InvalidInputError,
    ModelMismatchError,
    StorageUnavailableError,
)
from commonplace.core.request_context import request_context
from commonplace.embedding import DEFAULT_MODEL, EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.reembedding import leftovers
from commonplace.knowledge.reembedding.moves import MoveEndedError, MoveProgress, reembedding_status
from commonplace.knowledge.storage_functions import (
    invert_to_anti_pattern,
    mark_harmful,
    memory_search,
    recall,
    store_episode,
    store_episodes,
    store_fact,
    store_rule,
)
from commonplace.knowledge.store import vectors
from commonplace.knowledge.store.table_statements import TEXTS, table_queries
from commonplace.storage.postgres import open_pool
from support.commands import CommandLine, Done
from support.deadlines import DEADLINE_S
from support.on_pool import memory_on
from support.reembedding import GatedEngine, TurnedEngine
from support.statements import prepare_set

PROGRAM = Path(__file__).with_name("reembedding_process.py")
TENANTS = ("tenant-a", "tenant-b")

# Everything that a switch must leave as it is, but for what the columns hold.
SCHEMA_SQL = """
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'column', table_name || '.' || column_name, data_type
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'table', relname, concat(relrowsecurity, relforcerowsecurity)
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
ORDER BY 1, 2, 3
"""
VERSIONS_SQL = """
SELECT embedding_version AS used, next_embedding_version AS other, count(*) AS memories FROM (
  SELECT embedding_version, next_embedding_version FROM episodes
  UNION ALL SELECT embedding_version, next_embedding_version FROM facts
  UNION ALL SELECT embedding_version, next_embedding_version FROM rules
) AS memories GROUP BY 1, 2 ORDER BY 1, 2
"""


@pytest.fixture
async def url(knowledge_url: str, engine: EmbeddingEngine) -> str:
    """A database with twelve episodes, two facts and a rule of each of two tenants."""
    async with await open_pool(knowledge_url) as pool:
        for tenant in TENANTS:
            with request_context(tenant_id=tenant, actor="tester"):
                drafts = [
                    EpisodeDraft(content=f"{tenant} saw bird {number}", butler="b") for number in range(12)
                ]
                await store_episodes(pool, engine, drafts)
                await store_fact(pool, engine, subject="owl", predicate="eats", content="mice at night")
                await store_fact(pool, engine, subject="tern", predicate="flies_to", content="the far south")
                await store_rule(pool, engine, content="Keep quiet near a nest")
    return knowledge_url


MEMORIES = 30


@pytest.fixture
async def pool(url: str) -> AsyncIterator[asyncpg.Pool]:
    """A pool on it."""
    async with await open_pool(url) as pool:
        yield pool


async def versions(pool: asyncpg.Pool) -> list[tuple[Any, ...]]:
    """Return how many memories of both tenants are of which model: in use, and beside it."""
    counted: dict[tuple[Any, Any], int] = {}
    for tenant in TENANTS:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant)
            for row in await connection.fetch(VERSIONS_SQL):
                key = (row["used"], row["other"])
                counted[key] = counted.get(key, 0) + row["memories"]
    return [(*key, count) for key, count in counted.items()]


async def nearest(pool: asyncpg.Pool, engine: EmbeddingEngine, query: str) -> str:
    """Return what is most like a query, by meaning alone."""
    (found,) = await memory_search(pool, engine, query, mode="semantic", limit=1, min_confidence=0.0)
    return found.memory.content


async def harmful_rule(pool: asyncpg.Pool, engine: EmbeddingEngine, content: str) -> UUID:
    """Store a rule that has done enough harm to be turned into a warning."""
    rule = await store_rule(pool, engine, content=content)
    for _ in range(3):
        await mark_harmful(pool, rule)
    return rule


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_all_memories_move_and_can_go_back(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Of every tenant and kind; a second run has nothing to do, and the way back computes only what is new."""
    turned = TurnedEngine()
    schema = await pool.fetch(SCHEMA_SQL)
    told: list[tuple[str, int, int]] = []
    receipt = await memory_on(pool).reembedding.run(
        turned,
        batch_rows=5,
        on_progress=lambda at: told.append((at.step, at.done, at.total)),
    )
    assert (receipt.moved, str(receipt.model), receipt.embedded) == (True, "turned, version 2", MEMORIES)
    assert told[0] == ("embedding", 0, MEMORIES)
    assert told[-1] == ("switching", MEMORIES, MEMORIES)
    assert await versions(pool) == [("2", "1", MEMORIES)]
    assert await pool.fetch(SCHEMA_SQL) == schema
    assert await nearest(pool, turned, "tenant-a saw bird 7") == "tenant-a saw bird 7"
    assert await nearest(pool, turned, "owl eats mice at night") == "mice at night"

    assert not (await memory_on(pool).reembedding.run(turned)).moved
    await store_episode(pool, turned, content="a bird of the new time", butler="b")
    back = await memory_on(pool).reembedding.run(engine)
    assert (back.moved, back.embedded) == (True, 1)
    assert await versions(pool) == [("1", "2", MEMORIES + 1)]
    assert await nearest(pool, engine, "a bird of the new time") == "a bird of the new time"
    assert await pool.fetch(SCHEMA_SQL) == schema

    assert await memory_on(pool).reembedding.drop_former_vectors(batch_rows=4) == MEMORIES + 1
    assert await versions(pool) == [("1", None, MEMORIES + 1)]


@pytest.mark.requirement("KNW-31.1")
@pytest.mark.usefixtures("tenant")
async def test_vectors_of_another_model_are_kept_out(
    pool: asyncpg.Pool, engine: EmbeddingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """They are refused clearly, and a search goes by words and says so once."""
    turned = TurnedEngine()
    message = (
        "the vectors of the memories are made by fake, version 1, and these by turned, version 2.*"
        "COMMONPLACE_EMBEDDING_MODEL.*knowledge reembed"
    )
    rule = await harmful_rule(pool, engine, "Feed the birds")
    before = await versions(pool)
    for attempt in (
        store_episode(pool, turned, content="x", butler="b"),
        store_fact(pool, turned, subject="x", predicate="y", content="z"),
        store_rule(pool, turned, content="x"),
        invert_to_anti_pattern(pool, turned, rule),
    ):
        with pytest.raises(ModelMismatchError, match=message):
            await attempt
    assert await versions(pool) == before
    assert [(row["model"], row["active"]) for row in await pool.fetch("TABLE embedding_versions")] == [
        ("fake", True)
    ]
    vectors._warned.clear()  # a process warns once, and other tests are in it
    with caplog.at_level(logging.WARNING):
        for mode in ("hybrid", "semantic", "contextual"):
            found = await memory_search(pool, turned, "bird 7", mode=mode, types=["episode"])
            assert found[0].memory.content == "tenant-a saw bird 7", mode
        assert [each.memory.content for each in await recall(pool, turned, "mice", limit=1)] == [
            "mice at night"
        ]
    assert [record.message for record in caplog.records if "only by words" in record.message] == [
        (
            "searching only by words: the vectors of the memories were made by fake, version 1, but this process uses "
            "turned, version 2; vectors of different models cannot be compared. Restart this process with the "
            "memories' model (COMMONPLACE_EMBEDDING_MODEL), or move the memories to this process's model: "
            "`commonplace knowledge reembed`"
        )
    ]


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_a_move_that_was_killed_goes_on(pool: asyncpg.Pool, url: str, engine: EmbeddingEngine) -> None:
    """Nothing is seen of it, nothing is computed twice but a batch, and who runs it again ends it."""
    command = [sys.executable, str(PROGRAM), url, "4", "3"]
    environment = os.environ | {"PYTHONPATH": str(PROGRAM.parents[3])}
    process = await asyncio.to_thread(
        subprocess.Popen, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"
        under_way = await reembedding_status(pool)
        assert under_way.working
        with pytest.raises(StorageUnavailableError, match="another process is moving"):
            await memory_on(pool).reembedding.run(TurnedEngine())
    finally:
        process.kill()
        process.communicate()
    async with asyncio.timeout(DEADLINE_S):
        while (await reembedding_status(pool)).working:  # noqa: ASYNC110 - the server notices that it has gone
            await asyncio.sleep(0.01)
    status = await reembedding_status(pool)
    assert status.last is not None
    assert (status.last.state, status.last.total) == ("running", MEMORIES)
    assert 12 <= status.last.done < MEMORIES
    assert await nearest(pool, engine, "tenant-a saw bird 3") == "tenant-a saw bird 3"
    with pytest.raises(ConflictError, match=r"A move to turned, version 2 is running"):
        await memory_on(pool).reembedding.run(TurnedEngine("3"))
    with pytest.raises(ConflictError, match=r"is running\. Finish it"):
        await memory_on(pool).reembedding.drop_former_vectors()
    turned = TurnedEngine()
    receipt = await memory_on(pool).reembedding.run(turned, batch_rows=4)
    assert (receipt.moved, receipt.embedded) == (True, MEMORIES)
    assert turned.texts == MEMORIES - status.last.done + 1  # one for the dimensions
    assert await nearest(pool, turned, "tenant-a saw bird 3") == "tenant-a saw bird 3"


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_memories_are_stored_and_searched_throughout(
    pool: asyncpg.Pool, url: str, engine: EmbeddingEngine
) -> None:
    """No search fails or misses what was there, and what was stored meanwhile has moved as well."""
    over = asyncio.Event()
    stored: list[str] = []

    async def write(others: asyncpg.Pool, number: int) -> int:
        for count in range(10_000):
            text = f"note {number} {count}"
            try:
                await store_episode(others, engine, content=text, butler="b")
            except ModelMismatchError:
                return count
            stored.append(text)
        raise AssertionError("the switch never came")

    async def look(others: asyncpg.Pool) -> int:
        count = 0
        while not over.is_set():
            found = await memory_search(others, engine, "owl eats mice at night", types=["fact"])
            assert found[0].memory.content == "mice at night"
            count += 1
        return count

    turned = TurnedEngine()
    async with await open_pool(url) as others, asyncio.TaskGroup() as group:
        writers = [group.create_task(write(others, number)) for number in range(2)]
        searcher = group.create_task(look(others))
        receipt = await memory_on(pool).reembedding.run(turned, batch_rows=10)
        await asyncio.gather(*writers)
        over.set()
    assert searcher.result() > 5
    assert len(stored) > 5
    assert receipt.moved
    assert await versions(pool) == [("2", "1", MEMORIES + len(stored))]
    assert await nearest(pool, turned, stored[-1]) == stored[-1]


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_the_switch_waits_for_whoever_uses_the_tables(
    pool: asyncpg.Pool, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It tries, lets the others go on, and tries again; nobody else's transaction is ended."""
    gated = GatedEngine()
    with psycopg.connect(url) as reader, caplog.at_level(logging.INFO):

        def read_on(at: MoveProgress) -> None:
            # An index is built in three transactions that do not wait for a reader of another table's rows.
            if at.step == "indexing" and reader.info.transaction_status is TransactionStatus.IDLE:
                reader.execute("LOCK TABLE rules IN ACCESS SHARE MODE")

        move = asyncio.create_task(memory_on(pool).reembedding.run(gated, on_progress=read_on))
        gated.may_go.set()
        async with asyncio.timeout(DEADLINE_S):
            while "are in use" not in caplog.text:  # noqa: ASYNC110 - the server makes it wait
                await asyncio.sleep(0.01)
        assert not move.done()
        reader.commit()
        assert (await move).moved


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_an_aborted_move_leaves_nothing(
    pool: asyncpg.Pool, engine: EmbeddingEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is at it stops; the vectors in use were never touched."""
    schema = await pool.fetch(SCHEMA_SQL)
    gated = GatedEngine()
    move = asyncio.create_task(memory_on(pool).reembedding.run(gated, batch_rows=5))
    await asyncio.wait_for(gated.waits.wait(), DEADLINE_S)
    monkeypatch.setattr(leftovers, "PATIENCE_S", 0.05)
    with pytest.raises(StorageUnavailableError, match="is still moving"):
        await memory_on(pool).reembedding.abort()
    monkeypatch.undo()
    gated.may_go.set()
    with pytest.raises(MoveEndedError):
        await move
    await memory_on(pool).reembedding.abort()
    assert await versions(pool) == [("1", None, MEMORIES)]
    assert await pool.fetch(SCHEMA_SQL) == schema
    status = await reembedding_status(pool)
    assert status.last is not None
    assert (str(status.active), status.last.state, status.working) == ("fake, version 1", "aborted", False)
    assert await nearest(pool, engine, "tenant-a saw bird 3") == "tenant-a saw bird 3"
    assert (await memory_on(pool).reembedding.run(TurnedEngine())).embedded == MEMORIES
    with pytest.raises(ConflictError, match="has switched; there is nothing to abort"):
        await memory_on(pool).reembedding.abort()


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_what_is_left_half_done_is_removed(pool: asyncpg.Pool, url: str) -> None:
    """Vectors of an aborted move and an index whose building was cut off, which the server keeps as invalid."""
    gated = GatedEngine()
    gated.may_go.set()
    move = asyncio.create_task(memory_on(pool).reembedding.run(gated, batch_rows=100))
    admin = await asyncpg.connect(url)
    # Whoever builds an index beside writers waits for the transactions that are older; so this one is cut off.
    await admin.execute("BEGIN; LOCK TABLE rules IN ROW EXCLUSIVE MODE")
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    async with asyncio.timeout(DEADLINE_S):
        while not await pool.fetchval(invalid):  # noqa: ASYNC110 - the server builds it
            await asyncio.sleep(0.01)
    move.cancel()
    await asyncio.wait([move])
    await admin.execute("ROLLBACK")
    await admin.close()
    assert (await versions(pool))[0] == ("1", "2", MEMORIES)
    assert (await memory_on(pool).reembedding.run(TurnedEngine())).embedded == MEMORIES
    assert await pool.fetchval(invalid) == 0


@pytest.mark.requirement("KNW-31.2")
@pytest.mark.usefixtures("tenant")
async def test_a_text_that_changes_meanwhile_is_embedded_as_it_is_then(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """A vector of the text before is not laid down, and one that was goes."""
    first = await harmful_rule(pool, engine, "Feed swans bread")
    gated = GatedEngine()
    move = asyncio.create_task(memory_on(pool).reembedding.run(gated))
    await asyncio.wait_for(gated.waits.wait(), DEADLINE_S)
    await invert_to_anti_pattern(pool, engine, first)
    gated.may_go.set()
    await move
    content = (await memory_search(pool, gated, "swans", types=["rule"], min_confidence=0.0))[
        0
    ].memory.content
    assert content != "Feed swans bread"
    (found, *_) = await memory_search(
        pool, gated, content, mode="semantic", types=["rule"], min_confidence=0.0
    )
    assert found.scores.similarity == pytest.approx(1.0, abs=1e-6)


class _Short(TurnedEngine):
    """Of three dimensions."""

    async def embed_batch_async(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Cut off."""
        return [vector[:3] for vector in await super().embed_batch_async(texts)]


@pytest.mark.usefixtures("tenant")
async def test_what_cannot_be_moved_to_is_refused(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Other dimensions, a batch of nothing; and where nothing is stored there is nothing to move."""
    with pytest.raises(EmbeddingError, match="expected 384 dimensions, as every memory has, got 3"):
        await memory_on(knowledge_pool).reembedding.run(_Short())
    with pytest.raises(InvalidInputError, match="batch: expected 1 to 5000 rows, got 0"):
        await memory_on(knowledge_pool).reembedding.run(engine, batch_rows=0)
    with pytest.raises(ConflictError, match="because no move was begun"):
        await memory_on(knowledge_pool).reembedding.abort()
    receipt = await memory_on(knowledge_pool).reembedding.run(engine)
    assert (receipt.moved, receipt.model) == (False, None)


@pytest.mark.usefixtures("tenant")
async def test_tables_of_somebody_else_are_refused_before_anything_is_computed(
    pool: asyncpg.Pool, url: str
) -> None:
    """Only an owner can exchange columns."""
    owner = "SELECT relowner::regrole::text FROM pg_class WHERE relname = 'facts'"
    role = await pool.fetchval(owner)
    superuser = await asyncpg.connect(url.replace(f"//{role}@", "//postgres@"))
    await superuser.execute("ALTER TABLE facts OWNER TO postgres; GRANT ALL ON facts TO PUBLIC")
    await superuser.close()
    turned = TurnedEngine()
    with pytest.raises(StorageUnavailableError, match="does not own facts"):
        await memory_on(pool).reembedding.run(turned)
    assert turned.texts == 1


async def test_every_statement_is_accepted_by_the_server(knowledge_pool: asyncpg.Pool) -> None:
    """Each is prepared against the real schema; those that change it are run by the other tests."""
    async with knowledge_pool.acquire() as connection:
        for table in TEXTS:
            names = table_queries(table).names
            rows = [name for name in names if "vectors" in name or "rows" in name or "any" in name]
            assert await prepare_set(connection, table_queries(table), rows) == 6


@pytest.mark.requirement("KNW-31.2")
async def test_the_command_moves_shows_and_drops(commonplace: CommandLine, url: str) -> None:
    """To the model of the settings; what the command says is what is there."""

    async def ask(*arguments: str) -> Done:
        return await asyncio.to_thread(commonplace, "knowledge", *arguments, COMMONPLACE_POSTGRES_URL=url)

    refused = await ask("store-fact", "tern", "eats", "fish")
    assert (refused.status, "COMMONPLACE_EMBEDDING_MODEL" in refused.err) == (1, True)
    moved = await ask("reembed", "--batch", "8")
    assert moved.status == 0, moved.err
    assert f"embedded {MEMORIES} memories" in moved.out
    assert f"Restart all processes with COMMONPLACE_EMBEDDING_MODEL={DEFAULT_MODEL}" in moved.out
    status = (await ask("reembed", "--status", "--json")).json
    assert (status["last"]["state"], status["last"]["done"], status["working"]) == (
        "switched",
        MEMORIES,
        False,
    )
    assert "switched" in (await ask("reembed", "--status")).out
    assert (await ask("reembed", "--drop-former", "--json")).json == {"removed": MEMORIES}
    assert (await ask("reembed", "--status", "--abort")).status == 2
