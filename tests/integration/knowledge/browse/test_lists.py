"""Lists for people: what is in knowledge memory, a page at a time, and the picture of it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.request_context import RequestContext, request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import FactCriteria, Narrowing, RuleCriteria
from commonplace.knowledge.model.orders import FactOrder, RuleOrder
from commonplace.knowledge.rules.cursors import cursor_of
from commonplace.knowledge.storage_functions import (
    create_link,
    forget_memory,
    mark_harmful,
    mark_helpful,
    run_decay_sweep,
    store_episode,
    store_fact,
    store_rule,
)
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def pool(knowledge_pool: asyncpg.Pool) -> asyncpg.Pool:
    """An empty database."""
    return knowledge_pool


def at(hours: float) -> ManualClock:
    """Return a clock that stands so many hours after the start."""
    return ManualClock(START + timedelta(hours=hours))


async def learn(pool: asyncpg.Pool, engine: EmbeddingEngine, hour: int, **fields: Any) -> str:  # noqa: ANN401
    """Store a fact at an hour, and return its id."""
    given: dict[str, Any] = {"subject": "db", "predicate": f"p{hour}", "content": f"content {hour}"} | fields
    return str(await store_fact(pool, engine, clock=at(hour), **given))


async def test_filters_are_cleaned_like_what_is_stored(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """PostgreSQL takes neither NUL nor half an emoji; what was stored with them is found with them."""
    odd = "a\x00b \ud83d"
    stored = await learn(
        pool, engine, 0, subject=odd, predicate=odd, content=odd, tags=[odd], source_butler=odd
    )
    memory = memory_on(pool)
    for name in ("subject", "predicate", "text"):
        right: dict[str, Any] = {name: odd}
        wrong: dict[str, Any] = {name: 7}
        found = await memory.lists.facts(criteria=FactCriteria(**right))
        assert [str(fact.id) for fact in found] == [stored]
        with pytest.raises(InvalidInputError, match=f"{name}: expected text, got 7"):
            await memory.lists.facts(criteria=FactCriteria(**wrong))
    assert await memory.lists.rules(criteria=RuleCriteria(text=odd)) == []
    for narrowing in (Narrowing(tags=[odd]), Narrowing(learned_by=odd)):
        assert [str(fact.id) for fact in await memory.lists.facts(narrowing=narrowing)] == [stored]
        assert await memory.lists.rules(narrowing=narrowing) == []
    assert await memory.lists.entities(name=odd) == []
    assert [str(fact.id) for fact in await memory.history.timeline(odd)] == [stored]
    assert await memory.events.list(actor=odd) == []


async def test_events_of_a_type_that_does_not_exist_are_refused(pool: asyncpg.Pool) -> None:
    """A misspelt type would be an empty audit trail."""
    misspelt: list[dict[str, Any]] = [
        {"event_type": "fact_creatd"},
        {"event_types": ["fact_created", "fact_creatd"]},
    ]
    for filters in misspelt:
        with pytest.raises(InvalidInputError, match=r"event_types?: expected one of episode_created"):
            await memory_on(pool).events.list(**filters)
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1"):
        await memory_on(pool).events.list(limit=-1)


async def test_facts_are_found_and_ordered(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Text, tag and use filter facts; each order begins with another fact, and its pages hold each fact once."""
    first = await learn(pool, engine, 0, subject="mail", importance=9.0, tags=["net"])
    second = await learn(
        pool, engine, 1, subject="Cache", content="Holds 50 % of the rows", permanence="ephemeral"
    )
    third = await learn(pool, engine, 2, subject="zoo", importance=1.0)
    clock = at(24)

    async def ids(**wanted: Any) -> list[str]:  # noqa: ANN401
        return [str(fact.id) for fact in await memory_on(pool, clock=clock).lists.facts(**wanted)]

    assert await ids(criteria=FactCriteria(text="50 % OF")) == [second]
    assert await ids(criteria=FactCriteria(text="MAIL p0: content".replace(":", ""))) == [first]
    assert await ids(narrowing=Narrowing(tags=["net"])) == [first]
    assert await ids(criteria=FactCriteria(unused=True)) == [third, second, first]
    assert await ids(criteria=FactCriteria(unused=False)) == []
    assert await ids(sort="subject") == [second, first, third]
    assert await ids(sort="importance") == [first, second, third]
    assert await ids(sort="confidence") == [second, first, third]
    assert await ids(sort="confirmed") == [first, second, third]
    assert await ids(sort="used") == [third, second, first]
    pages = [await ids(sort="confirmed", limit=1, offset=offset) for offset in range(4)]
    assert pages == [[first], [second], [third], []]
    with pytest.raises(InvalidInputError, match="sort"):
        await memory_on(pool, clock=clock).lists.facts(sort="colour")


