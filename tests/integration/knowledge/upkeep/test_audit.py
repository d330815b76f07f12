"""The audit stream: every mutation and every transition is in it, and nothing takes it out."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    create_link,
    forget_memory,
    get_memory,
    invert_to_anti_pattern,
    mark_harmful,
    mark_helpful,
    run_decay_sweep,
    run_episode_cleanup,
    store_episode,
    store_fact,
    store_rule,
)
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.knowledge import ACTOR, OF_CONSOLIDATION, OF_ENTITIES, OF_PEOPLE, TENANT
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


async def events(pool: asyncpg.Pool) -> list[dict[str, Any]]:
    """Return the stream, oldest first."""
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.connection.fetch("SELECT * FROM memory_events ORDER BY created_at, event_type")
    return [dict(row) for row in rows]


@pytest.mark.requirement("KNW-33.1", "KNW-33.2", "KNW-33.3")
async def test_every_mutation_writes_its_event(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Each type once or more, with tenant and actor, and what was before and after; without any text."""
    text = "Ann said this"
    episodes = [
        await store_episode(knowledge_pool, engine, content=text, butler="b", clock=clock) for _ in range(3)
    ]
    for permanence in ("ephemeral", "volatile"):
        fact = await store_fact(
            knowledge_pool,
            engine,
            subject="Ann",
            predicate="p",
            content=text,
            permanence=permanence,
            clock=clock,
        )
    rule = await store_rule(knowledge_pool, engine, content=text, clock=clock)
    for kind, memory_id in (("fact", fact), ("rule", rule)):
        for tagged in (True, False):
            await memory_on(knowledge_pool, clock=clock).pin(kind, memory_id, pinned=tagged)
            await memory_on(knowledge_pool, clock=clock).tag(kind, memory_id, text, tagged=tagged)
    ends = {"source_type": "fact", "source_id": fact, "target_type": "episode", "target_id": episodes[0]}
    await create_link(knowledge_pool, relation="derived_from", **ends)
    await forget_memory(knowledge_pool, "episode", episodes[1], clock=clock)
    await memory_on(knowledge_pool, clock=clock).restore("episode", episodes[1])
    await forget_memory(knowledge_pool, "episode", episodes[1], clock=clock)
    async with unit_of_work(knowledge_pool) as sql:
        await sql.connection.execute(
            "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated' WHERE id = $1",
            episodes[2],
        )
    await run_episode_cleanup(knowledge_pool, max_entries=1, clock=lambda: clock.now + timedelta(seconds=1))
    await mark_helpful(knowledge_pool, rule, clock=clock)
    for _ in range(3):
        await mark_harmful(knowledge_pool, rule, clock=clock)
    await invert_to_anti_pattern(knowledge_pool, engine, rule, clock=clock)
    for days in (100, 200):
        clock.advance(days=days)
        await run_decay_sweep(knowledge_pool, clock=clock)
        if days == 100:
            await confirm_memory(knowledge_pool, "rule", rule, clock=clock)
            fact = await store_fact(
                knowledge_pool,
                engine,
                subject="Bo",
                predicate="p",
                content=text,
                permanence="volatile",
                clock=clock,
            )
            clock.advance(days=60)
            await run_decay_sweep(knowledge_pool, clock=clock)
            await confirm_memory(knowledge_pool, "fact", fact, clock=clock)
            await run_decay_sweep(knowledge_pool, clock=clock)
    await forget_memory(knowledge_pool, "fact", fact, clock=clock)
    other = await store_rule(knowledge_pool, engine, content=text, clock=clock)
    await forget_memory(knowledge_pool, "rule", other, clock=clock)
    stream = await events(knowledge_pool)
    others = OF_CONSOLIDATION | OF_ENTITIES | OF_PEOPLE
    assert {event["event_type"] for event in stream} == set(EventType) - others
    assert {(event["tenant_id"], event["actor"]) for event in stream} == {(TENANT, ACTOR)}
    for event in stream:
        assert {"before", "after"} <= event["payload"].keys(), event
        assert event["payload"]["before"] != event["payload"]["after"]
        assert text not in str(event["payload"])


@pytest.mark.requirement("KNW-33.1")
async def test_a_fact_s_events_tell_its_story(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Created, then superseded by the one that came after, which was retracted."""
    old, new = [
        await store_fact(knowledge_pool, engine, subject="Ann", predicate="p", content=content)
        for content in ("a", "b")
    ]
    await forget_memory(knowledge_pool, "fact", new)
    await forget_memory(knowledge_pool, "fact", new)
    told = [
        (event["event_type"], event["payload"]["memory_id"], event["payload"]["after"]["validity"])
        for event in await events(knowledge_pool)
    ]
    assert told == [
        ("fact_created", str(old), "active"),
        ("fact_created", str(new), "active"),
        ("fact_superseded", str(old), "superseded"),
        ("fact_retracted", str(new), "retracted"),
    ]


async def test_reading_is_no_mutation(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """It counts on the row, and leaves the stream alone."""
    rule = await store_rule(knowledge_pool, engine, content="x")
    await get_memory(knowledge_pool, "rule", rule)
    assert len(await events(knowledge_pool)) == 1


@pytest.mark.requirement("KNW-33")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_events SET actor = 'somebody else'",
        "DELETE FROM memory_events",
        "TRUNCATE memory_events",
        "UPDATE memory_events SET actor = 'nobody' WHERE false",
    ],
)
async def test_the_stream_only_grows(knowledge_pool: asyncpg.Pool, statement: str) -> None:
    """The database refuses the rest, also to the owner of the table."""
    async with unit_of_work(knowledge_pool) as sql:
        await record_event(sql, EventType.LINK_CREATED, payload={})
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="memory_events only grows"):
        async with unit_of_work(knowledge_pool) as sql:
            await sql.connection.execute(statement)
    assert len(await events(knowledge_pool)) == 1


@pytest.mark.requirement("KNW-33")
async def test_an_event_and_its_mutation_are_one(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Where the transaction fails, neither is there."""
    rule = await store_rule(knowledge_pool, engine, content="x")

    async def fail_in_the_middle() -> None:
        async with unit_of_work(knowledge_pool) as sql:
            await sql.forget_rule(id=rule)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await fail_in_the_middle()
    assert [event["event_type"] for event in await events(knowledge_pool)] == ["rule_created"]
    assert await get_memory(knowledge_pool, "rule", rule) is not None
