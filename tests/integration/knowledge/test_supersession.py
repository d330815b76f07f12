"""Facts of one key, stored at once: one stays active, and the others form its chain."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.judge import Verdict
from commonplace.knowledge import Fact, Narrowing
from commonplace.knowledge.memories.fact_receipts import NearFact
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.keys import KEY_GAPS, plain_key
from commonplace.knowledge.storage_functions import forget_memory, store_fact, store_facts
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.deadlines import DEADLINE_S
from support.judging import deciding

WRITERS = 50
SPELLINGS = [
    *(
        "The staging DB",
        "staging-db",
        " Staging_DB ",
        "usesPort",
        "Acme Inc.",
        "an office",
        "Python 3.1",
        "db 1 - 2",
    ),
    *("theme", "the", "a  1 /2_b-", "the_end", "a-b . c", "9 - x"),
]


async def chain(pool: asyncpg.Pool) -> list[UUID]:
    """Return the ids from the active fact back to the first; fails where there is not exactly one chain."""
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.connection.fetch("SELECT id, validity, supersedes_id FROM facts")
        links = await sql.connection.fetch(
            "SELECT source_id, target_id FROM memory_links WHERE relation = 'supersedes'"
        )
    (active,) = [row["id"] for row in rows if row["validity"] == "active"]
    before = {row["id"]: row["supersedes_id"] for row in rows}
    ids: list[UUID] = []
    key = active
    while key is not None:
        ids.append(key)
        key = before[key]
    assert len(ids) == len(rows)
    assert {(row["source_id"], row["target_id"]) for row in links} == set(pairwise(ids))
    return ids


@pytest.mark.requirement("KNW-02.2", "KNW-05.2", "R-KNW-3")
@pytest.mark.parametrize("by_entity", [False, True])
@pytest.mark.usefixtures("tenant")
async def test_fifty_writers_of_one_key_leave_one_active_fact(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, *, by_entity: bool
) -> None:
    """And a chain of forty-nine superseded ones, each linked to the one that it replaced."""
    entity = None
    if by_entity:
        async with unit_of_work(knowledge_pool) as sql:
            entity = await sql.connection.fetchval(
                "INSERT INTO entities (tenant_id, canonical_name, entity_type)"
                " VALUES (current_setting('commonplace.tenant_id'), 'Ann', 'person') RETURNING id"
            )
    stored = await asyncio.gather(
        *(
            store_fact(
                knowledge_pool,
                engine,
                subject=f"Ann {n}" if by_entity else "Ann",
                predicate="works_at",
                content=f"Company {n}",
                entity_id=entity,
            )
            for n in range(WRITERS)
        )
    )
    assert set(await chain(knowledge_pool)) == set(stored)


@pytest.mark.usefixtures("tenant")
async def test_batches_with_keys_in_common_never_wait_for_each_other(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Batches that name the same keys in opposite orders all end, while facts are forgotten in between."""
    drafts = [FactDraft(subject="Ann", predicate=f"p{n}", content="x") for n in range(20)]
    receipts = await store_facts(knowledge_pool, engine, drafts)
    orders = [drafts, drafts[::-1]] * 5
    await asyncio.gather(
        *(store_facts(knowledge_pool, engine, order) for order in orders),
        *(forget_memory(knowledge_pool, "fact", receipt.id) for receipt in receipts),
    )
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        counts = await sql.connection.fetch(
            "SELECT predicate, count(*), count(*) FILTER (WHERE validity = 'active') FROM facts GROUP BY predicate"
        )
    assert {tuple(row)[1:] for row in counts} == {(11, 1)}