async def test_pages_by_cursor_hold_each_memory_once_in_every_order(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """In both directions, with ties, and while a memory of the page before is forgotten."""
    for hour in range(7):
        await learn(
            pool, engine, hour // 2, predicate=f"p{hour}", subject="aBc"[hour % 3], importance=float(hour % 2),
            scope="ops" if hour % 3 else "global", permanence="ephemeral" if hour % 2 else "standard",
        )  # fmt: skip
        await store_rule(pool, engine, content=f"{'ab'[hour % 2]} rule {hour}", clock=at(hour // 3))
    rules = await memory_on(pool, clock=at(9)).lists.rules()
    await mark_harmful(pool, rules[1].id, clock=at(8))
    await mark_helpful(pool, rules[4].id, clock=at(8))
    lists = memory_on(pool, clock=at(9)).lists
    for read, orders in ((lists.facts, FactOrder), (lists.rules, RuleOrder)):
        for order in orders:
            whole = [one.id for one in await read(sort=order)]
            for reverse in (False, True):
                found: list[Any] = []
                after = None
                while page := await read(sort=order, reverse=reverse, limit=3, after=after):
                    found += [one.id for one in page]
                    after = cursor_of(page[-1], sort=order)
                assert found == (whole[::-1] if reverse else whole), (order, reverse)
    first = await memory_on(pool, clock=at(9)).lists.facts(sort="subject", limit=3)
    await forget_memory(pool, "fact", first[-1].id)
    rest = await memory_on(pool, clock=at(9)).lists.facts(
        sort="subject", validity="active", after=cursor_of(first[-1], sort="subject")
    )
    assert len(rest) == 4


async def test_rules_are_found_and_ordered(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Text and tag filter rules; the most harmful and the most applied come first where that is the order."""
    calm = await store_rule(pool, engine, content="Drain the queue", tags=["ops"], clock=at(0))
    harm = await store_rule(pool, engine, content="Restart at once", clock=at(1))
    await mark_harmful(pool, harm, clock=at(2))
    await mark_helpful(pool, calm, clock=at(2))
    await mark_helpful(pool, calm, clock=at(2))

    async def ids(**wanted: Any) -> list[Any]:  # noqa: ANN401
        return [rule.id for rule in await memory_on(pool, clock=at(3)).lists.rules(**wanted)]

    assert await ids(criteria=RuleCriteria(text="DRAIN")) == [calm]
    assert await ids(narrowing=Narrowing(tags=["ops"])) == [calm]
    assert await ids(sort="harmed") == [harm, calm]
    assert await ids(sort="applied") == [calm, harm]
    assert await ids(sort="effectiveness") == [calm, harm]
    assert await ids(sort="confirmed") == [harm, calm]


async def test_facts_come_newest_first_and_by_page(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Each once, without vectors, and nothing counts as a reading."""
    stored = [await learn(pool, engine, hour) for hour in range(5)]
    first = await memory_on(pool, clock=at(5)).lists.facts(limit=3)
    rest = await memory_on(pool, clock=at(5)).lists.facts(limit=3, offset=3)
    assert [str(row.id) for row in [*first, *rest]] == stored[::-1]
    assert {row.reference_count for row in first} == {0}


async def test_facts_by_state_scope_and_entity(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Each filter keeps what it names; fading facts show what is left of them."""
    entity = await memory_on(pool).entities.create(canonical_name="Ada", entity_type="person")
    old = await learn(pool, engine, 0, predicate="port", permanence="volatile")
    new = await learn(pool, engine, 1, predicate="port", permanence="volatile")
    other = await learn(pool, engine, 2, scope="dev", entity_id=entity.id, permanence="permanent")
    later = at(24 * 60)
    await run_decay_sweep(pool, clock=later)
    by_state = {
        validity: [str(row.id) for row in await memory_on(pool, clock=later).lists.facts(validity=validity)]
        for validity in ("active", "superseded", "retracted")
    }
    assert by_state == {"active": [other, new], "superseded": [old], "retracted": []}
    (fading,) = await memory_on(pool, clock=later).lists.facts(
        validity="active", criteria=FactCriteria(fading=True)
    )
    assert (str(fading.id), fading.is_fading) == (new, True)
    assert 0.05 < fading.effective_confidence < 0.2
    assert [str(row.id) for row in await memory_on(pool).lists.facts(narrowing=Narrowing(scope="dev"))] == [
        other
    ]
    assert [
        str(row.id) for row in await memory_on(pool).lists.facts(narrowing=Narrowing(entity_id=entity.id))
    ] == [other]
    assert [
        str(row.id) for row in await memory_on(pool).lists.facts(criteria=FactCriteria(predicate="port"))
    ] == [
        new,
        old,
    ]
    assert await memory_on(pool).lists.facts(criteria=FactCriteria(subject="nothing like this")) == []


async def test_lists_take_the_narrowing_of_searches(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """By trust, by the time of storing and by butler; episodes by the scope or the butler that learned them."""
    first = await learn(pool, engine, 0, subject="mail", source="web")
    second = await learn(pool, engine, 1, subject="cache", source_butler="dev")
    rule = await store_rule(pool, engine, content="Drain the queue", source_butler="dev", clock=at(1))
    episodes = [
        await store_episode(pool, engine, content="Seen", butler=butler, source=source, clock=at(hour))
        for hour, (butler, source) in enumerate((("dev", "web"), ("ops", None)))
    ]
    cases = [
        (Narrowing(min_trust="agent"), {second}, {rule}, {episodes[1]}),
        (Narrowing(since=at(1)()), {second}, {rule}, {episodes[1]}),
        (Narrowing(until=at(1)()), {first}, set(), {episodes[0]}),
        (Narrowing(learned_by="dev"), {second}, {rule}, {episodes[0]}),
        (Narrowing(scope="ops"), set(), set(), {episodes[1]}),
        (Narrowing(tags=["none"]), set(), set(), set()),
        (Narrowing(entity_id=uuid4()), set(), set(), set()),
    ]
    for narrowing, facts, rules, seen in cases:
        assert {str(each.id) for each in await memory_on(pool).lists.facts(narrowing=narrowing)} == facts, (
            narrowing
        )
        assert {each.id for each in await memory_on(pool).lists.rules(narrowing=narrowing)} == rules, (
            narrowing
        )
        listed = await memory_on(pool).lists.episodes(narrowing=narrowing)
        assert {each.id for each in listed} == seen, narrowing
    (known,) = await memory_on(pool).lists.episodes(narrowing=Narrowing(as_of=at(0)()))
    assert known.id == episodes[0]


@pytest.mark.requirement("KNW-02.2")
async def test_the_chain_of_a_fact_is_whole_from_any_link(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """From the oldest, the one in the middle and the newest."""
    chain = [await learn(pool, engine, hour, predicate="port") for hour in range(3)]
    await learn(pool, engine, 3, predicate="host")
    for fact_id in chain:
        assert [str(row.id) for row in await memory_on(pool).history.chain(fact_id)] == chain[::-1]
    assert await memory_on(pool).history.chain("00000000-0000-0000-0000-000000000000") == []


@pytest.mark.requirement("KNW-30.1")
async def test_rules_with_what_became_of_them(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """By maturity, forgotten or not, with their applications, the latest first."""
    kept = await store_rule(pool, engine, content="Ask before deleting", clock=at(0))
    gone = await store_rule(pool, engine, content="Restart everything", clock=at(1))
    await forget_memory(pool, "rule", gone, clock=at(2))
    await mark_helpful(pool, kept, clock=at(3))
    await mark_harmful(pool, kept, reason="asked twice", clock=at(4))
    assert [row.id for row in await memory_on(pool).lists.rules()] == [gone, kept]
    assert [row.id for row in await memory_on(pool).lists.rules(forgotten=False)] == [kept]
    assert [row.is_forgotten for row in await memory_on(pool).lists.rules(forgotten=True)] == [True]
    assert await memory_on(pool).lists.rules(criteria=RuleCriteria(maturity="proven")) == []
    applied = await memory_on(pool).lists.applications(kept)
    assert [(one.outcome, one.reason) for one in applied] == [
        ("harmful", "asked twice"),
        ("helpful", None),
    ]


async def test_episodes_by_state_and_butler(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """The newest first."""
    first = await store_episode(pool, engine, content="one", butler="dev", clock=at(0))
    second = await store_episode(pool, engine, content="two", butler="ops", clock=at(1))
    assert [row.id for row in await memory_on(pool).lists.episodes()] == [second, first]
    assert [row.id for row in await memory_on(pool).lists.episodes(narrowing=Narrowing(scope="dev"))] == [
        first
    ]
    assert [row.id for row in await memory_on(pool).lists.episodes(status="pending", limit=1)] == [second]
    assert await memory_on(pool).lists.episodes(status="dead_letter") == []
    await forget_memory(pool, "episode", str(second), clock=at(2))
    assert [row.id for row in await memory_on(pool, clock=at(3)).lists.episodes(live=True)] == [first]
    assert await memory_on(pool, clock=at(24 * 30)).lists.episodes(live=True) == []
    assert len(await memory_on(pool).lists.episodes()) == 2


async def test_entities_by_name_with_their_facts(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Any of their names, in any case; merged ones only where they are asked for."""
    ada = await memory_on(pool).entities.create(
        canonical_name="Ada Lovelace", entity_type="person", aliases=["Countess"]
    )
    twin = await memory_on(pool).entities.create(canonical_name="A. Lovelace", entity_type="person")
    await memory_on(pool).entities.create(canonical_name="Acme", entity_type="organization")
    await learn(pool, engine, 0, entity_id=ada.id)
    await memory_on(pool).entities.merge(source_entity_id=twin.id, target_entity_id=ada.id)
    assert [row.canonical_name for row in await memory_on(pool).lists.entities()] == ["Acme", "Ada Lovelace"]
    (found,) = await memory_on(pool).lists.entities(name="COUNTESS")
    assert (found.id, found.facts) == (ada.id, 1)
    (tombstone,) = await memory_on(pool).lists.entities(merged=True)
    assert tombstone.merged_into == ada.id
    assert len(await memory_on(pool).lists.entities(merged=None)) == 3
    assert [
        row.canonical_name for row in await memory_on(pool).lists.entities(entity_type="organization")
    ] == ["Acme"]


async def test_the_graph_holds_an_entity_its_facts_and_what_they_are_linked_to(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each node once; every edge has both of its ends."""
    ada = await memory_on(pool).entities.create(canonical_name="Ada", entity_type="person")
    await memory_on(pool).entities.create(canonical_name="Bob", entity_type="person")
    fact = await learn(pool, engine, 0, entity_id=ada.id, predicate="likes", content="tea")
    episode = await store_episode(pool, engine, content="Ada ordered tea", butler="dev")
    await create_link(
        pool,
        source_type="fact",
        source_id=fact,
        target_type="episode",
        target_id=episode,
        relation="derived_from",
    )
    graph = await memory_on(pool).graph.read(entity_id=ada.id)
    assert [(node.kind, node.label) for node in graph.nodes.values()] == [
        ("entity", "Ada"),
        ("fact", "likes: tea"),
        ("episode", "Ada ordered tea"),
    ]
    assert [(edge.source, edge.target, edge.relation) for edge in graph.edges] == [
        (str(ada.id), fact, "likes"),
        (fact, str(episode), "derived_from"),
    ]
    everything = await memory_on(pool).graph.read()
    (best,) = [
        node for node in (await memory_on(pool).graph.read(limit=1)).nodes.values() if node.kind == "entity"
    ]
    assert best.label == "Ada"
    with pytest.raises(InvalidInputError, match="a whole number from 1 to 800"):
        await memory_on(pool).graph.read(limit=801)
    assert {edge.source for edge in everything.edges} | {edge.target for edge in everything.edges} <= set(
        everything.nodes
    )
    assert len(everything.nodes) == 4
    with pytest.raises(NotFoundError):
        await memory_on(pool).graph.read(entity_id=episode)


@pytest.mark.requirement("KNW-29.2")
async def test_another_tenant_sees_none_of_it(
    pool: asyncpg.Pool, engine: EmbeddingEngine, tenant: RequestContext
) -> None:
    """Not in lists, chains or pictures, even by id."""
    assert tenant
    entity = await memory_on(pool).entities.create(canonical_name="Ada", entity_type="person")
    fact = await learn(pool, engine, 0, entity_id=entity.id)
    rule = await store_rule(pool, engine, content="Ask first")
    await mark_helpful(pool, rule)
    await store_episode(pool, engine, content="x", butler="dev")
    with request_context(tenant_id="stranger", actor="t"):
        assert (
            await memory_on(pool).lists.facts()
            == await memory_on(pool).lists.rules()
            == await memory_on(pool).lists.episodes()
            == []
        )
        assert (
            await memory_on(pool).lists.entities(merged=None)
            == await memory_on(pool).history.chain(fact)
            == []
        )
        assert await memory_on(pool).lists.applications(rule) == []
        assert (await memory_on(pool).graph.read()).nodes == {}
        with pytest.raises(NotFoundError):
            await memory_on(pool).graph.read(entity_id=entity.id)


@pytest.mark.parametrize(
    "wanted",
    [
        {"limit": 0},
        {"limit": 1001},
        {"offset": -1},
        {"validity": "fading"},
        {"criteria": FactCriteria(source="magic")},
    ],
    ids=str,
)
async def test_what_cannot_be_listed_is_refused(pool: asyncpg.Pool, wanted: dict[str, Any]) -> None:
    """The message names the parameter."""
    (name,) = wanted
    field = "source" if name == "criteria" else name
    with pytest.raises(InvalidInputError, match=f"^{field}: expected"):
        await memory_on(pool).lists.facts(**wanted)
