"""Knowledge memory as a host uses it: opening, tenants, configuration, and what happens without a database."""

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

import commonplace
from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError, StorageUnavailableError
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.knowledge.store import outage
from commonplace.storage.embedded import Membership, join_server, remove_cluster
from support.deadlines import DEADLINE_S
from support.facade import open_knowledge
from support.facades import methods_of
from support.postgres import wait_until

AT_ONCE_S = 15.0
"""Six times what giving up takes, and less than any limit that would end it otherwise."""
"""Patience and probe of a server that hangs, with room for a busy machine; nothing else takes as long."""


@pytest.fixture
async def memory(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> AsyncIterator[KnowledgeMemory]:
    """Knowledge memory of the default tenant."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        yield memory


async def test_a_host_stores_and_finds(memory: KnowledgeMemory) -> None:
    """Without a request context of its own; what replaces something says what."""
    assert commonplace.KnowledgeMemory is KnowledgeMemory
    first = await memory.store_fact(subject="staging", predicate="port", content="listens on 5433")
    second = await memory.store_fact(subject="staging", predicate="port", content="listens on 5434")
    assert (first.superseded_id, second.superseded_id) == (None, first.id)
    episode = await memory.store_episode(content="the port of staging was moved", butler="ops")
    rule = await memory.store_rule(content="check the port of staging before a deploy")
    assert episode.stored
    found = {each.memory.id for each in await memory.search("port of staging")}
    assert found == {second.id, episode.id, rule.id}
    recalled = await memory.recall("port of staging", explain=True)
    assert {each.memory.id for each in recalled} == {second.id, rule.id}
    assert all(each.explanation and each.explanation.why for each in recalled)
    assert "listens on 5434" in await memory.context("port of staging", "ops")
    assert [link.relation for link in await memory.links.list("fact", second.id)] == ["supersedes"]


async def test_methods_show_what_a_caller_passes() -> None:
    """Pool, engine and clock are the facade's to know."""
    methods = methods_of(KnowledgeMemory)
    for name in ("recall", "search", "store_rule", "entities.merge", "upkeep.sweep", "links.list"):
        parameters = inspect.signature(methods[name]).parameters
        assert next(iter(parameters)) == "self"
        assert not {"pool", "engine", "clock"} & parameters.keys()


@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
async def test_a_tenant_sees_and_changes_only_what_is_its_own(memory: KnowledgeMemory) -> None:
    """One pool, two tenants: what one stores, the other cannot find, read, confirm, link or forget."""
    other = memory.acting_for(tenant_id="other", actor="somebody")
    mine = await memory.store_fact(subject="Anna", predicate="lives_in", content="Lisbon")
    theirs = await other.store_fact(subject="Anna", predicate="lives_in", content="Oslo")
    assert theirs.superseded_id is None
    assert [each.memory.content for each in await memory.recall("Anna")] == ["Lisbon"]
    assert [each.memory.content for each in await other.recall("Anna")] == ["Oslo"]
    for change in (other.get, other.confirm, other.forget):
        with pytest.raises(NotFoundError):
            await change("fact", mine.id)
    assert (await memory.read("fact", mine.id)).validity == "active"


@pytest.mark.parametrize("tenant_id", ["", "a b", "x" * 65, "a'; DROP TABLE facts; --", "a\x00"])
async def test_a_malformed_tenant_is_refused_at_once(tmp_path: Path, tenant_id: str) -> None:
    """Before anything is opened."""
    with pytest.raises(InvalidInputError, match="tenant_id"):
        async with open_knowledge(None, tmp_path, tenant_id=tenant_id):
            raise AssertionError
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clock": datetime.now}, "clock: expected a function that returns a datetime with a time zone"),
        ({"source": "people"}, "source: expected one of person, agent"),
    ],
)
async def test_what_would_break_a_later_write_is_refused_at_once(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    """A clock without a zone stored rows that no list could read."""
    with pytest.raises(InvalidInputError, match=message):
        async with open_knowledge(None, tmp_path, **given):
            raise AssertionError


async def test_changes_are_recorded_under_who_made_them(memory: KnowledgeMemory) -> None:
    """The actor is the one that the memory was opened or asked for."""
    await memory.store_rule(content="be kind")
    await memory.acting_for(tenant_id="default", actor="robot").store_rule(content="be quick")
    async with memory.session.acting() as pool, pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
        actors = await connection.fetch("SELECT actor FROM memory_events ORDER BY created_at")
    assert [row["actor"] for row in actors] == ["operator", "robot"]


async def test_the_clock_reaches_every_function(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Storing, sweeping and finding agree on the present."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, clock=clock) as memory:
        await memory.store_fact(subject="a", predicate="b", content="fleeting", permanence="ephemeral")
        episode = await memory.store_episode(content="fleeting", butler="ops")
        assert len(await memory.search("fleeting")) == 2
        clock.advance(days=40)
        swept = await memory.upkeep.sweep()
        assert (swept.facts_expired, await memory.search("fleeting")) == (1, [])
        with pytest.raises(NotFoundError):
            await memory.get("episode", str(episode.id))
        assert (await memory.upkeep.cleanup()).expired_deleted == 1


@pytest.mark.requirement("KNW-23.1", "KNW-23.2", "KNW-20.2", "KNW-34.2")
async def test_the_configuration_is_used(knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine) -> None:
    """Limit, mode, weights, quotas and budget count wherever a call says nothing else."""
    config = MemoryModuleConfig.model_validate(
        {
            "retrieval": {
                "default_limit": 2,
                "default_mode": "keyword",
                "context_token_budget": 60,
                "score_weights": {"relevance": 0, "importance": 1, "recency": 0, "confidence": 0},
                "section_quotas": {"rules": {"items": 0}},
            }
        }
    )
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, config=config) as memory:
        for number in range(4):
            await memory.store_fact(
                subject=f"kiwi {number}", predicate="is", content="a fruit", importance=float(number)
            )
        await memory.store_rule(content="peel a kiwi before eating it")
        found = await memory.search("kiwi")
        assert len(found) == 2
        assert all(each.scores.rank and each.scores.rrf_score is None for each in found)
        assert len(await memory.search("kiwi", limit=4, types=["fact"], mode="hybrid")) == 4
        recalled = await memory.recall("kiwi", limit=3)
        assert [getattr(each.memory, "importance", 5.0) for each in recalled] == [5.0, 3.0, 2.0]
        block = await memory.context("kiwi", "ops")
        assert 17 < len(block) <= 240
        assert "peel" not in block
        assert "kiwi 3" in block
        # What lists and blocks hold is not a search.
        assert len(await memory.lists.facts()) == 4
        assert len(await memory.events.list()) == 5


@pytest.mark.requirement("KNW-23.1")
async def test_lists_keep_the_limits_of_their_signatures(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """More than a search returns by default."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        for number in range(30):
            await memory.store_rule(content=f"peel kiwi {number}")
        assert len(await memory.lists.rules()) == len(await memory.events.list()) == 30
        assert len(await memory.search("kiwi")) == 20


@pytest.mark.requirement("KNW-23.1")
def test_the_defaults_are_the_specified_ones() -> None:
    """Where nothing is configured."""
    retrieval = MemoryModuleConfig().retrieval
    assert (retrieval.context_token_budget, retrieval.default_limit, retrieval.default_mode) == (
        3000,
        20,
        "hybrid",
    )
    assert retrieval.score_weights.model_dump() == {
        "relevance": 0.4, "importance": 0.3, "recency": 0.2, "confidence": 0.1,
    }  # fmt: skip


@pytest.mark.requirement("KNW-12.3")
async def test_what_waits_for_consolidation_is_counted_by_butler(memory: KnowledgeMemory) -> None:
    """Neither forgotten nor expired episodes wait."""
    for butler in ("ops", "mail", "ops"):
        await memory.store_episode(content="something happened", butler=butler)
    forgotten = await memory.store_episode(content="never mind", butler="mail")
    await memory.forget("episode", str(forgotten.id))
    groups = await memory.runs.pending()
    assert [(group.butler, group.episodes) for group in groups] == [("mail", 1), ("ops", 2)]
    assert memory.clock() - groups[0].oldest_at < timedelta(minutes=1)


async def test_episodes_that_expire_unconsolidated_are_counted(memory: KnowledgeMemory) -> None:
    """Those that expire within a day, or another time; a forgotten episode is not missed."""
    for number in range(2):
        await memory.store_episode(content=f"something happened {number}", butler="ops")
    forgotten = await memory.store_episode(content="never mind", butler="ops")
    await memory.forget("episode", str(forgotten.id))

    expiring = await memory.runs.expiring(within_s=8 * 86_400.0)

    assert expiring.episodes == 2
    assert expiring.first_at is not None
    assert abs(expiring.first_at - memory.clock() - timedelta(days=7)) < timedelta(minutes=1)
    assert (await memory.runs.expiring()).episodes == 0


async def test_a_lazy_memory_opens_at_its_first_call(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """Calls that come together wait for one opening, not for a later one; what is never used is never opened."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, lazy=True) as memory:
        memory.begin(after_s=3600)
        assert not memory.database.was_tried
        await asyncio.gather(*(memory.stats() for _ in range(5)))
        assert memory.database.was_tried
    async with open_knowledge("postgresql://127.0.0.1:1/nothing", tmp_path, engine=engine, lazy=True):
        pass


async def test_a_lazy_memory_may_begin_in_the_background(tmp_path: Path, engine: EmbeddingEngine) -> None:
    """It sets up a server of its own; closing it in the middle of that leaves nothing running."""
    async with open_knowledge(None, tmp_path, engine=engine, lazy=True) as memory:
        memory.begin()
        memory.begin()
        for _ in range(3):  # the task begins, begins to open, and opens
            await asyncio.sleep(0)
    remove_cluster(tmp_path / "postgres")
    async with open_knowledge(None, tmp_path, engine=engine, lazy=True) as memory:
        memory.begin()
        assert (await memory.stats()).episodes.total == 0
    remove_cluster(tmp_path / "postgres")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Membership]:
    """A server of the test's own, which it may kill."""
    directory = tmp_path / "cluster"
    membership = join_server(directory)
    yield membership
    membership.leave()
    remove_cluster(directory)


def postmaster(membership: Membership) -> psutil.Process:
    """Return the server's first process."""
    pid_file = membership.cluster.data / "postmaster.pid"
    return psutil.Process(int(pid_file.read_text().split()[0]))


def kill(membership: Membership) -> None:
    """End the server as a power cut would."""
    server = postmaster(membership)
    family = [server, *server.children(recursive=True)]
    for process in family:
        process.kill()
    wait_until(lambda: not any(map(psutil.pid_exists, [each.pid for each in family])), what="server gone")


@contextmanager
def at_once() -> Iterator[None]:
    """Fail where the block takes long."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < AT_ONCE_S


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_without_its_database_a_session_goes_on(
    cluster: Membership, tmp_path: Path, engine: EmbeddingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """Context and episode return at once and log why, everything else says what is wrong; later all is well again."""
    url = cluster.url()
    async with open_knowledge(url, tmp_path, engine=engine) as memory:
        await memory.store_fact(subject="a", predicate="b", content="known before")
        kill(cluster)
        caplog.clear()
        with at_once():
            assert await memory.context("known", "ops") == ""
        with at_once():
            receipt = await memory.store_episode(content="lost", butler="ops")
        assert (receipt.stored, receipt.id) == (False, None)
        assert receipt.reason
        errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert len(errors) == 2
        assert receipt.reason in errors[1]
        for call in (memory.recall("known"), memory.stats(), memory.store_rule(content="x")):
            with at_once(), pytest.raises(StorageUnavailableError):
                await call
        join_server(tmp_path / "cluster").leave()
        assert "known before" in await memory.context("known", "ops")
        assert (await memory.store_episode(content="kept", butler="ops")).stored


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_the_embedded_server_comes_back_by_itself(tmp_path: Path, engine: EmbeddingEngine) -> None:
    """Nobody has to restart the host: what comes after a crash finds a server that has recovered."""
    async with open_knowledge(None, tmp_path, engine=engine) as memory:
        stored = await memory.store_fact(subject="a", predicate="b", content="survives")
        other = join_server(tmp_path / "postgres")
        kill(other)
        deadline = time.monotonic() + DEADLINE_S
        while not (await memory.store_episode(content="after the crash", butler="ops")).stored:
            assert time.monotonic() < deadline
        assert (await memory.get("fact", stored.id)).content == "survives"
        other.leave()
    remove_cluster(tmp_path / "postgres")


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_a_server_that_hangs_blocks_no_session(
    cluster: Membership, tmp_path: Path, engine: EmbeddingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """It accepts what is sent and answers nothing; when it goes on, memory does."""
    async with open_knowledge(cluster.url(), tmp_path, engine=engine) as memory:
        await memory.stats()
        server = postmaster(cluster)
        family = [server, *server.children(recursive=True)]
        for process in family:
            process.suspend()
        try:
            with at_once():
                assert await memory.context("anything", "ops") == ""
            with at_once():
                assert not (await memory.store_episode(content="lost", butler="ops")).stored
        finally:
            for process in family:
                process.resume()
        assert "does not answer" in caplog.text
        assert (await memory.store_episode(content="kept", butler="ops")).stored


async def test_a_database_that_was_never_there_blocks_no_session(
    tmp_path: Path, engine: EmbeddingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """A lazy memory says so at its first use; one that is to be open says so when it is opened."""
    url = f"postgresql://u:hunter2@/d?host={tmp_path}"
    async with open_knowledge(url, tmp_path, engine=engine, lazy=True) as memory:
        with at_once():
            assert await memory.context("anything", "ops") == ""
        assert not (await memory.store_episode(content="lost", butler="ops")).stored
        with pytest.raises(StorageUnavailableError):
            await memory.stats()
    with pytest.raises(StorageUnavailableError):
        async with open_knowledge(url, tmp_path, engine=engine):
            raise AssertionError
    assert "hunter2" not in caplog.text


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_without_its_model_a_session_goes_on(
    knowledge_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A model that is not there is an outage as well."""
    engine = EmbeddingEngine(EmbeddingOptions(model="/nowhere", backend=BackendName.ONNX))
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, lazy=True) as memory:
        memory.begin()
        assert await memory.context("anything", "ops") == ""
        receipt = await memory.store_episode(content="lost", butler="ops")
        assert "/nowhere" in receipt.reason
        await memory.search("words need no model", mode="keyword")
    assert "the embedding model cannot be loaded" in caplog.text


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_what_breaks_an_invariant_is_raised(memory: KnowledgeMemory) -> None:
    """Bad input is the caller's to know about, and so is a schema that is not what it was."""
    with pytest.raises(InvalidInputError, match="content"):
        await memory.store_episode(content=" ", butler="ops")
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        await memory.context("x", "ops", budget_tokens="many")  # type: ignore[arg-type]
    async with memory.session.acting() as pool:
        await pool.execute("ALTER TABLE episodes ADD CONSTRAINT broken CHECK (butler <> 'ops')")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await memory.store_episode(content="against the rules", butler="ops")


