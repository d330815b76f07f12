"""Lists for people: what is in knowledge memory, a page at a time, and the picture of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.request_context import RequestContext, request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.browse.cursors import cursor_of
from commonplace.knowledge.browse.orders import FactOrder, RuleOrder
from commonplace.knowledge.lifecycle.any_memory import forget_memory
from commonplace.knowledge.lifecycle.feedback import mark_harmful, mark_helpful
from commonplace.knowledge.memories.episodes import store_episode
from commonplace.knowledge.memories.facts import store_fact
from commonplace.knowledge.memories.links import create_link
from commonplace.knowledge.memories.rules import store_rule
from commonplace.knowledge.upkeep.decay import run_decay_sweep
from support.on_pool import (
    entity_create,
    entity_merge,
    fact_chain,
    knowledge_graph,
    list_applications,
    list_entities,
    list_episodes,
    list_events,
    list_facts,
    list_rules,
    timeline,
)

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
    for name in ("subject", "predicate", "text", "tag", "source_butler"):
        assert [str(fact.id) for fact in await list_facts(pool, **{name: odd})] == [stored]
        with pytest.raises(InvalidInputError, match=f"{name}: expected text, got 7"):
            await list_facts(pool, **{name: 7})
    for name in ("text", "tag", "source_butler"):
        assert await list_rules(pool, **{name: odd}) == []
    assert await list_entities(pool, name=odd) == []
    assert [str(fact.id) for fact in await timeline(pool, odd)] == [stored]
    assert await list_events(pool, actor=odd) == []


async def test_events_of_a_type_that_does_not_exist_are_refused(pool: asyncpg.Pool) -> None:
    """A misspelt type would be an empty audit trail."""
    for wanted in ({"event_type": "fact_creatd"}, {"event_types": ["fact_created", "fact_creatd"]}):
        with pytest.raises(InvalidInputError, match=r"event_types?: expected one of episode_created"):
            await list_events(pool, **wanted)
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1"):
        await list_events(pool, limit=-1)


async def test_facts_are_found_and_ordered(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Text, tag and use filter facts; each order begins with another fact, and its pages hold each fact once."""
    first = await learn(pool, engine, 0, subject="mail", importance=9.0, tags=["net"])
    second = await learn(
        pool, engine, 1, subject="Cache", content="Holds 50 % of the rows", permanence="ephemeral"
    )
    third = await learn(pool, engine, 2, subject="zoo", importance=1.0)
    clock = at(24)

    async def ids(**wanted: Any) -> list[str]:  # noqa: ANN401
        return [str(fact.id) for fact in await list_facts(pool, clock=clock, **wanted)]

    assert await ids(text="50 % OF") == [second]
    assert await ids(text="MAIL p0: content".replace(":", "")) == [first]
    assert await ids(tag="net") == [first]
    assert await ids(unused=True) == [third, second, first]
    assert await ids(unused=False) == []
    assert await ids(sort="subject") == [second, first, third]
    assert await ids(sort="importance") == [first, second, third]
    assert await ids(sort="confidence") == [second, first, third]
    assert await ids(sort="confirmed") == [first, second, third]
    assert await ids(sort="used") == [third, second, first]
    pages = [await ids(sort="confirmed", limit=1, offset=offset) for offset in range(4)]
    assert pages == [[first], [second], [third], []]
    with pytest.raises(InvalidInputError, match="sort"):
        await list_facts(pool, sort="colour", clock=clock)


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
    rules = await list_rules(pool, clock=at(9))
    await mark_harmful(pool, rules[1].id, clock=at(8))
    await mark_helpful(pool, rules[4].id, clock=at(8))
    for read, orders in ((list_facts, FactOrder), (list_rules, RuleOrder)):
        for order in orders:
            whole = [one.id for one in await read(pool, sort=order, clock=at(9))]
            for reverse in (False, True):
                found: list[Any] = []
                after = None
                while page := await read(
                    pool, sort=order, reverse=reverse, limit=3, after=after, clock=at(9)
                ):
                    found += [one.id for one in page]
                    after = cursor_of(page[-1], sort=order)
                assert found == (whole[::-1] if reverse else whole), (order, reverse)
    first = await list_facts(pool, sort="subject", limit=3, clock=at(9))
    await forget_memory(pool, "fact", first[-1].id)
    rest = await list_facts(
        pool, sort="subject", validity="active", after=cursor_of(first[-1], sort="subject"), clock=at(9)
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
        return [rule.id for rule in await list_rules(pool, clock=at(3), **wanted)]

    assert await ids(text="DRAIN") == [calm]
    assert await ids(tag="ops") == [calm]
    assert await ids(sort="harmed") == [harm, calm]
    assert await ids(sort="applied") == [calm, harm]
    assert await ids(sort="effectiveness") == [calm, harm]
    assert await ids(sort="confirmed") == [harm, calm]


async def test_facts_come_newest_first_and_by_page(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Each once, without vectors, and nothing counts as a reading."""
    stored = [await learn(pool, engine, hour) for hour in range(5)]
    first = await list_facts(pool, limit=3, clock=at(5))
    rest = await list_facts(pool, limit=3, offset=3, clock=at(5))
    assert [str(row.id) for row in [*first, *rest]] == stored[::-1]
    assert {row.reference_count for row in first} == {0}


async def test_facts_by_state_scope_and_entity(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Each filter keeps what it names; fading facts show what is left of them."""
    entity = await entity_create(pool, canonical_name="Ada", entity_type="person")
    old = await learn(pool, engine, 0, predicate="port", permanence="volatile")
    new = await learn(pool, engine, 1, predicate="port", permanence="volatile")
    other = await learn(pool, engine, 2, scope="dev", entity_id=entity.id, permanence="permanent")
    later = at(24 * 60)
    await run_decay_sweep(pool, clock=later)
    by_state = {
        validity: [str(row.id) for row in await list_facts(pool, validity=validity, clock=later)]
        for validity in ("active", "superseded", "retracted")
    }
    assert by_state == {"active": [other, new], "superseded": [old], "retracted": []}
    (fading,) = await list_facts(pool, validity="active", fading=True, clock=later)
    assert (str(fading.id), fading.is_fading) == (new, True)
    assert 0.05 < fading.effective_confidence < 0.2
    assert [str(row.id) for row in await list_facts(pool, scope="dev")] == [other]
    assert [str(row.id) for row in await list_facts(pool, entity_id=entity.id)] == [other]
    assert [str(row.id) for row in await list_facts(pool, predicate="port")] == [new, old]
    assert await list_facts(pool, subject="nothing like this") == []


@pytest.mark.requirement("KNW-02.2")
async def test_the_chain_of_a_fact_is_whole_from_any_link(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """From the oldest, the one in the middle and the newest."""
    chain = [await learn(pool, engine, hour, predicate="port") for hour in range(3)]
    await learn(pool, engine, 3, predicate="host")
    for fact_id in chain:
        assert [str(row.id) for row in await fact_chain(pool, fact_id)] == chain[::-1]
    assert await fact_chain(pool, "00000000-0000-0000-0000-000000000000") == []


@pytest.mark.requirement("KNW-30.1")
async def test_rules_with_what_became_of_them(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """By maturity, forgotten or not, with their applications, the latest first."""
    kept = await store_rule(pool, engine, content="Ask before deleting", clock=at(0))
    gone = await store_rule(pool, engine, content="Restart everything", clock=at(1))
    await forget_memory(pool, "rule", gone, clock=at(2))
    await mark_helpful(pool, kept, clock=at(3))
    await mark_harmful(pool, kept, reason="asked twice", clock=at(4))
    assert [row.id for row in await list_rules(pool)] == [gone, kept]
    assert [row.id for row in await list_rules(pool, forgotten=False)] == [kept]
    assert [row.is_forgotten for row in await list_rules(pool, forgotten=True)] == [True]
    assert await list_rules(pool, maturity="proven") == []
    applied = await list_applications(pool, kept)
    assert [(one.outcome, one.reason) for one in applied] == [
        ("harmful", "asked twice"),
        ("helpful", None),
    ]


async def test_episodes_by_state_and_butler(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """The newest first."""
    first = await store_episode(pool, engine, content="one", butler="dev", clock=at(0))
    second = await store_episode(pool, engine, content="two", butler="ops", clock=at(1))
    assert [row.id for row in await list_episodes(pool)] == [second, first]
    assert [row.id for row in await list_episodes(pool, butler="dev")] == [first]
    assert [row.id for row in await list_episodes(pool, status="pending", limit=1)] == [second]
    assert await list_episodes(pool, status="dead_letter") == []
    await forget_memory(pool, "episode", str(second), clock=at(2))
    assert [row.id for row in await list_episodes(pool, live=True, clock=at(3))] == [first]
    assert await list_episodes(pool, live=True, clock=at(24 * 30)) == []
    assert len(await list_episodes(pool)) == 2


async def test_entities_by_name_with_their_facts(pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """Any of their names, in any case; merged ones only where they are asked for."""
    ada = await entity_create(pool, canonical_name="Ada Lovelace", entity_type="person", aliases=["Countess"])
    twin = await entity_create(pool, canonical_name="A. Lovelace", entity_type="person")
    await entity_create(pool, canonical_name="Acme", entity_type="organization")
    await learn(pool, engine, 0, entity_id=ada.id)
    await entity_merge(pool, source_entity_id=twin.id, target_entity_id=ada.id)
    assert [row.canonical_name for row in await list_entities(pool)] == ["Acme", "Ada Lovelace"]
    (found,) = await list_entities(pool, name="COUNTESS")
    assert (found.id, found.facts) == (ada.id, 1)
    (tombstone,) = await list_entities(pool, merged=True)
    assert tombstone.merged_into == ada.id
    assert len(await list_entities(pool, merged=None)) == 3
    assert [row.canonical_name for row in await list_entities(pool, entity_type="organization")] == ["Acme"]


async def test_the_graph_holds_an_entity_its_facts_and_what_they_are_linked_to(
    pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each node once; every edge has both of its ends."""
    ada = await entity_create(pool, canonical_name="Ada", entity_type="person")
    await entity_create(pool, canonical_name="Bob", entity_type="person")
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
    graph = await knowledge_graph(pool, entity_id=ada.id)
    assert [(node.kind, node.label) for node in graph.nodes.values()] == [
        ("entity", "Ada"),
        ("fact", "likes: tea"),
        ("episode", "Ada ordered tea"),
    ]
    assert [(edge.source, edge.target, edge.relation) for edge in graph.edges] == [
        (str(ada.id), fact, "likes"),
        (fact, str(episode), "derived_from"),
    ]
    everything = await knowledge_graph(pool)
    (best,) = [
        node for node in (await knowledge_graph(pool, limit=1)).nodes.values() if node.kind == "entity"
    ]
    assert best.label == "Ada"
    with pytest.raises(InvalidInputError, match="a whole number from 1 to 800"):
        await knowledge_graph(pool, limit=801)
    assert {edge.source for edge in everything.edges} | {edge.target for edge in everything.edges} <= set(
        everything.nodes
    )
    assert len(everything.nodes) == 4
    with pytest.raises(NotFoundError):
        await knowledge_graph(pool, entity_id=episode)


@pytest.mark.requirement("KNW-29.2")
async def test_another_tenant_sees_none_of_it(
    pool: asyncpg.Pool, engine: EmbeddingEngine, tenant: RequestContext
) -> None:
    """Not in lists, chains or pictures, even by id."""
    assert tenant
    entity = await entity_create(pool, canonical_name="Ada", entity_type="person")
    fact = await learn(pool, engine, 0, entity_id=entity.id)
    rule = await store_rule(pool, engine, content="Ask first")
    await mark_helpful(pool, rule)
    await store_episode(pool, engine, content="x", butler="dev")
    with request_context(tenant_id="stranger", actor="t"):
        assert await list_facts(pool) == await list_rules(pool) == await list_episodes(pool) == []
        assert await list_entities(pool, merged=None) == await fact_chain(pool, fact) == []
        assert await list_applications(pool, rule) == []
        assert (await knowledge_graph(pool)).nodes == {}
        with pytest.raises(NotFoundError):
            await knowledge_graph(pool, entity_id=entity.id)


@pytest.mark.parametrize(
    "wanted",
    [
        {"limit": 0},
        {"limit": 1001},
        {"offset": -1},
        {"validity": "fading"},
        {"entity_id": "x"},
        {"scope": ""},
    ],
    ids=str,
)
async def test_what_cannot_be_listed_is_refused(pool: asyncpg.Pool, wanted: dict[str, Any]) -> None:
    """The message names the parameter."""
    (name,) = wanted
    with pytest.raises(InvalidInputError, match=f"^{name}: expected"):
        await list_facts(pool, **wanted)
