"""What the pages of knowledge memory read: single memories in any state, links with words, the audit log, previews."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.storage_functions import (
    create_link,
    forget_memory,
    recall,
    store_episode,
    store_fact,
    store_rule,
)
from support.entities import add_fact, person, snapshot
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


@pytest.fixture
def pool(knowledge_pool: asyncpg.Pool) -> asyncpg.Pool:
    """An empty database."""
    return knowledge_pool


async def test_a_memory_is_read_whatever_its_state(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Also when it was forgotten; without vectors, and it counts as no reading."""
    stored = {
        "episode": await store_episode(pool, engine, content="It rained", butler="home"),
        "fact": await store_fact(pool, engine, subject="roof", predicate="is", content="tight"),
        "rule": await store_rule(pool, engine, content="Close the windows"),
    }
    for kind, memory_id in stored.items():
        await forget_memory(pool, kind, memory_id)
        memory = await memory_on(pool).read(kind, memory_id)
        assert (memory.id, memory.reference_count) == (memory_id, 0)
    fact, rule = [await memory_on(pool).read(kind, stored[kind]) for kind in ("fact", "rule")]
    assert isinstance(fact, Fact)
    assert fact.validity == "retracted"
    assert isinstance(rule, Rule)
    assert rule.is_forgotten
    for kind in stored:
        with pytest.raises(NotFoundError):
            await memory_on(pool).read(kind, uuid4())


@pytest.mark.requirement("KNW-26.1")
async def test_links_are_told_from_where_one_stands(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """With words and state of the other end, in the direction of the link."""
    episode = await store_episode(pool, engine, content="It rained", butler="home")
    fact = await store_fact(pool, engine, subject="roof", predicate="is", content="tight")
    await create_link(
        pool,
        source_type="fact",
        source_id=fact,
        target_type="episode",
        target_id=episode,
        relation="derived_from",
    )
    (from_fact,) = await memory_on(pool).links.memories("fact", fact)
    (from_episode,) = await memory_on(pool).links.memories("episode", episode)
    assert (from_fact.is_outgoing, from_fact.memory_id, from_fact.text, from_fact.state) == (
        True,
        episode,
        "It rained",
        "pending",
    )
    assert (from_episode.is_outgoing, from_episode.memory_id, from_episode.text) == (
        False,
        fact,
        "roof is: tight",
    )


@pytest.mark.requirement("KNW-33.1")
async def test_entries_are_found_by_memory_type_and_actor(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each filter keeps what it names; one entry is read by its id."""
    first = await store_fact(pool, engine, subject="port", predicate="is", content="1")
    second = await store_fact(pool, engine, subject="port", predicate="is", content="2")
    about = await memory_on(pool).events.list(memory_id=first)
    assert [entry.event_type for entry in about] == ["fact_superseded", "fact_created"]
    assert await memory_on(pool).events.list(memory_id=first, event_type="fact_superseded") == about[:1]
    assert await memory_on(pool).events.list(memory_id=second, actor="nobody") == []
    assert len(await memory_on(pool).events.list(actor="tester", event_type="fact_created")) == 2
    both = ("fact_superseded", "fact_created")
    assert len(await memory_on(pool).events.list(event_types=both)) == 3
    assert await memory_on(pool).events.list(memory_id=first, event_types=both[:1]) == about[:1]
    assert await memory_on(pool).events.get(about[0].id) == about[0]
    with pytest.raises(NotFoundError):
        await memory_on(pool).events.get(uuid4())
    with pytest.raises(InvalidInputError, match="run_id"):
        await memory_on(pool).events.list(memory_id=first, run_id=uuid4())


@pytest.mark.requirement("KNW-33.1")
async def test_entries_are_found_by_time(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Both ends count, alone and together, whatever else is asked for."""
    fact = await store_fact(pool, engine, subject="port", predicate="is", content="1")
    (entry,) = await memory_on(pool).events.list()
    at, moment = entry.created_at, timedelta(microseconds=1)
    choices: list[dict[str, Any]] = [{}, {"memory_id": fact}]
    for which in choices:
        assert await memory_on(pool).events.list(since=at, until=at, **which) == [entry]
        assert await memory_on(pool).events.list(since=at + moment, **which) == []
        assert await memory_on(pool).events.list(until=at - moment, **which) == []


async def test_memories_go_by_a_few_words(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """The key and text of a fact, a name, or the beginning of a text; forgotten memories are left out."""
    stored = {
        "episode": await store_episode(pool, engine, content="It rained " * 20, butler="home"),
        "fact": await store_fact(pool, engine, subject="roof", predicate="is", content="tight"),
        "rule": await store_rule(pool, engine, content="Close the windows"),
    }
    entity = (await person(pool, "Ann")).id
    ids = [*stored.values(), entity, uuid4()]
    names = await memory_on(pool).lists.names_of(ids)
    assert names == {
        stored["episode"]: ("It rained " * 20)[:120],
        stored["fact"]: "roof is: tight",
        stored["rule"]: "Close the windows",
        entity: "Ann",
    }
    for kind, memory_id in stored.items():
        await forget_memory(pool, kind, memory_id)
    assert await memory_on(pool).lists.names_of(ids) == {entity: "Ann"}


@pytest.mark.requirement("KNW-18.2")
async def test_a_preview_tells_what_the_merge_then_does(pool: asyncpg.Pool) -> None:
    """And changes nothing: the receipt has the numbers of the preview."""
    target = await person(pool, "Robert", "R. Miller")
    source = await person(pool, "Bob", "robert", "Bobby")
    await add_fact(pool, source, "likes", "tea")
    sure = await add_fact(pool, source, "works at", "the observatory", confidence=0.9)
    unsure = await add_fact(pool, target, "works at", "a bakery", confidence=0.5)
    await add_fact(pool, source, "lives in", "Basel", validity="superseded")
    before = await snapshot(pool)
    preview = await memory_on(pool).entities.preview_merge(source.id, target.id)
    assert await snapshot(pool) == before
    assert (preview.moving, preview.history, preview.names) == (2, 1, ("Bob", "Bobby"))
    ((winner, loser),) = preview.conflicts
    assert (winner.id, winner.content, winner.of_target) == (sure, "the observatory", False)
    assert (loser.id, loser.of_target) == (unsure, True)
    receipt = await memory_on(pool).entities.merge(source.id, target.id)
    assert (receipt.facts_repointed, receipt.history_repointed, receipt.facts_superseded) == (2, 1, 1)
    assert receipt.aliases_added == len(preview.names)
    for wrong in (source.id, target.id, uuid4()):
        with pytest.raises(InvalidInputError):
            await memory_on(pool).entities.preview_merge(wrong, target.id)
    for entity in (source.id, target.id):
        assert (await memory_on(pool).events.list(memory_id=entity, limit=1))[0].event_type == "entity_merge"


@pytest.mark.requirement("KNW-08.3")
async def test_a_person_who_looks_is_no_reference(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """The same results in the same order as an agent would get, and only the agent's count."""
    for number in range(3):
        await store_fact(pool, engine, subject="port", predicate=f"is {number}", content=f"port {number}")
    looked = await recall(pool, engine, "port", count=False)
    assert [row.memory.reference_count for row in await recall(pool, engine, "port", count=False)] == [
        0,
        0,
        0,
    ]
    recalled = await recall(pool, engine, "port")
    assert [row.memory.id for row in recalled] == [row.memory.id for row in looked]
    assert {row.memory.reference_count for row in recalled} == {1}
