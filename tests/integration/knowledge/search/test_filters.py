"""Filters by tag, time, butler and entity in every mode, and stale memories behind fresh ones."""

from functools import partial
from typing import Any

import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import BlockStyle, Narrowing
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.search_results import STALE

pytestmark = pytest.mark.usefixtures("tenant")

MODES = ("semantic", "keyword", "hybrid", "contextual", "recall")


async def found(memory: KnowledgeMemory, mode: str, **filters: Any) -> list[str]:  # noqa: ANN401
    """Return the last words of what a search or a recall for tea finds."""
    narrowing = Narrowing(**filters)
    if mode == "recall":
        results = await memory.recall(
            "green tea", min_relevance=0.0, count=False, limit=1, narrowing=narrowing
        )
    else:
        results = await memory.search("green tea", mode=mode, limit=1, narrowing=narrowing)
    return [each.memory.content.split()[-1] for each in results]


@pytest.mark.parametrize("mode", MODES)
async def test_filters_hold_before_the_ranking(
    knowledge: KnowledgeMemory, clock: ManualClock, mode: str
) -> None:
    """The only memory that passes is found, though many that do not pass are nearer."""
    anna = await knowledge.entities.create(canonical_name="Anna", entity_type="person")
    for number in range(30):
        await knowledge.store_fact(subject="tea", predicate=f"p{number}", content=f"green tea green {number}")
    clock.advance(days=1)
    moment = clock.now
    await knowledge.store_fact(
        subject="cup",
        predicate="holds",
        content="tea of Anna, last",
        tags=["kitchen", "blue"],
        source_butler="cook",
    )
    clock.advance(days=1)
    await knowledge.store_fact(subject="Anna", predicate="drinks", content="Anna has coffee, or tea, newest")
    assert await found(knowledge, mode, tags=["blue", "kitchen"]) == ["last"]
    assert await found(knowledge, mode, tags=["blue", "red"]) == []
    assert await found(knowledge, mode, since=moment, until=clock.now) == ["last"]
    assert await found(knowledge, mode, learned_by="cook") == ["last"]
    assert await found(knowledge, mode, entity_id=anna.id, until=clock.now) == ["last"]
    assert await found(knowledge, mode, entity_id=str(anna.id), since=clock.now) == ["newest"]
    assert await found(knowledge, mode, entity_id=anna.id, as_of="2000-01-01") == []
    with pytest.raises(InvalidInputError, match="until: expected a moment after since"):
        await found(knowledge, mode, since=moment, until=moment)


async def test_episodes_and_rules_are_filtered_too(knowledge: KnowledgeMemory) -> None:
    """Episodes by their butler; rules by their tags; neither has an entity."""
    anna = await knowledge.entities.create(canonical_name="Anna", entity_type="person")
    await knowledge.store_episode(content="Anna made green tea", butler="cook")
    await knowledge.store_episode(content="green tea arrived", butler="shop")
    await knowledge.store_rule(content="Serve green tea hot", tags=["kitchen"])

    async def types(**filters: Any) -> list[str]:  # noqa: ANN401 - filters
        results = await knowledge.search("green tea", limit=9, narrowing=Narrowing(**filters))
        return [str(each.memory.memory_type) for each in results]

    assert await types(learned_by="cook") == ["episode"]
    assert await types(tags=["kitchen"]) == ["rule"]
    assert await types(entity_id=anna.id) == []


