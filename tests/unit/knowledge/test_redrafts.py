"""Drafts that store a memory again."""

from dataclasses import fields
from datetime import timedelta
from uuid import UUID

import pytest

from commonplace.core.sources import Source
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Memory
from support.memories import NOW, a_fact, a_rule, an_episode

LEARNED = {
    "source_butler": "ops",
    "source_episode_id": UUID(int=2),
    "scope": "ops",
    "metadata": {"ticket": 7, "forgotten": True},
    "source": "person",
    "trust": "document",
}
FACT = a_fact(
    **LEARNED,
    entity_id=UUID(int=3),
    importance=8.0,
    tags=["net"],
    valid_from=NOW,
    valid_to=NOW + timedelta(1),
)
RULE = a_rule(**LEARNED, tags=["net"])
EPISODE = an_episode(**LEARNED, session_id=UUID(int=4), importance=8.0)


@pytest.mark.parametrize(
    ("draft", "memory"),
    [(FactDraft.of(FACT), FACT), (RuleDraft.of(RULE), RULE), (EpisodeDraft.of(EPISODE), EPISODE)],
    ids=["fact", "rule", "episode"],
)
def test_a_draft_of_a_memory_has_all_its_fields(
    draft: FactDraft | RuleDraft | EpisodeDraft, memory: Memory
) -> None:
    """Except for metadata that the lifecycle sets; the source is the one that stands for the memory now."""
    drafted = {each.name: getattr(draft, each.name) for each in fields(draft)}
    assert drafted.pop("metadata") == {"ticket": 7}
    assert drafted.pop("source") is Source.DOCUMENT
    assert drafted == {name: getattr(memory, name) for name in drafted}
    assert None not in drafted.values()
