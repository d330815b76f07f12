"""Recall of facts and rules on a real server: composite scores, and references that are counted."""

import asyncio
import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.core.json_values import json_safe
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import BlockStyle, Narrowing
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Fact
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.rules.scoring import score
from commonplace.knowledge.storage_functions import recall, store_episode, store_fact, store_facts, store_rule
from commonplace.knowledge.store.unit_of_work import unit_of_work

pytestmark = pytest.mark.usefixtures("tenant")

WEIGHTS = ScoreWeights()


def recency_of(found: SearchResult) -> float:
    """The recency of an explained recall."""
    assert found.explanation is not None
    assert found.explanation.components is not None
    return found.explanation.components["recency"].value


async def count_of(pool: asyncpg.Pool, memory: UUID) -> tuple[int, Any]:
    """The references of a fact or rule, as they are stored."""
    async with unit_of_work(pool) as sql:
        row = await sql.connection.fetchrow(
            "SELECT reference_count, last_referenced_at FROM facts WHERE id = $1"
            " UNION ALL SELECT reference_count, last_referenced_at FROM rules WHERE id = $1",
            memory,
        )
    return row["reference_count"], row["last_referenced_at"]


@pytest.mark.requirement("KNW-08.1")
async def test_results_come_by_their_composite_scores(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """An important memory overtakes a more relevant one; each score is that of the formula."""
    drafts = [
        FactDraft(subject="tent", predicate="colour", content="the tent is green", importance=1.0),
        FactDraft(subject="tent", predicate="fault", content="the tent is greenish", importance=10.0),
    ]
    await store_facts(knowledge_pool, engine, drafts, clock=clock)

    found = await recall(knowledge_pool, engine, "the tent is green", explain=True, clock=clock)

    assert [each.memory.predicate for each in found if isinstance(each.memory, Fact)] == ["fault", "colour"]
    for each in found:
        # The reference that this recall counted is not in its score.
        assert isinstance(each.memory, Fact)
        assert each.explanation is not None
        assert each.explanation.components is not None
        before = replace(each.memory, last_referenced_at=None)
        relevance = each.explanation.components["relevance"].value
        scored = score(before, relevance, WEIGHTS, clock())
        assert each.scores.composite_score == pytest.approx(scored.composite, abs=1e-5)


@pytest.mark.requirement("KNW-08.1")
async def test_the_configured_weights_are_used(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """By relevance alone the order is the other way around."""
    drafts = [
        FactDraft(subject="tent", predicate="colour", content="the tent is green", importance=1.0),
        FactDraft(subject="tent", predicate="fault", content="the tent is greenish", importance=10.0),
    ]
    await store_facts(knowledge_pool, engine, drafts)
    weights = ScoreWeights(relevance=1.0, importance=0.0, recency=0.0, confidence=0.0)

    found = await recall(knowledge_pool, engine, "the tent is green", weights=weights)

    assert [each.memory.predicate for each in found if isinstance(each.memory, Fact)] == ["colour", "fault"]


@pytest.mark.requirement("KNW-08.3")
async def test_a_recall_counts_a_reference_to_what_it_returns_and_to_nothing_else(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Counted in the database and shown in the result; the next recall finds it recent."""
    tent, sea = await store_facts(
        knowledge_pool,
        engine,
        [
            FactDraft(subject="tent", predicate="p", content="the tent is green", importance=9.0),
            FactDraft(subject="sea", predicate="p", content="unlike anything", importance=0.0),
        ],
        clock=clock,
    )
    rule = await store_rule(knowledge_pool, engine, content="pack the tent first", clock=clock)
    fact, other = tent.id, sea.id

    first = await recall(knowledge_pool, engine, "the tent", limit=2, clock=clock)
    clock.advance(days=7)
    second = await recall(knowledge_pool, engine, "the tent", limit=2, clock=clock)

    assert {each.memory.id for each in first} == {fact, rule}
    assert [each.memory.reference_count for each in first] == [1, 1]
    assert [each.memory.reference_count for each in second] == [2, 2]
    assert await count_of(knowledge_pool, fact) == (2, clock())
    assert await count_of(knowledge_pool, rule) == (2, clock())
    assert await count_of(knowledge_pool, other) == (0, None)


@pytest.mark.requirement("KNW-08.2")
async def test_what_was_referred_to_a_week_ago_scores_half_the_recency(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """And what never was, none."""
    await store_fact(
        knowledge_pool,
        engine,
        subject="tent",
        predicate="p",
        content="green",
        permanence="permanent",
        clock=clock,
    )
    scores = []
    for _ in range(2):
        (each,) = await recall(knowledge_pool, engine, "tent", clock=clock, explain=True)
        scores.append(recency_of(each))
        clock.advance(days=7)

    assert scores == [0.0, 0.5]


@pytest.mark.requirement("R-KNW-5")
async def test_a_recall_covers_facts_and_rules_by_decayed_confidence(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A rule that was just stored is recalled; episodes are not; what decayed below the threshold is not."""
    await store_rule(knowledge_pool, engine, content="tent rule", clock=clock)
    await store_fact(
        knowledge_pool,
        engine,
        subject="tent",
        predicate="p",
        content="tent fact",
        permanence="volatile",
        clock=clock,
    )
    await store_episode(knowledge_pool, engine, content="tent episode", butler="b", clock=clock)

    fresh = await recall(knowledge_pool, engine, "tent", clock=clock)
    clock.advance(days=60)
    later = await recall(knowledge_pool, engine, "tent", clock=clock)

    assert sorted(each.memory.memory_type for each in fresh) == ["fact", "rule"]
    assert [each.memory.memory_type for each in later] == ["rule"]


@pytest.mark.requirement("KNW-34.1")
async def test_equal_scores_come_later_first_then_by_id(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """With no weights at all, only the chain decides."""
    weights = ScoreWeights(relevance=0.0, importance=0.0, recency=0.0, confidence=0.0)
    older = [await store_rule(knowledge_pool, engine, content=f"tent {n}", clock=clock) for n in range(3)]
    clock.advance(seconds=1)
    newer = [await store_rule(knowledge_pool, engine, content=f"tent {n}", clock=clock) for n in range(3, 6)]

    found = await recall(knowledge_pool, engine, "tent", weights=weights, clock=clock)

    assert [each.memory.id for each in found] == [*sorted(newer), *sorted(older)]


async def test_a_recall_explains_its_scores(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """In JSON, with a sentence."""
    await store_rule(knowledge_pool, engine, content="pack the tent first")

    (each,) = await recall(knowledge_pool, engine, "tent", explain=True)

    explanation = json.loads(json.dumps(json_safe(each.explanation), allow_nan=False))
    assert explanation["composite_score"] == pytest.approx(each.scores.composite_score, abs=1e-5)
    assert "It is number 1 by meaning and number 1 by words." in explanation["why"]


async def test_an_empty_topic_recalls_what_matters_anyway(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """A session without a prompt still has its important memories."""
    drafts = [
        FactDraft(subject=str(number), predicate="p", content=f"word{number}", importance=float(number))
        for number in range(5)
    ]
    await store_facts(knowledge_pool, engine, drafts)
    weights = ScoreWeights(relevance=0.0, importance=1.0, recency=0.0, confidence=0.0)

    found = await recall(knowledge_pool, engine, "", weights=weights)

    assert [each.memory.subject for each in found if isinstance(each.memory, Fact)] == [
        "4",
        "3",
        "2",
        "1",
        "0",
    ]


async def test_many_recalls_of_the_same_memories_lose_no_reference(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """They lock in one order, so that none waits for another for ever."""
    facts = await store_facts(
        knowledge_pool,
        engine,
        [FactDraft(subject=str(number), predicate="p", content=f"tent {number}") for number in range(8)],
    )
    rule = await store_rule(knowledge_pool, engine, content="tent rule")

    await asyncio.gather(
        *(
            recall(knowledge_pool, engine, f"tent {number % 8}", limit=20, min_relevance=0.0)
            for number in range(24)
        )
    )

    assert [(await count_of(knowledge_pool, receipt.id))[0] for receipt in facts] == [24] * 8
    assert (await count_of(knowledge_pool, rule))[0] == 24


@pytest.mark.requirement("KNW-29.2")
async def test_a_recall_counts_nothing_of_another_tenant(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Nor does it return it."""
    rule = await store_rule(knowledge_pool, engine, content="tent rule")

    with request_context(tenant_id="tenant-b", actor="tester"):
        assert await recall(knowledge_pool, engine, "tent rule") == []

    assert await count_of(knowledge_pool, rule) == (0, None)


async def test_a_topic_that_is_no_text_is_refused(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Or one that is too long."""
    for topic in (b"tent", "x" * 10_000_000):
        with pytest.raises(InvalidInputError, match=r"^topic: "):
            await recall(knowledge_pool, engine, topic)  # type: ignore[arg-type]


WORLD = {
    ("staging database", "port", 5.0): "The staging database listens on port 5434",
    ("staging database", "backup", 5.0): "The staging database is backed up every night",
    ("Ada", "coffee", 9.0): "Ada prefers coffee without milk",
    ("Ada", "allergy", 10.0): "Ada is allergic to peanuts",
    ("waste", "paper", 3.0): "Paper is collected on Thursday mornings",
}
PROMPTS = (
    "What port does the staging database use?",
    "Which day is paper collected?",
    "How does Ada drink coffee?",
)


async def remember_world(pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
    """Facts of unequal importance, and a rule."""
    drafts = [
        FactDraft(subject=subject, predicate=predicate, importance=importance, content=content)
        for (subject, predicate, importance), content in WORLD.items()
    ]
    await store_facts(pool, engine, drafts, clock=clock)
    await store_rule(
        pool, engine, content="Look for hard-coded ports before a database is moved", clock=clock
    )


@pytest.mark.requirement("RCL-01.1")
async def test_the_answer_leads_what_is_more_important(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The day of the paper comes before an allergy, which has nothing to do with it and is not shown at all."""
    await remember_world(knowledge_pool, engine, clock)

    found = [await recall(knowledge_pool, engine, prompt, clock=clock) for prompt in PROMPTS]

    assert [recalled[0].memory.content for recalled in found] == [
        WORLD["staging database", "port", 5.0],
        WORLD["waste", "paper", 3.0],
        WORLD["Ada", "coffee", 9.0],
    ]
    assert "peanuts" not in str(found[:2])


@pytest.mark.requirement("RCL-01.1")
@pytest.mark.parametrize("topic", ["Hi", "Who won the 1998 world cup?", "Explain how tides work"])
async def test_nothing_is_recalled_for_a_topic_that_nothing_is_about(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock, topic: str
) -> None:
    """However important it is; with no floor there is something."""
    await remember_world(knowledge_pool, engine, clock)

    assert await recall(knowledge_pool, engine, topic, clock=clock) == []
    assert len(await recall(knowledge_pool, engine, topic, min_relevance=0.0, clock=clock)) == 6


@pytest.mark.requirement("RCL-02.1")
async def test_asking_never_worsens_the_next_answer(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """What was recalled for other topics overtakes nothing, and only what was shown has a reference."""
    await remember_world(knowledge_pool, engine, clock)

    async def answers(*, count: bool) -> list[list[str]]:
        return [
            [
                each.memory.content
                for each in await recall(knowledge_pool, engine, prompt, count=count, clock=clock)
            ]
            for prompt in PROMPTS
        ]

    before = await answers(count=False)
    for _ in range(3):
        await answers(count=True)

    assert await answers(count=False) == before
    shown = {content for answer in before for content in answer}
    async with unit_of_work(knowledge_pool) as sql:
        rows = await sql.connection.fetch("SELECT content FROM facts WHERE reference_count = 0")
    assert {row["content"] for row in rows} == set(WORLD.values()) - shown


@pytest.mark.requirement("RCL-03.1")
async def test_the_best_result_does_not_depend_on_the_limit(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """One, ten or fifty: the same memory leads, with the same score."""
    await remember_world(knowledge_pool, engine, clock)

    for prompt in PROMPTS:
        best = [
            (await recall(knowledge_pool, engine, prompt, limit=limit, count=False, clock=clock))[0]
            for limit in (1, 10, 50)
        ]
        assert best[0] == best[1] == best[2]


@pytest.mark.requirement("RCL-03.1")
async def test_one_text_is_recalled_once(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Two rules of one text fold; of a global and a newer scoped fact of one key the newer is told."""
    for _ in range(2):
        await store_rule(knowledge_pool, engine, content="Ask before the tent is sold", clock=clock)
    for scope in ("global", "travel"):
        clock.advance(seconds=1)
        await store_fact(
            knowledge_pool,
            engine,
            subject="tent",
            predicate="place",
            content=f"the tent is in the {scope} cellar",
            scope=scope,
            clock=clock,
        )

    found = await recall(knowledge_pool, engine, "where is the tent", scope="travel", clock=clock)

    assert sorted(each.memory.content for each in found) == [
        "Ask before the tent is sold",
        "the tent is in the travel cellar",
    ]


@pytest.mark.parametrize("floor", [-0.1, 1.5, "high", True])
async def test_a_floor_that_makes_no_sense_is_refused(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, floor: object
) -> None:
    """By its name."""
    with pytest.raises(InvalidInputError, match=r"^min_relevance: "):
        await recall(knowledge_pool, engine, "tent", min_relevance=floor)  # type: ignore[arg-type]


@pytest.mark.requirement("TRU-01.2")
async def test_an_allergy_stands_beside_a_liking(knowledge: KnowledgeMemory) -> None:
    """In a search, in a recall and in the block for a prompt."""
    for predicate in ("likes", "allergic_to"):
        await knowledge.store_fact(subject="Ines", predicate=predicate, content="peanuts")
    topic = "does Ines eat peanuts?"
    for results in (await knowledge.search(topic), await knowledge.recall(topic)):
        assert {each.memory.predicate for each in results if isinstance(each.memory, Fact)} == {
            "likes",
            "allergic_to",
        }
    block = await knowledge.context(topic, "home")
    assert "[allergic_to]: peanuts" in block
    assert "[likes]: peanuts" in block


@pytest.mark.requirement("TRU-01.3", "TRU-01.4")
async def test_a_newer_fact_hides_no_allergy_and_names_what_it_hides(knowledge: KnowledgeMemory) -> None:
    """In a recall of a scope and its block; the search without a scope shows all."""
    texts = (
        ("food", "allergic to peanuts"),
        ("food", "loves peanuts"),
        ("seat", "window"),
        ("seat", "aisle"),
    )
    ids = [
        (
            await knowledge.store_fact(
                subject="Ines",
                predicate=predicate,
                content=text,
                scope="global" if place % 2 == 0 else "trip",
            )
        ).id
        for place, (predicate, text) in enumerate(texts)
    ]
    topic = "food and seat for Ines"
    results = await knowledge.recall(topic, narrowing=Narrowing(scope="trip"))
    assert {each.memory.content: [other.id for other in each.stands_for] for each in results} == {
        "allergic to peanuts": [],
        "loves peanuts": [],
        "aisle": [ids[2]],
    }
    block = await knowledge.context(topic, "trip", style=BlockStyle(ids=True))
    assert "[food]: allergic to peanuts (confidence" in block
    assert "[seat]: aisle (confidence: 1.00, other value: window)" in block
    assert len(await knowledge.search(topic)) == len(texts)