async def test_a_block_is_narrowed_with_its_pinned_memories(knowledge: KnowledgeMemory) -> None:
    """Neither the pinned fact nor the recalled fact of another butler has a line; the butler is the scope."""
    for butler in ("cook", "shop"):
        for tag in ("pinned", "kitchen"):
            await knowledge.store_fact(
                subject=butler,
                predicate=tag,
                content=f"green tea, {butler} {tag}",
                tags=[tag],
                source_butler=butler,
            )

    async def lines(**filters: Any) -> set[str]:  # noqa: ANN401 - filters
        block = await knowledge.context(
            "green tea",
            "ops",
            min_relevance=0.0,
            narrowing=Narrowing(**filters),
            style=BlockStyle(note=False),
        )
        return {
            " ".join(line.split(" (")[0].split()[-2:]) for line in block.splitlines() if line.startswith("- ")
        }

    assert await lines(learned_by="cook") == {"cook pinned", "cook kitchen"}
    assert await lines(tags=["kitchen"]) == {"cook kitchen", "shop kitchen"}
    assert await lines(until="2000-01-01") == set()
    with pytest.raises(InvalidInputError, match="scope: expected no scope, because the butler is the scope"):
        await lines(scope="ops")


@pytest.mark.parametrize("mode", MODES)
async def test_a_stale_memory_ranks_lower_until_it_is_confirmed(
    knowledge: KnowledgeMemory, mode: str
) -> None:
    """In every mode, also where the caller asks for one result."""
    knowledge.session.clock = utc_now
    source = await knowledge.store_fact(subject="shop", predicate="sells", content="leaves")
    await knowledge.store_fact(subject="pot", predicate="has", content="green tea and much else, fresh")
    derived = await knowledge.store_fact(subject="pot", predicate="holds", content="green tea, stale")
    await knowledge.links.create(
        source_type="fact",
        source_id=derived.id,
        target_type="fact",
        target_id=source.id,
        relation="derived_from",
    )
    assert await found(knowledge, mode) == ["stale"]
    await knowledge.forget("fact", source.id)
    assert await found(knowledge, mode) == ["fresh"]
    search = knowledge.recall if mode == "recall" else partial(knowledge.search, mode=mode)
    (told,) = [each for each in await search("green tea", explain=True) if each.memory.id == derived.id]
    assert told.is_stale
    assert told.explanation is not None
    assert told.explanation.why.endswith(STALE)
    await knowledge.confirm("fact", derived.id)
    assert await found(knowledge, mode) == ["stale"]


async def test_a_stale_memory_stays_among_the_results_of_a_full_store(knowledge: KnowledgeMemory) -> None:
    """Fused scores lie close together: it loses some places, and does not fall behind everything unrelated."""
    knowledge.session.clock = utc_now
    source = await knowledge.store_fact(subject="shop", predicate="sells", content="leaves")
    derived = await knowledge.store_fact(subject="pot", predicate="holds", content="green tea, stale")
    await knowledge.links.create(
        source_type="fact",
        source_id=derived.id,
        target_type="fact",
        target_id=source.id,
        relation="derived_from",
    )
    await knowledge.store_facts(
        [FactDraft(subject=f"road {n}", predicate="leads", content=f"to mile {n}") for n in range(40)]
    )
    await knowledge.forget("fact", source.id)
    found = await knowledge.search("green tea", limit=10)
    assert [each.memory.id for each in found if each.is_stale] == [derived.id]


@pytest.mark.parametrize("mode", MODES)
async def test_a_memory_that_names_a_forgotten_episode_is_stale(
    knowledge: KnowledgeMemory, mode: str
) -> None:
    """It is listed for review, until it is confirmed."""
    knowledge.session.clock = utc_now
    episode = await knowledge.store_episode(content="Anna said so", butler="ops")
    assert episode.id is not None
    await knowledge.store_fact(subject="pot", predicate="has", content="green tea and much else, fresh")
    derived = await knowledge.store_fact(
        subject="pot", predicate="holds", content="green tea, stale", source_episode_id=episode.id
    )
    assert await found(knowledge, mode) == ["stale"]
    await knowledge.forget("episode", episode.id)
    assert await found(knowledge, mode) == ["fresh"]
    assert [(each.id, each.reason) for each in await knowledge.reviews.waiting()] == [(derived.id, "stale")]
    await knowledge.confirm("fact", derived.id)
    assert await found(knowledge, mode) == ["stale"]
    assert await knowledge.reviews.waiting() == []