async def test_slow_work_on_a_database_that_answers_is_not_given_up(
    memory: KnowledgeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue before the model is no outage: everybody's episode is stored."""
    monkeypatch.setattr(outage, "PATIENCE_S", 0.01)
    receipts = await asyncio.gather(
        *(memory.store_episode(content=f"episode {number}", butler="ops") for number in range(200))
    )
    assert all(receipt.stored for receipt in receipts)
    assert (await memory.stats()).episodes.total == 200


async def test_an_answer_to_another_is_an_answer(
    memory: KnowledgeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All connections are taken, so that nobody can ask whether the server answers."""
    monkeypatch.setattr(outage, "PATIENCE_S", 0.01)
    monkeypatch.setattr(outage, "ANSWER_S", 0.05)
    may_end = asyncio.Event()
    async with memory.session.acting() as pool, AsyncExitStack() as taken:
        for _ in range(pool.get_max_size()):
            await taken.enter_async_context(pool.acquire())
        slow = asyncio.create_task(outage.while_it_answers(memory.database, pool, may_end.wait()))
        for _ in range(20):
            await outage.while_it_answers(memory.database, pool, asyncio.sleep(0.01))
        assert not slow.done()
        may_end.set()
        await slow
        with pytest.raises(StorageUnavailableError, match="does not answer"):
            await outage.while_it_answers(memory.database, pool, asyncio.sleep(DEADLINE_S))


async def test_a_process_that_stands_still_does_not_take_its_database_for_silent(
    memory: KnowledgeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading a model keeps the event loop from running for longer than a database has to answer."""
    monkeypatch.setattr(outage, "PATIENCE_S", 0.01)
    monkeypatch.setattr(outage, "ANSWER_S", 2.0)
    async with memory.session.acting() as pool:

        async def load() -> str:
            while pool.get_idle_size():  # noqa: ASYNC110 - the question to the server sets no event
                await asyncio.sleep(0)
            time.sleep(2.1)  # noqa: ASYNC251 - that is what loading does
            return "loaded"

        assert await outage.while_it_answers(memory.database, pool, load()) == "loaded"


async def test_a_session_that_is_cancelled_takes_its_work_with_it(memory: KnowledgeMemory) -> None:
    """Cancelling a caller neither leaves its transaction open nor stops anybody else's."""
    call = asyncio.create_task(memory.store_episode(content="never mind", butler="ops"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await memory.store_episode(content="kept", butler="ops")).stored
