"""The decay sweep, the cleanup of episodes, and the numbers of memories by state."""

import asyncio
import logging
from dataclasses import asdict, replace
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.confidence import effective_confidence
from commonplace.core.errors import InvalidInputError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    create_link,
    forget_memory,
    get_links,
    get_memory,
    memory_stats,
    run_decay_sweep,
    run_episode_cleanup,
    store_episode,
    store_episodes,
    store_fact,
    store_facts,
    store_rule,
    store_rules,
)
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.knowledge.upkeep import cleanup, decay
from commonplace.knowledge.upkeep.cleanup import CleanupReceipt
from commonplace.knowledge.upkeep.decay import DecayReceipt
from commonplace.knowledge.upkeep.stats import EpisodeStats

pytestmark = pytest.mark.usefixtures("tenant")

NOTHING = {
    "facts_fading": 0,
    "facts_expired": 0,
    "facts_recovered": 0,
    "rules_fading": 0,
    "rules_forgotten": 0,
    "rules_recovered": 0,
}


async def execute(pool: asyncpg.Pool, sql: str, *arguments: object) -> None:
    """Run a statement of our own as the tenant."""
    async with unit_of_work(pool) as work:
        await work.connection.execute(sql, *arguments)


async def state(pool: asyncpg.Pool, key: UUID) -> tuple[str, str | None]:
    """Return a fact's validity and the status in its metadata."""
    row = await get_memory(pool, "fact", key)
    assert row is not None
    return row["validity"], row["metadata"].get("status")


