"""What waits for a person: memories that fade or lost their source, and pairs that may say the same."""

from typing import Any
from uuid import UUID

import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError, UndoRefusedError
from commonplace.knowledge import FactDraft
from commonplace.knowledge.lifecycle import review
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.storage_functions import store_rule

pytestmark = pytest.mark.usefixtures("tenant")


async def store_equal(memory: KnowledgeMemory, content: str) -> UUID:
    """Store a rule as a row of its own, as the specified function does even if the rule is there."""
    pool, clock = await memory.database.pool(), memory.session.clock
    return await store_rule(pool, memory.engine, content=content, clock=clock)


async def waiting(memory: KnowledgeMemory) -> list[tuple[UUID, str]]:
    """Return the memories that wait, and why."""
    return [(each.id, each.reason) for each in await memory.reviews.waiting()]


async def test_what_was_useful_waits_before_it_fades(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """For fourteen days and until it is confirmed; what nobody used fades unseen."""
    used = await knowledge.store_fact(subject="Anna", predicate="desk", content="By the window")
    helped = await knowledge.store_rule(content="Ask first")
    await knowledge.store_rule(content="Nobody follows this one")
    await knowledge.get("fact", used.id)
    await knowledge.mark_helpful(helped.id)
    clock.advance(days=77)
    assert await waiting(knowledge) == []
    clock.advance(days=1)
    assert await waiting(knowledge) == [(helped.id, "fading")]
    clock.advance(days=115)
    assert set(await waiting(knowledge)) == {(helped.id, "fading"), (used.id, "fading")}
    await knowledge.confirm("fact", used.id)
    await knowledge.mark_helpful(helped.id)
    assert await waiting(knowledge) == []


@pytest.mark.requirement("LIF-04.1")
@pytest.mark.parametrize("change", ["superseded", "forgotten", "episode"])
async def test_what_lost_its_source_waits(knowledge: KnowledgeMemory, change: str) -> None:
    """Until it is confirmed."""
    knowledge.session.clock = utc_now
    key: dict[str, Any] = {"subject": "Anna", "predicate": "employer"}
    source = await knowledge.store_fact(**key, content="Acme")
    episode = await knowledge.store_episode(content="Anna said so", butler="ops")
    beside = await knowledge.store_fact(subject="Anna", predicate="got", content="A blue cap of Acme")
    derived = await knowledge.store_fact(subject="Anna", predicate="has", content="A blue hat of Acme")
    for kind, target in (("fact", source.id), ("episode", episode.id)):
        await knowledge.links.create(
            source_type="fact",
            source_id=derived.id,
            target_type=kind,
            target_id=str(target),
            relation="derived_from",
        )

    async def recalled() -> list[tuple[UUID, bool]]:
        found = await knowledge.recall("blue of Acme", min_relevance=0.0, count=False)
        return [
            (each.memory.id, each.is_stale) for each in found if each.memory.id in {beside.id, derived.id}
        ]

    assert await waiting(knowledge) == []
    assert await recalled() == [(derived.id, False), (beside.id, False)]
    if change == "superseded":
        await knowledge.store_fact(**key, content="Bolt")
    elif change == "forgotten":
        await knowledge.forget("fact", source.id)
    else:
        await knowledge.forget("episode", str(episode.id))
    assert await waiting(knowledge) == [(derived.id, "stale")]
    assert await recalled() == [(beside.id, False), (derived.id, True)]
    block = await knowledge.context("blue of Acme", "ops", min_relevance=0.0)
    assert "(confidence: 1.00, its source has changed)" in block
    await knowledge.confirm("fact", derived.id)
    assert await waiting(knowledge) == []
    assert await recalled() == [(derived.id, False), (beside.id, False)]


async def test_pairs_that_may_say_the_same_wait(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """Never put together silently: a person says whether they are the same."""
    spelt: list[UUID] = []
    for subject, predicate, content in (
        ("Anna", "lives_in", "Porto"),
        ("anna", "lives in", "Porto, by the river"),
        ("Anna", "born_in", "Lisbon"),
    ):
        clock.advance(minutes=1)
        spelt.append((await knowledge.store_fact(subject=subject, predicate=predicate, content=content)).id)
    rules: list[UUID] = []
    for text in ("Ask first", "ask  first"):
        clock.advance(minutes=1)
        rules.append(await store_equal(knowledge, text))
    pairs = [
        (each.older_id, each.newer_id, each.reason) for each in await knowledge.reviews.duplicates.list()
    ]
    assert set(pairs) == {(spelt[0], spelt[1], "spelling"), (rules[0], rules[1], "words")}

    await knowledge.reviews.duplicates.decide("fact", spelt[0], spelt[1], same=True)
    assert (await knowledge.read("fact", spelt[0])).validity == "superseded"
    await knowledge.reviews.duplicates.decide("rule", rules[0], rules[1], same=False)
    assert await knowledge.reviews.duplicates.list() == []
    await knowledge.reviews.duplicates.decide("rule", rules[0], rules[1], same=True)
    assert (await knowledge.read("rule", rules[0])).is_forgotten
    with pytest.raises(NotFoundError):
        await knowledge.reviews.duplicates.decide("rule", rules[0], rules[1], same=True)
    with pytest.raises(InvalidInputError, match="newer_id: expected the id of a memory other"):
        await knowledge.reviews.duplicates.decide("rule", rules[1], rules[1], same=True)


@pytest.mark.requirement("DSH-02.2")
async def test_a_decision_about_a_pair_is_taken_back(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """The pair waits again, and what was superseded is current again."""
    facts: list[UUID] = []
    rules: list[UUID] = []
    for subject, text in (("Anna", "Ask first"), ("anna", "ask  first")):
        clock.advance(minutes=1)
        draft = FactDraft(subject=subject, predicate="lives in", content="Porto")
        facts += [each.id for each in await knowledge.store_facts([draft])]
        rules.append(await store_equal(knowledge, text))
    pairs = await knowledge.reviews.duplicates.list()
    for same in (True, False):
        for kind, (older, newer) in (("fact", facts), ("rule", rules)):
            await knowledge.reviews.duplicates.decide(kind, older, newer, same=same)
        assert await knowledge.reviews.duplicates.list() == []
        for kind, (older, newer) in (("fact", facts), ("rule", rules)):
            await knowledge.reviews.duplicates.undo(kind, older, newer)
        assert await knowledge.reviews.duplicates.list() == pairs
    assert (await knowledge.read("fact", facts[1])).supersedes_id is None
    with pytest.raises(UndoRefusedError, match="neither fact replaced the other"):
        await knowledge.reviews.duplicates.undo("fact", *facts)


async def test_equal_rules_are_decided_in_any_order(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """Each older rule waits once, with the newest; whoever tells two apart is asked about the next."""
    rules: list[UUID] = []
    for _ in range(4):
        clock.advance(minutes=1)
        rules.append(await store_equal(knowledge, "Ask first"))
    pairs = [(each.older_id, each.newer_id) for each in await knowledge.reviews.duplicates.list()]
    assert set(pairs) == {(older, rules[3]) for older in rules[:3]}
    await knowledge.reviews.duplicates.decide("rule", rules[0], rules[3], same=False)
    left = [(each.older_id, each.newer_id) for each in await knowledge.reviews.duplicates.list()]
    assert set(left) == {(rules[0], rules[2]), (rules[1], rules[3]), (rules[2], rules[3])}
    for older in (rules[2], rules[1]):
        await knowledge.reviews.duplicates.decide("rule", older, rules[3], same=True)
    assert await knowledge.reviews.duplicates.list() == []


@pytest.mark.requirement("DSH-02.2")
async def test_forgetting_is_taken_back(knowledge: KnowledgeMemory) -> None:
    """A memory is current again, unless another has its place; an episode gets its former end back."""
    fact = await knowledge.store_fact(subject="Anna", predicate="lives in", content="Porto")
    rule = await knowledge.store_rule(content="Ask first")
    episode = await knowledge.store_episode(content="Anna moved", butler="ops")
    assert episode.id is not None
    end = (await knowledge.read("episode", episode.id)).expires_at
    for kind, memory_id in (("fact", fact.id), ("rule", rule.id), ("episode", episode.id)):
        await knowledge.forget(kind, memory_id)
        await knowledge.restore(kind, memory_id)
    assert (await knowledge.read("episode", episode.id)).expires_at == end
    assert (await knowledge.read("fact", fact.id)).validity == "active"
    assert not (await knowledge.read("rule", rule.id)).is_forgotten
    with pytest.raises(UndoRefusedError, match="the fact is not forgotten, or another has replaced it"):
        await knowledge.restore("fact", fact.id)
    await knowledge.forget("fact", fact.id)
    await knowledge.store_fact(subject="Anna", predicate="lives in", content="Lisbon")
    with pytest.raises(UndoRefusedError, match="the fact is not forgotten, or another has replaced it"):
        await knowledge.restore("fact", fact.id)
    with pytest.raises(
        UndoRefusedError, match="the episode is not forgotten, or it would have expired by now"
    ):
        await knowledge.restore("episode", episode.id)


async def test_a_restored_episode_holds_for_what_was_learned_from_it(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """A fact is stale only while its episode is forgotten; a forgotten episode never outlives its former end."""
    episode = await knowledge.store_episode(content="Anna moved to Porto", butler="ops")
    assert episode.id is not None
    fact = await knowledge.store_fact(
        subject="Anna", predicate="lives in", content="Porto", source_episode_id=episode.id
    )
    await knowledge.forget("episode", episode.id)
    assert [each.is_stale for each in await knowledge.search("Anna Porto", types=["fact"])] == [True]
    assert await waiting(knowledge) == [(fact.id, "stale")]
    await knowledge.restore("episode", episode.id)
    assert [each.is_stale for each in await knowledge.search("Anna Porto", types=["fact"])] == [False]
    assert await waiting(knowledge) == []
    await knowledge.forget("episode", episode.id)
    clock.advance(days=8)
    with pytest.raises(UndoRefusedError, match="would have expired by now"):
        await knowledge.restore("episode", episode.id)


@pytest.mark.requirement("DSH-02.1")
async def test_rules_that_did_harm_wait(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """Until they are confirmed; a rule that became a warning does not wait."""
    rule = await knowledge.store_rule(content="Restart the queue")
    for _ in range(8):
        await knowledge.mark_helpful(rule.id)
    clock.advance(minutes=1)
    marked = await knowledge.mark_harmful(rule.id, reason="It lost jobs")
    assert marked.maturity != "anti_pattern"
    assert await waiting(knowledge) == [(rule.id, "harmful")]
    clock.advance(minutes=1)
    await knowledge.confirm("rule", rule.id)
    assert await waiting(knowledge) == []


@pytest.mark.requirement("DSH-02.3")
async def test_the_search_for_pairs_is_bounded(
    knowledge: KnowledgeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the newest rules are compared, and with a limited number of others: never each with each."""
    for number in range(6):
        await store_equal(knowledge, f"Ask first {' ' * number}")
    assert len(await knowledge.reviews.duplicates.list()) == 5
    monkeypatch.setattr(review, "LATEST", 1)
    assert len(await knowledge.reviews.duplicates.list()) == 5
    monkeypatch.setattr(review, "MOST_RULES", 3)
    assert len(await knowledge.reviews.duplicates.list()) == 2