async def test_the_same_key_in_two_tenants_is_two_facts(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Neither supersedes the other."""
    for tenant in ("tenant-a", "tenant-b"):
        with request_context(tenant_id=tenant, actor="tester"):
            await store_fact(knowledge_pool, engine, subject="Ann", predicate="works_at", content=tenant)
    for tenant in ("tenant-a", "tenant-b"):
        with request_context(tenant_id=tenant, actor="tester"):
            assert len(await chain(knowledge_pool)) == 1


@pytest.mark.requirement("KNW-05.2")
async def test_the_same_words_inherit_what_the_fact_before_them_earned(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """References, importance, beginning and confirmation; other words begin anew."""
    key: dict[str, Any] = {"subject": "Anna", "predicate": "lives_in"}
    began = clock.now
    first = await knowledge.store_fact(**key, content="Lives in  Porto", importance=9)
    for _ in range(3):
        await knowledge.get("fact", first.id)
    clock.advance(days=5)
    drafts = [FactDraft(**key, content=text) for text in ("lives in porto", "Lives in Porto")]
    *_, again = await knowledge.store_facts(drafts)
    fact = await knowledge.read("fact", again.id)
    assert (fact.reference_count, fact.importance, fact.valid_from) == (3, 9.0, began)
    assert (fact.last_referenced_at, fact.last_confirmed_at) == (began, clock.now)
    lower = await knowledge.store_fact(**key, content="Lives in Porto", importance=2)
    assert (await knowledge.read("fact", lower.id)).importance == 2.0
    other = await knowledge.read("fact", (await knowledge.store_fact(**key, content="Lives in Rome")).id)
    assert (other.reference_count, other.importance, other.valid_from) == (0, 5.0, None)


async def test_a_fact_ends_where_its_successor_begins(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """At the stated beginning, or when the successor was stored; an earlier end stays."""
    key: dict[str, Any] = {"subject": "Anna", "predicate": "lives_in"}
    may, june = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    receipts = await knowledge.store_facts(
        [
            FactDraft(**key, content="Lisbon", valid_from=datetime(2020, 1, 1, tzinfo=UTC)),
            FactDraft(**key, content="Porto", valid_from=may, valid_to=june),
            FactDraft(**key, content="Rome"),
        ]
    )
    clock.advance(days=1)
    receipts.append(await knowledge.store_fact(**key, content="Paris"))
    ends = [(await knowledge.read("fact", receipt.id)).valid_to for receipt in receipts]
    assert ends == [may, min(june, max(may, clock.now - timedelta(days=1))), clock.now, None]


async def test_a_fact_does_not_end_before_it_begins(knowledge: KnowledgeMemory) -> None:
    """The message names the field."""
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match="valid_to: expected a moment after valid_from"):
        await knowledge.store_fact(
            subject="a", predicate="b", content="c", valid_from=moment, valid_to=moment
        )


PORTO = FactDraft(
    subject="Uma",
    predicate="lives_in",
    content="Uma lives in Porto",
    valid_from=datetime(2024, 5, 1, tzinfo=UTC),
)
MADRID = FactDraft(
    subject="Uma",
    predicate="lives_in",
    content="Uma lived in Madrid",
    valid_from=datetime(2010, 1, 1, tzinfo=UTC),
    valid_to=datetime(2015, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_fact_whose_period_has_ended_goes_into_the_history(
    knowledge: KnowledgeMemory, clock: ManualClock, *, at_once: bool
) -> None:
    """And the fact of the present stays current, in a batch too."""
    if at_once:
        porto, madrid = await knowledge.store_facts([PORTO, MADRID])
    else:
        (porto,) = await knowledge.store_facts([PORTO])
        (madrid,) = await knowledge.store_facts([MADRID])
    assert (madrid.superseded_id, madrid.contradicts_id) == (None, None)
    assert (madrid.current_id, madrid.current_text) == (porto.id, PORTO.content)
    current = await knowledge.read("fact", porto.id)
    assert (current.validity, current.valid_from, current.valid_to) == ("active", PORTO.valid_from, None)
    past = await knowledge.read("fact", madrid.id)
    assert (past.validity, past.valid_from, past.valid_to) == (
        "superseded",
        MADRID.valid_from,
        MADRID.valid_to,
    )
    for moment, expected in (("2012-01-01", madrid.id), ("2025-01-01", porto.id)):
        (found,) = await knowledge.search("where does Uma live?", narrowing=Narrowing(valid_at=moment))
        assert found.memory.id == expected
    (now,) = await knowledge.search("where does Uma live?")
    assert now.memory.id == porto.id
    assert [fact.id for fact in await knowledge.history.timeline("Uma")] == [madrid.id, porto.id]
    clock.advance(days=1)
    assert not await knowledge.search(
        "where does Uma live?",
        narrowing=Narrowing(valid_at="2012-01-01", as_of=clock.now - timedelta(days=2)),
    )


async def test_a_sentence_about_the_past_goes_into_the_history(knowledge: KnowledgeMemory) -> None:
    """If the current fact began later; the receipt has the period."""
    porto = await knowledge.store_fact(subject="Uma", predicate="lives_in", content="Uma lives in Porto")
    madrid = await knowledge.store_fact(
        subject="Uma", predicate="lives_in", content="Uma lived in Madrid from 2010 to 2015"
    )
    assert (madrid.superseded_id, madrid.current_id) == (None, porto.id)
    assert madrid.period is not None
    assert madrid.period.words == "from 2010 to 2015"
    past = await knowledge.read("fact", madrid.id)
    assert (past.validity, past.valid_from, past.valid_to) == (
        "superseded",
        madrid.period.valid_from,
        madrid.period.valid_to,
    )
    (then,) = await knowledge.search("where does Uma live?", narrowing=Narrowing(valid_at="2012-01-01"))
    assert then.memory.id == madrid.id
    (now,) = await knowledge.search("where does Uma live?")
    assert now.memory.id == porto.id


async def test_a_sentence_about_the_past_is_found_if_nothing_else_is_known(
    knowledge: KnowledgeMemory,
) -> None:
    """Alone, and repeated, it has no period, because searches would not find it."""
    text = "Uma lived in Madrid from 2010 to 2015"
    for _ in range(2):
        receipt = await knowledge.store_fact(subject="Uma", predicate="lives_in", content=text)
        assert (receipt.period, receipt.current_id) == (None, None)
        (found,) = await knowledge.search("where does Uma live?")
        assert found.memory.id == receipt.id


async def test_a_sentence_may_end_the_current_fact(knowledge: KnowledgeMemory) -> None:
    """Its period ended after the current fact began, so it is the newer knowledge."""
    works = await knowledge.store_fact(
        subject="Uma", predicate="works_at", content="Uma works at Acme", valid_from="2018-01-01"
    )
    worked = await knowledge.store_fact(
        subject="Uma", predicate="works_at", content="Uma worked at Acme until 2024"
    )
    assert (worked.superseded_id, worked.period) == (works.id, None)
    (found,) = await knowledge.search("where does Uma work?")
    assert found.memory.id == worked.id


@pytest.mark.parametrize(
    ("subject", "predicate"),
    [("The staging DB", "uses_port"), ("staging-db", "uses port"), ("Staging_DB", "usesPort")],
)
async def test_a_receipt_names_the_fact_of_a_near_key(
    knowledge: KnowledgeMemory, subject: str, predicate: str
) -> None:
    """Both facts stay current; the same letters in another scope, or superseded, are not near."""
    await knowledge.store_fact(subject="staging db", predicate="uses_port", content="5432")
    first = await knowledge.store_fact(subject="staging db", predicate="uses_port", content="5433")
    assert first.near is None
    await knowledge.store_fact(subject=subject, predicate="owner", content="Ann")
    said = f"{subject} {predicate.replace('_', ' ')}: 5434"
    with deciding({("staging db uses port: 5433", said): Verdict.DISTINCT}):
        near = await knowledge.store_fact(subject=subject, predicate=predicate, content="5434")
    assert near.superseded_id is None
    assert near.near == NearFact(id=first.id, subject="staging db", predicate="uses_port")
    elsewhere = await knowledge.store_fact(subject=subject, predicate=predicate, content="5434", scope="ops")
    assert elsewhere.near is None


async def test_a_near_key_of_an_entity_is_found_by_the_entity(knowledge: KnowledgeMemory) -> None:
    """Under any of its names; a namesake's fact is not near."""
    entity, namesake = [
        (await knowledge.entities.create(canonical_name="Ann Lee", entity_type=kind, aliases=["Annie"])).id
        for kind in ("person", "place")
    ]
    key: dict[str, Any] = {"subject": "Annie", "content": "x"}
    await knowledge.store_fact(**key, predicate="lives_in", entity_id=namesake)
    first = await knowledge.store_fact(
        subject="Ann Lee", predicate="lives_in", content="Porto", entity_id=entity
    )
    assert first.near is None
    near = await knowledge.store_fact(**key, predicate="lives in", entity_id=entity)
    assert near.near is not None
    assert near.near.id == first.id


@pytest.mark.usefixtures("tenant")
async def test_the_database_spells_keys_as_python_does(knowledge_pool: asyncpg.Pool) -> None:
    """One form, wherever keys are compared."""
    async with unit_of_work(knowledge_pool, readonly=True) as sql:
        rows = await sql.connection.fetch(
            f"SELECT {KEY_GAPS['subject_key']} AS key FROM unnest($1::text[]) WITH ORDINALITY AS given (subject, place)"  # noqa: S608 - a constant
            " ORDER BY place",
            SPELLINGS,
        )
    assert [row["key"] for row in rows] == [plain_key(text) for text in SPELLINGS]


async def test_a_later_period_of_the_past_replaces_an_earlier_one(knowledge: KnowledgeMemory) -> None:
    """If no fact of the key holds today, the one that ended last is the active one."""
    (madrid,) = await knowledge.store_facts([MADRID])
    later = FactDraft(
        subject="Uma",
        predicate="lives_in",
        content="Uma lived in Rome",
        valid_from=MADRID.valid_to,
        valid_to=datetime(2018, 1, 1, tzinfo=UTC),
    )
    (rome,) = await knowledge.store_facts([later])
    assert (rome.superseded_id, rome.superseded_text) == (madrid.id, MADRID.content)
    assert (await knowledge.read("fact", madrid.id)).valid_to == MADRID.valid_to


async def test_no_fact_ends_before_it_begins(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """Neither a fact without a beginning that is corrected, nor one in the same words with an end in the past."""
    key: dict[str, Any] = {"subject": "Uma", "predicate": "lives_in"}
    old = await knowledge.store_fact(**key, content="Lives in Porto")
    since = datetime(2010, 1, 1, tzinfo=UTC)
    await knowledge.store_fact(**key, content="Lives in Rome", valid_from=since)
    corrected = await knowledge.read("fact", old.id)
    assert corrected.valid_to == corrected.created_at
    other: dict[str, Any] = {"subject": "Uma", "predicate": "works_at", "content": "Works at Acme"}
    await knowledge.store_fact(**other, valid_from=clock.now - timedelta(days=9))
    ended = await knowledge.store_fact(**other, valid_to=since)
    fact = await knowledge.read("fact", ended.id)
    assert (fact.valid_from, fact.valid_to) == (None, since)


async def test_the_same_words_inherit_permanence_and_tags(knowledge: KnowledgeMemory) -> None:
    """Unless the new fact states others."""
    key: dict[str, Any] = {"subject": "Tim", "predicate": "allergic_to", "content": "Tim is allergic to nuts"}
    await knowledge.store_fact(**key, importance=10, permanence="permanent", tags=["health", "pinned"])
    again = await knowledge.read("fact", (await knowledge.store_fact(**key)).id)
    assert (again.importance, again.permanence, again.decay_rate) == (10.0, "permanent", 0.0)
    assert again.tags == ("health", "pinned")
    stated = await knowledge.store_fact(**key, permanence="stable", tags=["allergy"])
    other = await knowledge.read("fact", stated.id)
    assert (other.permanence, other.decay_rate, other.tags) == ("stable", 0.002, ("allergy", "pinned"))
    new = await knowledge.store_fact(**{**key, "content": "Tim is allergic to kiwi"})
    fresh = await knowledge.read("fact", new.id)
    assert (fresh.permanence, fresh.tags) == ("standard", ("pinned",))


@pytest.mark.requirement("CNS-01")
@pytest.mark.parametrize(
    ("matters", "reason"),
    [
        ({"permanence": "permanent"}, "the old fact is permanent"),
        ({"importance": 8}, "the old fact is important"),
        ({"tags": ["pinned"]}, "the old fact is pinned"),
        ({}, None),
    ],
)
async def test_a_replaced_fact_that_matters_waits_for_a_review(
    knowledge: KnowledgeMemory, matters: dict[str, Any], reason: str | None
) -> None:
    """One answer keeps both facts; the same words, and a correction by hand, wait for nothing."""
    key: dict[str, Any] = {"subject": "Tim", "predicate": "allergic_to"}
    old = await knowledge.store_fact(**key, content="Allergic to nuts", **matters)
    same = await knowledge.store_fact(**key, content="allergic to  nuts")
    assert (same.superseded_id, same.review_id) == (old.id, None)
    edited = await knowledge.edit("fact", same.id, "Allergic to peanuts")
    assert await knowledge.reviews.list() == []
    new = await knowledge.store_fact(**key, content="Allergic to kiwi")
    assert (new.superseded_id, new.superseded_text) == (edited.id, "Allergic to peanuts")
    assert [(each.id, each.reason, each.run_id) for each in await knowledge.reviews.list()] == (
        [] if reason is None else [(new.review_id, reason, None)]
    )
    if new.review_id is not None:
        await knowledge.reviews.decide(new.review_id, "distinct")
        for each in (edited.id, new.id):
            assert (await knowledge.read("fact", each)).validity == "active"


BATCH = [
    PORTO,
    replace(PORTO, content="uma lives in  PORTO", valid_from=None, importance=9.0, tags=["pinned"]),
    MADRID,
    replace(PORTO, content="Uma lives in Rome", source="web", valid_from=None),
    replace(PORTO, content="Uma lives in Rome", valid_from=datetime(2030, 1, 1, tzinfo=UTC)),
    replace(PORTO, predicate="works_at", content="Uma works at Acme"),
    replace(PORTO, content="Uma lives in Oslo", valid_from=None),
]


async def test_a_batch_is_stored_as_if_fact_by_fact(knowledge: KnowledgeMemory) -> None:
    """Its facts, links and receipts are the same in two scopes, of which one was filled fact by fact."""
    drafts = [[replace(draft, scope=scope) for draft in BATCH] for scope in ("ops", "web")]
    at_once = await knowledge.store_facts(drafts[0])
    one_by_one = [(await knowledge.store_facts([draft]))[0] for draft in drafts[1]]
    names: dict[UUID | None, object] = {None: None}
    stored: list[Any] = []
    for receipts in (at_once, one_by_one):
        names |= {receipt.id: place for place, receipt in enumerate(receipts)}
        facts = [await knowledge.read("fact", receipt.id) for receipt in receipts]
        links = [await knowledge.links.list("fact", receipt.id, direction="outgoing") for receipt in receipts]
        stored.append(
            [
                [
                    replace(fact, id=UUID(int=place), scope="", supersedes_id=None)
                    for place, fact in enumerate(facts)
                ],
                [names[fact.supersedes_id] for fact in facts],
                [[(link.relation, names[link.target_id]) for link in each] for each in links],
                [
                    (each.superseded_text, each.superseded_until, each.current_text, each.flags)
                    for each in receipts
                ],
                [
                    (names[each.superseded_id], names[each.contradicts_id], names[each.current_id])
                    for each in receipts
                ],
                [each.review_id is not None for each in receipts],
            ]
        )
    assert stored[0] == stored[1]


@pytest.mark.session
@pytest.mark.requirement("KNW-05.2")
async def test_a_fact_that_moves_meanwhile_is_not_superseded(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """A store waits for the move of the active fact of its key, and then sees that the fact has another key."""
    first = await knowledge.store_fact(subject="Ann", predicate="lives_in", content="Porto")
    async with knowledge.session.acting(), unit_of_work(knowledge_pool) as sql:
        await sql.connection.execute("UPDATE facts SET scope = 'ops' WHERE id = $1", first.id)
        storing = asyncio.create_task(
            knowledge.store_fact(subject="Ann", predicate="lives_in", content="Rome")
        )
        query = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))"
        async with asyncio.timeout(DEADLINE_S):
            while not await knowledge_pool.fetchval(query, sql.connection.get_server_pid()):
                pass
    assert (await storing).superseded_id is None
    facts = await knowledge.lists.facts(validity="active")
    assert {(fact.content, fact.scope) for fact in facts} == {("Porto", "ops"), ("Rome", "global")}


@pytest.mark.requirement("TRU-02.3")
async def test_words_relative_to_today_are_kept_with_their_date(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """In the text of facts and rules, and in the period of a fact; what was stored in bulk may be old."""
    receipt = await knowledge.store_fact(subject="Ben", predicate="is", content="Ben is away tomorrow.")
    rule = await knowledge.store_rule(content="Deploy nothing this week.")
    (bulk,) = await knowledge.store_facts(
        [FactDraft(subject="Eva", predicate="is", content="Eva is away tomorrow.")]
    )
    tomorrow = clock.now.replace(hour=0) + timedelta(days=1)
    fact = await knowledge.read("fact", receipt.id)
    assert fact.content == "Ben is away tomorrow (2026-03-02)."
    assert (fact.valid_from, fact.valid_to) == (tomorrow, tomorrow + timedelta(days=1))
    assert (
        await knowledge.read("rule", rule.id)
    ).content == "Deploy nothing this week (2026-02-23\u20132026-03-01)."
    assert (await knowledge.read("fact", bulk.id)).content == "Eva is away tomorrow."
    clock.advance(days=3)
    assert [each.memory.id for each in await knowledge.search("who is away?", types=["fact"])] == [bulk.id]


@pytest.mark.requirement("TRU-02.2")
async def test_the_receipt_says_that_a_date_and_its_weekday_disagree(knowledge: KnowledgeMemory) -> None:
    """The date counts."""
    receipt = await knowledge.store_fact(
        subject="Ben", predicate="is", content="Ben is away until Monday, 2026-03-06."
    )
    assert receipt.period is not None
    assert receipt.period.remark == "2026-03-06 is a Friday, not Monday; the date counts"
    assert receipt.period.valid_to == datetime(2026, 3, 7, tzinfo=UTC)


@pytest.mark.requirement("TRU-03.1")
async def test_history_runs_on_the_clock_of_what_happened(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """What was learned on the 25th from an episode of the 19th holds since the 19th; before, nobody knew it."""
    await knowledge.store_fact(subject="api", predicate="host", content="db-1")
    clock.advance(days=18)
    episode = await knowledge.store_episode(content="The api moved to db-2", butler="ops")
    said_at = clock.now
    clock.advance(days=6)
    before = utc_now()  # What was known is kept by the clock of the server.
    receipt = await knowledge.store_fact(
        subject="api", predicate="host", content="db-2", source_episode_id=episode.id
    )
    new = await knowledge.read("fact", receipt.id)
    assert isinstance(new, Fact)
    assert (new.valid_from, new.last_confirmed_at, new.created_at) == (said_at, clock.now, clock.now)

    async def host(**narrowing: Any) -> list[str]:  # noqa: ANN401 - as_of and valid_at
        found = await knowledge.search(
            "api host", types=["fact"], min_confidence=0.0, narrowing=Narrowing(**narrowing)
        )
        return [each.memory.content for each in found]

    assert await host(valid_at=said_at + timedelta(days=2)) == ["db-2"]
    assert await host(valid_at=said_at - timedelta(days=2)) == ["db-1"]
    assert await host(as_of=before) == ["db-1"]
    assert await host() == ["db-2"]
