"""Facts one relation away from what a topic names."""

from typing import Any
from uuid import UUID

import pytest

from commonplace.core.sources import Source
from commonplace.knowledge import Narrowing
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.search_results import SearchResult

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("LIF-02.3")]

TOPIC = "Anna Novak works at phone"


async def fill(memory: KnowledgeMemory, *, scope: str = "global") -> UUID:
    """Store facts about two companies, and that Anna works at Acme; return the id of that fact."""
    told = await memory.store_fact(
        subject="Anna Novak", predicate="works_at", content="Anna Novak works at Acme Corp"
    )
    for company in ("Acme Corp", "Borealis Corp"):
        await memory.store_fact(
            subject=company, predicate="phone", content="the phone of the company rings", scope=scope
        )
    return told.id


async def recalled(memory: KnowledgeMemory, topic: str = TOPIC, **options: Any) -> list[SearchResult]:  # noqa: ANN401 - a narrowing
    """Return what the topic leads to, without a use."""
    return await memory.recall(
        topic, count=False, min_relevance=0.3, explain=True, narrowing=Narrowing(**options)
    )


def subjects(found: list[SearchResult]) -> list[str]:
    """Return the subjects of results that a relation led to."""
    return [getattr(each.memory, "subject", "") for each in found if each.related_by is not None]


async def test_a_fact_one_relation_away_follows_the_direct_ones(knowledge: KnowledgeMemory) -> None:
    """It says which fact leads to it."""
    await fill(knowledge)
    found = await recalled(knowledge)
    assert subjects(found) == ["Acme Corp"]
    related = found[-1]
    assert related.related_by == found[0].memory.id
    assert related.explanation is not None
    assert "names Acme Corp, and this fact is about it" in related.explanation.why
    assert related.to_json()["related_by"] == str(found[0].memory.id)
    assert "[Acme Corp] [phone]: the phone" in await knowledge.context(TOPIC, "ops", min_relevance=0.3)


async def test_a_relation_begins_and_ends_where_the_topic_says(knowledge: KnowledgeMemory) -> None:
    """It begins at an entity that the topic names, and does not end at one."""
    await fill(knowledge)
    assert subjects(await recalled(knowledge, "Anna Novak works at Acme Corp")) == []
    assert subjects(await recalled(knowledge, "somebody works at phone")) == []


async def test_a_first_name_is_a_name_if_one_entity_alone_has_it(knowledge: KnowledgeMemory) -> None:
    """A second Anna makes the first name ambiguous."""
    await fill(knowledge)
    topic = "Anna works at phone"
    assert subjects(await recalled(knowledge, topic)) == ["Acme Corp"]
    await knowledge.entities.create(canonical_name="Anna Berg", entity_type="person")
    assert subjects(await recalled(knowledge, topic)) == []


async def test_a_relation_shows_nothing_that_the_recall_leaves_out(knowledge: KnowledgeMemory) -> None:
    """Other scopes, less trusted sources, other times and tags."""
    told = await fill(knowledge, scope="secret")
    assert subjects(await recalled(knowledge, scope="ops")) == []
    assert subjects(await recalled(knowledge, scope="secret")) == ["Acme Corp"]
    assert subjects(await recalled(knowledge, min_trust=Source.PERSON)) == []
    assert subjects(await recalled(knowledge, as_of="2020-01-01")) == []
    assert subjects(await recalled(knowledge, tags=["other"])) == []
    await knowledge.forget("fact", told)
    assert subjects(await recalled(knowledge)) == []


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "contextual", "keyword"])
async def test_a_search_puts_related_facts_last(knowledge: KnowledgeMemory, mode: str) -> None:
    """The place is theirs even where direct results fill the limit; the mode keyword finds words alone."""
    told = await fill(knowledge)
    for number in range(6):
        await knowledge.store_fact(
            subject="Anna Novak", predicate=f"p{number}", content=f"Anna Novak owns boat {number}"
        )
    found = await knowledge.search(TOPIC, mode=mode, limit=4, explain=True)
    if mode == "keyword":
        assert subjects(found) == []
        return
    assert [each.related_by for each in found] == [None, None, None, told]
    assert subjects(found) == ["Acme Corp"]
    assert found[-1].explanation is not None
    assert "names Acme Corp, and this fact is about it" in found[-1].explanation.why
    assert subjects(await knowledge.search(TOPIC, mode=mode, types=["episode", "rule"])) == []
    assert subjects(await knowledge.search("somebody works at phone", mode=mode)) == []
