"""Pins and short ids of memories, from a real server."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import BlockStyle
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.kinds import Fact, MemoryType, Rule
from commonplace.knowledge.model.short_ids import short_id
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    forget_memory,
    get_memory,
    mark_harmful,
    mark_helpful,
    memory_context,
    store_episode,
    store_fact,
    store_rule,
)
from commonplace.knowledge.store.unit_of_work import kind_queries, unit_of_work
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")

HEADER = "# Memory Context\n"


async def store_two(pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> tuple[UUID, UUID]:
    """A fact and a rule."""
    fact = await store_fact(
        pool,
        engine,
        subject="Ada",
        predicate="allergy",
        content="Ada is allergic to nuts",
        importance=8,
        clock=clock,
    )
    rule = await store_rule(pool, engine, content="Answer in short sentences", clock=clock)
    return fact, rule


@pytest.mark.requirement("RCL-01.1")
async def test_a_pinned_memory_is_in_every_block_of_its_scope(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Whatever the prompt is about, until the pin is removed; twice is as good as once."""
    fact, rule = await store_two(knowledge_pool, engine, clock)
    other = await store_rule(knowledge_pool, engine, content="Elsewhere", scope="travel", clock=clock)
    for kind, memory_id in (("fact", fact), ("rule", rule), ("rule", other), ("rule", rule)):
        pinned = await memory_on(knowledge_pool, clock=clock).pin(kind, memory_id)
        assert isinstance(pinned, Fact | Rule)
        assert pinned.tags == ("pinned",)

    block = await memory_context(knowledge_pool, engine, "Who won the 1998 world cup?", "home", clock=clock)
    await memory_on(knowledge_pool, clock=clock).pin("fact", fact, pinned=False)
    await forget_memory(knowledge_pool, "rule", rule, clock=clock)
    nothing = await memory_context(knowledge_pool, engine, "Who won the 1998 world cup?", "home", clock=clock)

    assert block.partition("\n## Pinned\n")[2].splitlines() == [
        "- [Ada] [allergy]: Ada is allergic to nuts (confidence: 1.00)",
        "- Answer in short sentences (maturity: candidate, effectiveness: 0.00)",
    ]
    assert nothing == HEADER


