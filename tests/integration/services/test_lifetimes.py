"""Settings that let memories last longer than the specified defaults."""

import json
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory, MemoryModuleConfig
from commonplace.knowledge.memories.rules import DECAY_RATE
from commonplace.operational import OperationalMemory

RULE = "Ask Ada before a deployment of staging"


@pytest.mark.requirement("LIF-06.1")
@pytest.mark.parametrize(("days", "is_there"), [(7, False), (60, True)])
async def test_a_setting_says_how_long_an_episode_lives(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    *,
    days: int,
    is_there: bool,
) -> None:
    """Seven days unless it says otherwise; the cleanup deletes what has expired."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, episode_days=days)
    async with KnowledgeMemory.open(settings, engine=engine, clock=clock) as memory:
        await memory.store_episode(content="staging was moved to db-2", butler="ops")
        clock.advance(days=59)
        assert bool(await memory.search("staging was moved")) is is_there
        assert (await memory.upkeep.cleanup()).remaining == is_there


@pytest.mark.requirement("LIF-06.2")
@pytest.mark.parametrize(("minimum", "is_there"), [(0.2, False), (0.05, True)])
async def test_a_setting_says_how_faint_a_rule_may_be_in_a_block(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    *,
    minimum: float,
    is_there: bool,
) -> None:
    """A rule that nobody confirms has a confidence below 0.2 after 92 days, and below 0.05 after 231."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, min_confidence=minimum)
    async with KnowledgeMemory.open(settings, engine=engine, clock=clock) as memory:
        await memory.store_rule(content=RULE)
        clock.advance(days=100)
        await memory.upkeep.sweep()
        assert (RULE in await memory.context(RULE, "ops")) is is_there


@pytest.mark.requirement("LIF-06.2")
@pytest.mark.parametrize(("rate", "is_there"), [(0.01, False), (0.002, True)])
async def test_a_setting_says_how_fast_new_rules_fade(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    *,
    rate: float,
    is_there: bool,
) -> None:
    """It counts for rules that are stored, edited and learned from episodes."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, rule_decay_rate=rate)

    async def learn(prompt: str, *, trigger_source: str) -> str:
        del prompt, trigger_source
        return json.dumps({"new_rules": [{"content": "Announce restarts of staging a day before"}]})

    async with KnowledgeMemory.open(settings, engine=engine, clock=clock) as memory:
        stored = await memory.store_rule(content="Ask before a deployment")
        await memory.edit("rule", stored.id, RULE)
        await memory.store_episode(content="Ada wants restarts announced a day before", butler="ops")
        assert (await memory.runs.consolidate(learn)).total("rules_created") == 1
        rules = await memory.lists.rules(forgotten=False)
        assert {each.decay_rate for each in rules} == {rate}
        clock.advance(days=240)
        assert (await memory.upkeep.sweep()).rules_forgotten == (0 if is_there else 2)
        assert (RULE in await memory.context(RULE, "ops")) is is_there


@pytest.mark.requirement("LIF-06.3")
async def test_a_setting_says_how_long_a_lesson_waits_for_reinforcement(
    database: Settings, clock: ManualClock
) -> None:
    """Within the days of grace, a lesson loses nothing; then it loses a tenth a week, and overviews call it fading."""
    settings = database.model_copy(update={"lesson_grace_days": 180})
    async with OperationalMemory.open(settings, clock=clock) as memory:
        await memory.add(category="timing", service="jellyfin", observation="Takes 60 s to start")
        clock.advance(days=180)
        assert await memory.upkeep.decay() == []
        assert (await memory.figures.total()).fading == 0
        clock.advance(days=14)
        (effect,) = await memory.upkeep.decay()
        assert (effect.confidence_before, effect.confidence_after) == (0.7, 0.5)
        assert (await memory.figures.total()).fading == 1


@pytest.mark.requirement("LIF-06.3")
def test_the_settings_have_the_specified_defaults() -> None:
    """A host's section agrees with the settings."""
    settings = Settings()
    assert (settings.episode_days, settings.lesson_grace_days) == (7, 30)
    assert (settings.min_confidence, settings.rule_decay_rate) == (0.2, DECAY_RATE)
    assert MemoryModuleConfig.of(settings).retrieval == MemoryModuleConfig().retrieval
