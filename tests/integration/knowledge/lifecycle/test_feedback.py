"""Feedback on rules: promotion, demotion, the record of applications, and inversion."""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError, SecretRefusedError
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.kinds import Rule
from commonplace.knowledge.storage_functions import (
    forget_memory,
    invert_to_anti_pattern,
    mark_harmful,
    mark_helpful,
    store_rule,
)
from commonplace.knowledge.store.unit_of_work import unit_of_work

pytestmark = pytest.mark.usefixtures("tenant")


@pytest.fixture
async def rule(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> UUID:
    """A rule that is a candidate, with a key of its own in the metadata."""
    return await store_rule(
        knowledge_pool, engine, content="Deploy on Fridays", metadata={"origin": "ops"}, clock=clock
    )


async def helped(pool: asyncpg.Pool, rule: UUID, times: int, clock: ManualClock) -> Rule:
    """Mark a rule as helpful some times, and return what it is then."""
    for _ in range(times):
        row = await mark_helpful(pool, rule, clock=clock)
    return row


@pytest.mark.requirement("KNW-21.1", "KNW-03.1", "KNW-03.2")
async def test_helpful_marks_promote(knowledge_pool: asyncpg.Pool, rule: UUID, clock: ManualClock) -> None:
    """The fifth establishes; the fifteenth proves, once the rule is thirty days old."""
    row = await helped(knowledge_pool, rule, 4, clock)
    assert (row.maturity, row.applied_count, row.success_count) == ("candidate", 4, 4)
    assert (row.effectiveness_score, row.last_applied_at) == (1.0, clock.now)
    assert (await helped(knowledge_pool, rule, 1, clock)).maturity == "established"
    clock.advance(days=29)
    assert (await helped(knowledge_pool, rule, 10, clock)).maturity == "established"
    clock.advance(days=1)
    row = await helped(knowledge_pool, rule, 1, clock)
    assert (row.maturity, row.last_evaluated_at, row.metadata) == (
        "proven",
        clock.now,
        {"origin": "ops"},
    )


@pytest.mark.requirement("KNW-21.2", "KNW-03.3", "KNW-03.4")
async def test_harmful_marks_demote(knowledge_pool: asyncpg.Pool, rule: UUID, clock: ManualClock) -> None:
    """Four times as heavy as helpful ones; the reasons are kept."""
    clock.advance(days=30)
    await helped(knowledge_pool, rule, 16, clock)
    row = await mark_harmful(knowledge_pool, rule, reason=" it\x00 broke\n", clock=clock)
    assert (row.applied_count, row.success_count, row.harmful_count) == (17, 16, 1)
    assert row.effectiveness_score == pytest.approx(16 / 20.01)
    assert (row.maturity, row.metadata["harmful_reasons"]) == ("established", ["it broke"])
    for _ in range(2):
        row = await mark_harmful(knowledge_pool, str(rule), clock=clock)
    assert row.effectiveness_score == pytest.approx(16 / 28.01)
    assert (row.maturity, row.last_applied_at) == ("candidate", clock.now)
    assert "needs_inversion" not in row.metadata


@pytest.mark.requirement("KNW-21.3", "KNW-03.5", "KNW-31.1")
async def test_a_rule_that_keeps_doing_harm_becomes_its_opposite(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, rule: UUID, clock: ManualClock
) -> None:
    """The third harm says so; inverted, it is found by its new words, and feedback changes its state no more."""
    for reason in ("nobody was there", None):
        await mark_harmful(knowledge_pool, rule, reason=reason, clock=clock)
    with pytest.raises(InvalidInputError, match="rule_id: expected a rule with at least 3 harmful marks"):
        await invert_to_anti_pattern(knowledge_pool, engine, rule)
    row = await mark_harmful(knowledge_pool, rule, reason="pagers rang", clock=clock)
    assert row.metadata["needs_inversion"] is True
    inverted = await invert_to_anti_pattern(knowledge_pool, engine, rule, clock=clock)
    text = (
        "ANTI-PATTERN: Do NOT Deploy on Fridays. This caused problems because: nobody was there; pagers rang"
    )
    assert (inverted.maturity, inverted.content) == ("anti_pattern", text)
    assert inverted.metadata == {
        "origin": "ops",
        "harmful_reasons": ["nobody was there", "pagers rang"],
        "original_content": "Deploy on Fridays",
    }
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        stored = await sql.connection.fetchrow(
            "SELECT embedding, search_vector @@ plainto_tsquery('english', 'pagers') AS found FROM rules"
        )
    assert stored["embedding"].to_list() == pytest.approx(engine.embed(text))
    assert stored["found"]
    again = await invert_to_anti_pattern(knowledge_pool, engine, rule)
    assert again.content == text
    row = await helped(knowledge_pool, rule, 30, clock)
    assert row.maturity == "anti_pattern"


async def harmed(memory: KnowledgeMemory, rule: UUID, *reasons: str) -> Rule:
    """Mark a rule as harmful once for each reason, and return what it is then."""
    for reason in reasons:
        row = await memory.mark_harmful(rule, reason=reason)
    return row


@pytest.mark.requirement("LIF-01.2")
@pytest.mark.requirement("KNW-21.3", "KNW-03.5")
async def test_the_third_harm_inverts_a_rule_at_once(
    knowledge: KnowledgeMemory, rule: UUID, clock: ManualClock
) -> None:
    """Equal reasons stand once, and the decay of the warning starts anew."""
    clock.advance(days=80)
    warning = await harmed(knowledge, rule, "Pagers rang.", "pagers  rang", "Nobody was there")
    assert (warning.maturity, warning.last_confirmed_at) == ("anti_pattern", clock.now)
    assert warning.content.endswith("because: Pagers rang.; Nobody was there")
    assert not warning.needs_inversion


async def test_an_inversion_that_failed_is_made_later(
    knowledge: KnowledgeMemory, engine: EmbeddingEngine, rule: UUID, tmp_path: Path
) -> None:
    """The mark counts without the model; the worker's task inverts the rule."""
    knowledge.session.engine = EmbeddingEngine(EmbeddingOptions(model=str(tmp_path)))
    marked = await harmed(knowledge, rule, "a", "b", "c")
    assert (marked.maturity, marked.needs_inversion) == ("candidate", True)
    knowledge.session.engine = engine
    assert [each.maturity for each in await knowledge.upkeep.invert_harmful_rules()] == ["anti_pattern"]
    assert await knowledge.upkeep.invert_harmful_rules() == []


async def test_a_redeemed_rule_needs_no_inversion(
    knowledge_pool: asyncpg.Pool, rule: UUID, clock: ManualClock
) -> None:
    """Helpful marks lift it over the bound."""
    for _ in range(3):
        assert (await mark_harmful(knowledge_pool, rule, clock=clock)).needs_inversion == (_ == 2)
    assert (await helped(knowledge_pool, rule, 1, clock)).needs_inversion
    assert not (await helped(knowledge_pool, rule, 1, clock)).needs_inversion


@pytest.mark.requirement("LIF-01.1")
async def test_a_rule_that_helps_every_week_stays(
    knowledge: KnowledgeMemory, rule: UUID, clock: ManualClock
) -> None:
    """A helpful mark confirms the rule."""
    for _ in range(52):
        clock.advance(days=7)
        await knowledge.upkeep.sweep()
        marked = await knowledge.mark_helpful(rule)
    assert (marked.is_forgotten, marked.is_fading, marked.last_confirmed_at) == (False, False, clock.now)


@pytest.mark.requirement("KNW-30.1")
async def test_each_application_is_recorded(
    knowledge_pool: asyncpg.Pool, rule: UUID, clock: ManualClock
) -> None:
    """With outcome, time, actor, reason and context."""
    await mark_helpful(knowledge_pool, rule, context={"session": 1}, clock=clock)
    clock.advance(hours=1)
    await mark_harmful(knowledge_pool, rule, reason="late", clock=clock)
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        rows = await sql.list_applications(rule_id=rule, limit=10)
    kept = [(row["outcome"], row["reason"], row["actor"], row["context"]) for row in rows]
    assert kept == [("harmful", "late", "tester", {}), ("helpful", None, "tester", {"session": 1})]
    assert rows[0]["applied_at"] == clock.now


async def test_feedback_from_many_at_once_counts_each(knowledge_pool: asyncpg.Pool, rule: UUID) -> None:
    """No mark is lost."""
    await asyncio.gather(
        *(mark_helpful(knowledge_pool, rule) for _ in range(10)),
        *(mark_harmful(knowledge_pool, rule, reason=f"reason {n}") for n in range(10)),
    )
    row = await mark_helpful(knowledge_pool, rule)
    assert (row.applied_count, row.success_count, row.harmful_count) == (21, 11, 10)
    assert len(row.metadata["harmful_reasons"]) == 10


async def test_a_rule_that_is_not_there_takes_no_feedback(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, rule: UUID
) -> None:
    """Unknown and forgotten ones give nothing; a malformed id and a secret as reason are refused."""
    await forget_memory(knowledge_pool, "rule", rule)
    for missing in (rule, uuid4()):
        for feedback in (
            mark_helpful(knowledge_pool, missing),
            mark_harmful(knowledge_pool, missing),
            invert_to_anti_pattern(knowledge_pool, engine, missing),
        ):
            with pytest.raises(NotFoundError):
                await feedback
    with pytest.raises(InvalidInputError, match="rule_id: expected a UUID"):
        await mark_helpful(knowledge_pool, "first")
    with pytest.raises(SecretRefusedError, match="reason"):
        await mark_harmful(knowledge_pool, rule, reason="token: 8f3kd92kd0")