async def test_the_tag_pins_at_storage_and_stays_with_the_next_value(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A correction of a pinned fact is pinned."""
    key: dict[str, Any] = {"subject": "Ada", "predicate": "allergy"}
    await store_fact(knowledge_pool, engine, **key, content="nuts", tags=["pinned"], clock=clock)
    await store_fact(knowledge_pool, engine, **key, content="nuts and eggs", tags=["health"], clock=clock)

    block = await memory_context(knowledge_pool, engine, "hi", "home", clock=clock)

    assert "## Pinned\n- [Ada] [allergy]: nuts and eggs" in block
    assert block.count("- [") == 1


@pytest.mark.requirement("KNW-05.6", "KNW-02.3")
async def test_a_forgotten_fact_is_not_read(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool, clock: ManualClock
) -> None:
    """Its use is not counted; the storage function of the specification returns its row. A superseded fact is read."""
    key: dict[str, Any] = {"subject": "Ada", "predicate": "lives_in"}
    first = await knowledge.store_fact(**key, content="Paris")
    second = await knowledge.store_fact(**key, content="Rome")
    await knowledge.forget("fact", second.id)
    assert (await knowledge.get("fact", first.id)).reference_count == 1
    with pytest.raises(NotFoundError):
        await knowledge.get("fact", second.id)
    row = await get_memory(knowledge_pool, "fact", second.id, clock=clock)
    assert row is not None
    assert (row["validity"], row["reference_count"]) == ("retracted", 1)


async def test_a_memory_is_not_linked_to_itself(knowledge: KnowledgeMemory) -> None:
    """It cannot supersede itself."""
    rule = (await knowledge.store_rule(content="Ask first")).id
    ends: dict[str, Any] = {
        "source_type": "rule",
        "source_id": rule,
        "target_type": "rule",
        "target_id": rule,
    }
    with pytest.raises(InvalidInputError, match="target_id: expected the id of a memory other"):
        await knowledge.links.create(**ends, relation="supersedes")


async def test_an_episode_cannot_be_pinned(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """It is in no block; and an unknown fact is not found."""
    episode = await store_episode(knowledge_pool, engine, content="rain", butler="home", clock=clock)
    with pytest.raises(InvalidInputError, match="memory_type: expected fact or rule"):
        await memory_on(knowledge_pool, clock=clock).pin("episode", episode)
    with pytest.raises(NotFoundError):
        await memory_on(knowledge_pool, clock=clock).pin("fact", UUID(int=1))


async def test_a_pin_is_in_the_audit_trail(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Once for each change."""
    _, rule = await store_two(knowledge_pool, engine, clock)
    for pinned in (True, True, False):
        await memory_on(knowledge_pool, clock=clock).pin("rule", rule, pinned=pinned)
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        events = await sql.connection.fetch(
            "SELECT event_type FROM memory_events WHERE event_type LIKE '%pinned' ORDER BY created_at, event_type"
        )
    assert sorted(event["event_type"] for event in events) == ["rule_pinned", "rule_unpinned"]


@pytest.mark.requirement("RCL-04.1")
async def test_feedback_takes_the_short_ids_of_a_block(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Shown, used, judged."""
    fact, rule = await store_two(knowledge_pool, engine, clock)
    block = await memory_context(
        knowledge_pool,
        engine,
        "short sentences about nuts",
        "home",
        min_relevance=0.0,
        clock=clock,
        style=BlockStyle(ids=True),
    )
    fact_id, rule_id = f"[{short_id(MemoryType.FACT, fact)}]", f"[{short_id(MemoryType.RULE, rule)}]"

    assert fact_id in block
    assert rule_id in block
    assert (await confirm_memory(knowledge_pool, "fact", fact_id, clock=clock)).id == fact
    assert (await mark_helpful(knowledge_pool, rule_id, clock=clock)).success_count == 1
    assert (await mark_harmful(knowledge_pool, rule_id.upper(), clock=clock)).harmful_count == 1
    assert (await forget_memory(knowledge_pool, "rule", rule_id, clock=clock)).id == rule
    with pytest.raises(NotFoundError):
        await confirm_memory(knowledge_pool, "fact", "f:zzzzzzzzzz", clock=clock)


@pytest.mark.requirement("RCL-04.1")
async def test_an_ambiguous_short_id_lists_the_candidates(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """With ids that tell them apart."""
    ids = await store_two(knowledge_pool, engine, clock)
    other = await store_rule(knowledge_pool, engine, content="Answer at length", clock=clock)
    async with unit_of_work(knowledge_pool) as sql:
        for old, new in (
            (ids[1], "00000000-0000-4000-8000-000000000001"),
            (other, "00000000-8000-4000-8000-000000000001"),
        ):
            await sql.connection.execute("UPDATE rules SET id = $2 WHERE id = $1", old, UUID(new))

    with pytest.raises(InvalidInputError) as error:
        await mark_helpful(knowledge_pool, "r:0000", clock=clock)

    assert "r:0000000 (Answer in short sentences), r:0000004 (Answer at length)" in str(error.value)
    assert (await mark_helpful(knowledge_pool, "r:0000004", clock=clock)).content == "Answer at length"


@pytest.mark.requirement("RCL-04.1")
@pytest.mark.parametrize("kind", MemoryType)
async def test_a_short_id_is_found_by_an_index(knowledge_pool: asyncpg.Pool, kind: MemoryType) -> None:
    """Row-level security leaves the unique index over tenant and id usable for a range."""
    statement = kind_queries(kind).text_of("between")
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        await sql.connection.execute("SET LOCAL enable_seqscan = off")
        plan = await sql.connection.fetch(f"EXPLAIN {statement}", UUID(int=0), UUID(int=9), 6)
    assert any("Index Cond" in line[0] and "id >=" in line[0] for line in plan)


async def test_an_edited_memory_keeps_everything_but_its_text(knowledge: KnowledgeMemory) -> None:
    """The old one is superseded or forgotten; the same text changes nothing; what no longer holds is not edited."""
    fact = await knowledge.store_fact(
        subject="Ada", predicate="tea", content="Ada likes tea", importance=8, scope="home", tags=["food"]
    )
    rule = await knowledge.store_rule(content="Answer briefly", scope="home", tags=["style"])
    edited = await knowledge.edit("fact", short_id(MemoryType.FACT, fact.id), "Ada likes green tea")
    assert isinstance(edited, Fact)
    assert (edited.content, edited.supersedes_id) == ("Ada likes green tea", fact.id)
    assert (edited.importance, edited.scope, edited.tags) == (8, "home", ("food",))
    assert await knowledge.edit("fact", edited.id, "Ada likes green tea") == edited
    changed = await knowledge.edit("rule", rule.id, "Answer in one sentence")
    assert isinstance(changed, Rule)
    assert (changed.content, changed.scope, changed.tags) == ("Answer in one sentence", "home", ("style",))
    (linked,) = await knowledge.links.memories("rule", changed.id)
    assert (linked.relation, linked.memory_id) == ("supersedes", rule.id)
    assert [each.id for each in await knowledge.lists.rules(forgotten=False)] == [changed.id]
    episode = await knowledge.store_episode(content="We met", butler="b")
    for kind, gone in (("fact", fact.id), ("rule", rule.id), ("episode", episode.id)):
        assert gone is not None
        with pytest.raises(InvalidInputError):
            await knowledge.edit(kind, gone, "x")