@pytest.mark.requirement("KNW-09.3", "KNW-02.4", "KNW-02.5", "KNW-09.1", "KNW-32.1")
async def test_facts_fade_expire_and_recover(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """By what is left of their confidence since they were confirmed; permanent ones stay."""
    facts = {
        permanence: await store_fact(
            knowledge_pool,
            engine,
            subject="Ann",
            predicate=permanence,
            content="x",
            permanence=permanence,
            metadata={"kept": 1},
            clock=clock,
        )
        for permanence in ("permanent", "standard", "volatile", "ephemeral")
    }
    # exp(-0.1 * 17) = 0.183 and exp(-0.03 * 17) = 0.6
    clock.advance(days=17)
    receipt = await run_decay_sweep(knowledge_pool, clock=clock)
    assert (receipt.facts_evaluated, receipt.facts_fading, receipt.facts_expired) == (3, 1, 0)
    assert await state(knowledge_pool, facts["ephemeral"]) == ("active", "fading")
    assert await state(knowledge_pool, facts["volatile"]) == ("active", None)
    await confirm_memory(knowledge_pool, "fact", facts["ephemeral"], clock=clock)
    receipt = await run_decay_sweep(knowledge_pool, clock=clock)
    assert receipt.facts_recovered == 1
    assert await state(knowledge_pool, facts["ephemeral"]) == ("active", None)
    # exp(-0.1 * 30) = 0.0498 and exp(-0.03 * 47) = 0.24
    clock.advance(days=30)
    receipt = await run_decay_sweep(knowledge_pool, clock=clock)
    assert (receipt.facts_fading, receipt.facts_expired) == (0, 1)
    assert await state(knowledge_pool, facts["ephemeral"]) == ("expired", None)
    clock.advance(days=100_000)
    receipt = await run_decay_sweep(knowledge_pool, clock=clock)
    assert receipt == DecayReceipt(**NOTHING | {"facts_expired": 2}, facts_evaluated=2, rules_evaluated=0)
    row = await get_memory(knowledge_pool, "fact", facts["permanent"])
    assert row is not None
    assert (row["validity"], row["metadata"], row["confidence"]) == ("active", {"kept": 1}, 1.0)


@pytest.mark.requirement("KNW-09.3", "R-KNW-7")
async def test_rules_fade_and_are_forgotten(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A rule starts at 0.5 and loses one hundredth a day."""
    rule = await store_rule(knowledge_pool, engine, content="Ask first", clock=clock)
    # 0.5 * exp(-0.01 * 92) = 0.199
    clock.advance(days=92)
    assert (await run_decay_sweep(knowledge_pool, clock=clock)).rules_fading == 1
    row = await get_memory(knowledge_pool, "rule", rule)
    assert row is not None
    assert row["metadata"] == {"status": "fading"}
    await confirm_memory(knowledge_pool, "rule", rule, clock=clock)
    assert (await run_decay_sweep(knowledge_pool, clock=clock)).rules_recovered == 1
    # 0.5 * exp(-0.01 * 231) = 0.0496
    clock.advance(days=231)
    assert (await run_decay_sweep(knowledge_pool, clock=clock)).rules_forgotten == 1
    assert await get_memory(knowledge_pool, "rule", rule) is None
    assert (await run_decay_sweep(knowledge_pool, clock=clock)).rules_evaluated == 0


@pytest.mark.requirement("R-KNW-2")
async def test_a_memory_that_was_never_confirmed_decays_from_its_creation(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """It is not gone at once."""
    fact = await store_fact(knowledge_pool, engine, subject="Ann", predicate="p", content="x", clock=clock)
    await execute(knowledge_pool, "UPDATE facts SET last_confirmed_at = NULL")
    clock.advance(days=100)
    await run_decay_sweep(knowledge_pool, clock=clock)
    assert await state(knowledge_pool, fact) == ("active", None)
    clock.advance(days=200)
    await run_decay_sweep(knowledge_pool, clock=clock)
    assert await state(knowledge_pool, fact) == ("active", "fading")


async def test_a_second_sweep_changes_nothing(
    knowledge_pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither later nor at the same time, and the pages cover every row."""
    monkeypatch.setattr(decay, "PAGE_ROWS", 7)
    drafts = [
        FactDraft(subject="Ann", predicate=f"p{n}", content="x", permanence="ephemeral") for n in range(30)
    ]
    await store_facts(knowledge_pool, engine, drafts, clock=clock)
    await store_rules(knowledge_pool, engine, [RuleDraft(content=f"r{n}") for n in range(14)], clock=clock)
    clock.advance(days=20)
    receipts = await asyncio.gather(*(run_decay_sweep(knowledge_pool, clock=clock) for _ in range(3)))
    assert sum(receipt.facts_fading for receipt in receipts) == 30
    assert {(receipt.facts_evaluated, receipt.rules_evaluated) for receipt in receipts} == {(30, 14)}
    seen: list[tuple[str, int]] = []
    again = await run_decay_sweep(
        knowledge_pool, on_progress=lambda progress: seen.append((progress.step, progress.done)), clock=clock
    )
    assert seen == [
        *(("facts checked", done) for done in (7, 14, 21, 28, 30)),
        *(("rules checked", done) for done in (7, 14, 14)),
    ]
    assert again == DecayReceipt(**NOTHING, facts_evaluated=30, rules_evaluated=14)


@pytest.mark.requirement("KNW-09")
async def test_the_database_decays_as_the_pure_function_does(
    knowledge_pool: asyncpg.Pool, clock: ManualClock
) -> None:
    """For rates and ages from none to beyond what a float can tell from zero."""
    sql = "SELECT commonplace_effective_confidence($1::float8, $2::float8, $3::timestamptz, $4::timestamptz)"
    for confidence in (0.0, 0.5, 1.0):
        for rate in (0.0, 0.002, 0.008, 0.03, 0.1, 1e9):
            for days in (-1.0, 0.0, 0.5, 17.0, 365.0, 100_000.0):
                confirmed_at = clock.now - timedelta(days=days)
                found = await knowledge_pool.fetchval(sql, confidence, rate, confirmed_at, clock.now)
                expected = effective_confidence(confidence, rate, confirmed_at, clock.now)
                assert found == pytest.approx(expected, abs=1e-300, rel=1e-12)


@pytest.mark.requirement("KNW-15.1", "KNW-15.3", "R-KNW-4")
async def test_expired_episodes_are_deleted(
    knowledge_pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With their links; those that nobody consolidated are counted and logged, and what was learned stays."""
    old = await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock)
    fact = await store_fact(
        knowledge_pool, engine, subject="Ann", predicate="p", content="x", source_episode_id=old
    )
    ends = {"source_type": "fact", "source_id": fact, "target_type": "episode", "target_id": old}
    await create_link(knowledge_pool, relation="derived_from", **ends)
    clock.advance(days=3)
    await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock)
    clock.advance(days=4)
    none = CleanupReceipt(expired_deleted=0, expired_unconsolidated=0, capacity_deleted=0, remaining=2)
    assert await run_episode_cleanup(knowledge_pool, clock=clock) == none
    clock.advance(seconds=1)
    with caplog.at_level(logging.WARNING):
        result = await run_episode_cleanup(knowledge_pool, clock=clock)
    assert result == replace(none, expired_deleted=1, expired_unconsolidated=1, remaining=1)
    assert "1 episodes expired before they were consolidated" in caplog.text
    assert await get_links(knowledge_pool, "fact", fact) == []
    row = await get_memory(knowledge_pool, "fact", fact)
    assert row is not None
    assert row["source_episode_id"] is None


@pytest.mark.requirement("KNW-15.2", "KNW-15.3", "KNW-32.2")
async def test_consolidated_episodes_make_room(
    knowledge_pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The oldest first, as far as needed; those that wait are never touched."""
    monkeypatch.setattr(cleanup, "BATCH_ROWS", 3)
    drafts = [
        EpisodeDraft(content=f"{n}", butler="b", created_at=clock.now - timedelta(minutes=n))
        for n in range(20)
    ]
    ids = [each.id for each in await store_episodes(knowledge_pool, engine, drafts, clock=clock)]
    sql = "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated' WHERE id = ANY($1)"
    await execute(knowledge_pool, sql, ids[:12])
    seen: list[tuple[str, int]] = []
    result = await run_episode_cleanup(
        knowledge_pool,
        max_entries=15,
        on_progress=lambda progress: seen.append((progress.step, progress.done)),
        clock=clock,
    )
    assert seen == [
        ("expired episodes deleted", 0),
        *(("episodes above the limit deleted", done) for done in (3, 5, 5)),
    ]
    assert result == CleanupReceipt(
        expired_deleted=0, expired_unconsolidated=0, capacity_deleted=5, remaining=15
    )
    async with unit_of_work(knowledge_pool, readonly=True) as work:
        left = {row[0] for row in await work.connection.fetch("SELECT id FROM episodes")}
    assert left == set(ids[:7]) | set(ids[12:])
    results = await asyncio.gather(
        *(run_episode_cleanup(knowledge_pool, max_entries=13, clock=clock) for _ in range(3))
    )
    assert sum(result.capacity_deleted for result in results) == 2
    result = await run_episode_cleanup(knowledge_pool, max_entries=0, clock=clock)
    assert (result.capacity_deleted, result.remaining) == (5, 8)
    for wrong in (-1, 2**63):
        with pytest.raises(InvalidInputError, match="max_entries"):
            await run_episode_cleanup(knowledge_pool, max_entries=wrong)


@pytest.mark.requirement("KNW-22.1", "KNW-22.2", "KNW-22.3", "KNW-22.4")
async def test_stats_count_memories_by_state(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Of all scopes, or of the global one and one more."""
    nothing = await memory_stats(knowledge_pool)
    idle = {"leased": 0, "failed": 0, "dead_letter": 0}
    assert nothing.episodes == EpisodeStats(total=0, unconsolidated=0, backlog_age_hours=None, **idle)
    await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock)
    done = await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock)
    sql = "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated' WHERE id = $1"
    await execute(knowledge_pool, sql, done)
    for predicate, scope in (("a", "global"), ("a", "global"), ("b", "global"), ("c", "home"), ("d", "work")):
        await store_fact(
            knowledge_pool, engine, subject="Ann", predicate=predicate, content="x", scope=scope, clock=clock
        )
    await execute(
        knowledge_pool, """UPDATE facts SET metadata = '{"status": "fading"}' WHERE predicate = 'c'"""
    )
    retracted = await store_fact(knowledge_pool, engine, subject="Ann", predicate="e", content="x")
    await forget_memory(knowledge_pool, "fact", retracted)
    await store_rule(knowledge_pool, engine, content="x")
    await store_rule(knowledge_pool, engine, content="y", scope="home")
    await execute(knowledge_pool, "UPDATE rules SET maturity = 'proven' WHERE scope = 'home'")
    forgotten = await store_rule(knowledge_pool, engine, content="z", scope="work")
    await forget_memory(knowledge_pool, "rule", forgotten)
    clock.advance(hours=36)
    stats = await memory_stats(knowledge_pool, clock=clock)
    assert asdict(stats) == {
        "episodes": {"total": 2, "unconsolidated": 1, "backlog_age_hours": 36.0, **idle},
        "facts": {"active": 3, "fading": 1, "superseded": 1, "expired": 0, "retracted": 1},
        "rules": {"candidate": 1, "established": 0, "proven": 1, "anti_pattern": 0, "forgotten": 1},
    }
    home = await memory_stats(knowledge_pool, scope="home", clock=clock)
    assert home.episodes == stats.episodes
    assert asdict(home.facts) == {"active": 2, "fading": 1, "superseded": 1, "expired": 0, "retracted": 1}
    assert asdict(home.rules) == {
        "candidate": 1,
        "established": 0,
        "proven": 1,
        "anti_pattern": 0,
        "forgotten": 0,
    }
