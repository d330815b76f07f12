"""Storing, getting, confirming and forgetting of episodes, facts, rules and links."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    SecretRefusedError,
    SupersededError,
)
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.search_text import search_query_text
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    create_link,
    forget_memory,
    get_links,
    get_memory,
    store_episode,
    store_episodes,
    store_fact,
    store_facts,
    store_rule,
    store_rules,
)
from commonplace.knowledge.store.unit_of_work import unit_of_work

pytestmark = pytest.mark.usefixtures("tenant")

DAY = timedelta(days=1)


async def row(pool: asyncpg.Pool, sql: str, *arguments: object) -> asyncpg.Record:
    """Return the one row of a statement of our own, as the tenant sees it."""
    async with unit_of_work(pool) as work:
        (found,) = await work.connection.fetch(sql, *arguments)
    return found


async def fact(pool: asyncpg.Pool, engine: EmbeddingEngine, **changes: Any) -> UUID:  # noqa: ANN401
    """Store a fact that has only what it must have, and what the test is about."""
    values: dict[str, Any] = {"subject": "Ann", "predicate": "works_at", "content": "Acme", **changes}
    return await store_fact(pool, engine, **values)


async def entity(pool: asyncpg.Pool, metadata: dict[str, str] | None = None) -> UUID:
    """Store an entity."""
    sql = (
        "INSERT INTO entities (tenant_id, canonical_name, entity_type, metadata)"
        " VALUES (current_setting('commonplace.tenant_id'), $1, 'person', $2) RETURNING id"
    )
    return (await row(pool, sql, uuid4().hex, metadata or {}))["id"]


@pytest.mark.requirement("KNW-05.1", "KNW-31.1", "KNW-01.1")
async def test_an_episode_is_stored_with_vectors_and_a_lifetime(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """It has its vectors, the model of them, the defaults, and seven days."""
    session = uuid4()
    stored = await store_episode(
        knowledge_pool,
        engine,
        content="Deployed the\x00 billing service",
        butler="ops",
        session_id=str(session),
        importance=7,
        metadata={"ticket": ["A-1"]},
        clock=clock,
    )
    found = await row(knowledge_pool, "SELECT * FROM episodes WHERE id = $1", stored)
    assert (found["content"], found["butler"], found["session_id"]) == (
        "Deployed the billing service",
        "ops",
        session,
    )
    assert (found["created_at"], found["expires_at"]) == (clock.now, clock.now + 7 * DAY)
    assert (found["importance"], found["metadata"]) == (7.0, {"ticket": ["A-1"]})
    assert (found["consolidated"], found["consolidation_status"]) == (False, "pending")
    assert found["embedding"].to_list() == pytest.approx(engine.embed("Deployed the billing service"))
    assert (found["embedding_model"], found["embedding_version"]) == ("fake", "1")
    assert found["search_vector"] == "'bill':3 'deploy':1 'servic':4"
    version = await row(knowledge_pool, "SELECT * FROM embedding_versions")
    assert (version["model"], version["version"], version["dimensions"]) == ("fake", "1", 384)


@pytest.mark.requirement("KNW-02.1", "KNW-01.2", "KNW-04.1", "R-KNW-2")
async def test_a_fact_starts_active_and_confirmed(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """With confidence 1.0, the decay rate of its permanence, and a confirmation time."""
    source = await store_episode(knowledge_pool, engine, content="She said so", butler="ops")
    stored = await fact(
        knowledge_pool,
        engine,
        permanence="volatile",
        tags=["work", "work", "new"],
        scope="relationship",
        source_butler="ops",
        source_episode_id=source,
        metadata={"k": 1},
        clock=clock,
    )
    found = await get_memory(knowledge_pool, "fact", stored)
    assert found is not None
    assert (found["validity"], found["confidence"], found["decay_rate"]) == ("active", 1.0, 0.03)
    assert (found["created_at"], found["last_confirmed_at"]) == (clock.now, clock.now)
    assert (found["tags"], found["metadata"]) == (("work", "new"), {"k": 1})
    assert (found["scope"], found["permanence"], found["source_butler"]) == (
        "relationship",
        "volatile",
        "ops",
    )
    assert (found["source_episode_id"], found["supersedes_id"]) == (source, None)
    vector = await row(knowledge_pool, "SELECT search_vector FROM facts")
    assert vector["search_vector"] == "'acm':4 'ann':1 'work':2"


@pytest.mark.requirement("KNW-05.4", "KNW-01.3", "R-KNW-1", "R-KNW-2")
async def test_a_rule_starts_as_a_candidate(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """With confidence 0.5, its own decay rate, a confirmation time, and nothing counted."""
    stored = await store_rule(knowledge_pool, engine, content="Ask before deploying", clock=clock)
    found = await get_memory(knowledge_pool, "rule", stored, clock=clock)
    assert found is not None
    expected = {
        "maturity": "candidate",
        "confidence": 0.5,
        "decay_rate": 0.01,
        "effectiveness_score": 0.0,
        "applied_count": 0,
        "success_count": 0,
        "harmful_count": 0,
        "last_confirmed_at": clock.now,
        "scope": "global",
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.requirement("KNW-05.2", "KNW-02.2", "KNW-26")
async def test_a_fact_supersedes_the_one_of_its_key(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """The old one stays, marked, with a link from the new one."""
    old = await fact(knowledge_pool, engine)
    new = await fact(knowledge_pool, engine, content="Bolt")
    states = {key: await get_memory(knowledge_pool, "fact", key) for key in (old, new)}
    assert states[old] is not None
    assert states[new] is not None
    assert (states[old]["validity"], states[old]["content"]) == ("superseded", "Acme")
    assert (states[new]["validity"], states[new]["supersedes_id"]) == ("active", old)
    (link,) = await get_links(knowledge_pool, "fact", new, direction="outgoing")
    assert (link.relation, link.target_type, link.target_id) == ("supersedes", "fact", old)


@pytest.mark.requirement("R-KNW-3", "KNW-02.2", "KNW-06")
async def test_the_key_of_a_fact_has_its_scope_and_its_entity(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Another scope or entity is another fact; with an entity the subject's wording does not matter."""
    ann = await entity(knowledge_pool)
    plain = await fact(knowledge_pool, engine)
    scoped = await fact(knowledge_pool, engine, scope="work")
    first = await fact(knowledge_pool, engine, entity_id=ann)
    renamed = await fact(knowledge_pool, engine, entity_id=str(ann), subject="Ann Lee")
    other = await fact(knowledge_pool, engine, entity_id=await entity(knowledge_pool))
    validity = {}
    for key in (plain, scoped, first, renamed, other):
        found = await get_memory(knowledge_pool, "fact", key)
        assert found is not None
        validity[key] = (found["validity"], found["supersedes_id"])
    assert validity == {
        plain: ("active", None),
        scoped: ("active", None),
        first: ("superseded", None),
        renamed: ("active", first),
        other: ("active", None),
    }


@pytest.mark.requirement("KNW-05.3")
async def test_a_fact_needs_an_entity_that_exists(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """An unknown entity is refused by name, a merged one with the entity to take in its place."""
    unknown = uuid4()
    with pytest.raises(ValueError, match=f'entity_id: .*does not exist, got "{unknown}"'):
        await fact(knowledge_pool, engine, entity_id=unknown)
    target = await entity(knowledge_pool)
    merged = await entity(knowledge_pool, {"merged_into": str(target)})
    with pytest.raises(ConflictError, match=f"merged into {target}"):
        await fact(knowledge_pool, engine, entity_id=merged)
    with pytest.raises(InvalidInputError, match="source_episode_id: expected the id of an existing episode"):
        await fact(knowledge_pool, engine, source_episode_id=uuid4())
    with pytest.raises(InvalidInputError, match="source_episode_id: expected the id of an existing episode"):
        await store_rule(knowledge_pool, engine, content="x", source_episode_id=uuid4())
    assert (await row(knowledge_pool, "SELECT count(*) FROM facts"))["count"] == 0


async def test_an_episode_has_happened_when_it_is_stored(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A time ahead is that of a wrong clock; a date is the beginning of its day."""
    drafts = [
        EpisodeDraft(content="x", butler="b", created_at=moment) for moment in (clock.now + DAY, "2024-05-01")
    ]
    ahead, dated = await store_episodes(knowledge_pool, engine, drafts, clock=clock)
    for receipt, happened_at in ((ahead, clock.now), (dated, datetime(2024, 5, 1, tzinfo=UTC))):
        assert (await row(knowledge_pool, "SELECT created_at FROM episodes WHERE id = $1", receipt.id))[
            0
        ] == (happened_at)


async def test_batches_are_stored_in_their_order(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """One statement each; in a batch of facts the later ones supersede the earlier ones of their key."""
    happened_at = datetime(2024, 5, 1, tzinfo=UTC)
    drafts = [EpisodeDraft(content=f"turn {n}", butler="b", created_at=happened_at) for n in range(20)]
    stored = await store_episodes(knowledge_pool, engine, drafts)
    episodes = [receipt.id for receipt in stored if receipt.id]
    rules = await store_rules(knowledge_pool, engine, [RuleDraft(content=f"rule {n}") for n in range(3)])
    standing = await fact(knowledge_pool, engine, predicate="p0")
    receipts = await store_facts(
        knowledge_pool,
        engine,
        [FactDraft(subject="Ann", predicate=f"p{n % 2}", content=f"fact {n}") for n in range(5)],
    )
    ids = [receipt.id for receipt in receipts]
    assert [receipt.superseded_id for receipt in receipts] == [standing, None, ids[0], ids[1], ids[2]]
    for kind, number, key, text in (("episode", 7, episodes[7], "turn"), ("rule", 2, rules[2].id, "rule")):
        found = await get_memory(knowledge_pool, kind, key)
        assert found is not None
        assert found["content"] == f"{text} {number}"
    found = await get_memory(knowledge_pool, "episode", episodes[0])
    assert found is not None
    assert found["created_at"] == happened_at
    active = await row(
        knowledge_pool, "SELECT array_agg(content ORDER BY content) FROM facts WHERE validity = 'active'"
    )
    assert active[0] == ["fact 3", "fact 4"]
    assert await store_episodes(knowledge_pool, engine, []) == []
    assert await store_facts(knowledge_pool, engine, []) == []
    assert await store_rules(knowledge_pool, engine, []) == []


async def test_a_batch_is_stored_whole_or_not_at_all(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """One draft that cannot be stored keeps the others out, and the error names its field."""
    good = FactDraft(subject="Ann", predicate="p", content="c")
    for bad, field in (
        (FactDraft(subject="Ann", predicate="", content="c"), "predicate"),
        (FactDraft(subject="Ann", predicate="q", content="c", entity_id=uuid4()), "entity_id"),
    ):
        with pytest.raises(InvalidInputError, match=field):
            await store_facts(knowledge_pool, engine, [good, bad])
    with pytest.raises(InvalidInputError, match="batch: expected at most 5000 rows"):
        await store_facts(knowledge_pool, engine, [good] * 5001)
    assert (await row(knowledge_pool, "SELECT count(*) FROM facts"))["count"] == 0
    assert (await row(knowledge_pool, "SELECT count(*) FROM memory_events"))["count"] == 0


INTERNAL = {
    *("embedding", "embedding_model", "embedding_version", "search_vector"),
    *("next_embedding", "next_embedding_model", "next_embedding_version"),
    *("tenant_id", "insertion_order", "lease_run"),
}


@pytest.mark.requirement("KNW-05.6", "R-KNW-9")
async def test_getting_a_memory_counts_the_reading(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The row is the one after counting, complete but for its vectors."""
    ids = {
        "episode": await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock),
        "fact": await fact(knowledge_pool, engine),
        "rule": await store_rule(knowledge_pool, engine, content="x"),
    }
    sql = "SELECT column_name::text FROM information_schema.columns WHERE table_name = $1"
    for kind, key in ids.items():
        for count in (1, 2):
            clock.advance(minutes=1)
            found = await get_memory(knowledge_pool, kind, str(key), clock=clock)
            assert found is not None
            assert (found["reference_count"], found["last_referenced_at"]) == (count, clock.now)
        columns = {name for (name,) in await knowledge_pool.fetch(sql, f"{kind}s")}
        assert columns - set(found) <= INTERNAL
        assert await get_memory(knowledge_pool, kind, uuid4()) is None


@pytest.mark.requirement("KNW-05.7")
async def test_confirming_restarts_the_decay(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Of a fact and a rule; an episode has no confidence, and what is gone cannot be confirmed."""
    ids = {
        "fact": await fact(knowledge_pool, engine, clock=clock),
        "rule": await store_rule(knowledge_pool, engine, content="x", clock=clock),
    }
    clock.advance(days=30)
    for kind, key in ids.items():
        await confirm_memory(knowledge_pool, kind, key, clock=clock)
        found = await get_memory(knowledge_pool, kind, key)
        assert found is not None
        assert found["last_confirmed_at"] == clock.now
        await forget_memory(knowledge_pool, kind, key)
        for missing in (key, uuid4()):
            with pytest.raises(NotFoundError):
                await confirm_memory(knowledge_pool, kind, missing)
    with pytest.raises(ValueError, match="memory_type: expected fact or rule"):
        await confirm_memory(knowledge_pool, "episode", uuid4())


async def test_confirming_a_superseded_fact_names_its_successor(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The latest one, which can be confirmed."""
    first, second, latest = [
        await fact(knowledge_pool, engine, content=content, clock=clock) for content in ("a", "b", "c")
    ]
    for old in (first, second):
        with pytest.raises(SupersededError, match=f'"{old}" was superseded by the fact "{latest}"'):
            await confirm_memory(knowledge_pool, "fact", old, clock=clock)
    await confirm_memory(knowledge_pool, "fact", latest, clock=clock)


@pytest.mark.requirement("KNW-05.8", "KNW-05.9", "KNW-02.3", "R-KNW-7")
async def test_forgetting_takes_a_memory_out(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """An episode expires now, a fact is retracted, a rule is marked; a second time changes nothing."""
    episode = await store_episode(knowledge_pool, engine, content="x", butler="b", clock=clock)
    claim = await fact(knowledge_pool, engine)
    rule = await store_rule(knowledge_pool, engine, content="x", metadata={"kept": True})
    clock.advance(hours=1)
    for kind, key in (("episode", episode), ("fact", claim), ("rule", rule)):
        first = await forget_memory(knowledge_pool, kind, key, clock=clock)
        assert await forget_memory(knowledge_pool, kind, key, clock=clock) == first
        await forget_memory(knowledge_pool, kind, key, clock=lambda: clock.now + DAY)
        with pytest.raises(NotFoundError):
            await forget_memory(knowledge_pool, kind, uuid4())
    assert (await row(knowledge_pool, "SELECT expires_at FROM episodes"))[0] == clock.now
    assert (await row(knowledge_pool, "SELECT validity FROM facts"))[0] == "retracted"
    assert (await row(knowledge_pool, "SELECT metadata FROM rules"))[0] == {"kept": True, "forgotten": True}
    assert await get_memory(knowledge_pool, "episode", episode, clock=clock) is None
    assert await get_memory(knowledge_pool, "rule", rule) is None
    again = await fact(knowledge_pool, engine)
    found = await get_memory(knowledge_pool, "fact", again)
    assert found is not None
    assert found["supersedes_id"] is None


@pytest.mark.requirement("KNW-05.5", "KNW-26.1", "KNW-26.2")
async def test_links_go_between_memories_that_exist(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Once each, found from both ends, and of a relation that is known."""
    episode = await store_episode(knowledge_pool, engine, content="x", butler="b")
    claim = await fact(knowledge_pool, engine)
    rule = await store_rule(knowledge_pool, engine, content="x")

    async def link(relation: str = "derived_from", **changes: Any) -> bool:  # noqa: ANN401
        ends: dict[str, Any] = {
            "source_type": "fact",
            "source_id": claim,
            "target_type": "episode",
            "target_id": episode,
            **changes,
        }
        return (await create_link(knowledge_pool, relation=relation, **ends)).is_new

    assert await link()
    assert not await link()
    assert not await link("supports")
    assert await link("supports", source_type="rule", source_id=rule, target_type="fact", target_id=claim)
    found = {
        direction: [
            item.relation for item in await get_links(knowledge_pool, "fact", claim, direction=direction)
        ]
        for direction in ("outgoing", "incoming", "both")
    }
    assert found == {
        "outgoing": ["derived_from"],
        "incoming": ["supports"],
        "both": ["derived_from", "supports"],
    }
    assert await get_links(knowledge_pool, "fact", claim) == await get_links(
        knowledge_pool, "fact", str(claim)
    )
    for field, wrong in (("relation", "likes"), ("source_type", "entity"), ("target_type", "entities")):
        with pytest.raises(ValueError, match=f"{field}: expected one of"):
            await link(**{field: wrong})
    with pytest.raises(ValueError, match="direction: expected one of outgoing, incoming, both"):
        await get_links(knowledge_pool, "fact", claim, direction="up")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="no episode with id"):
        await link(target_id=uuid4())
    with pytest.raises(NotFoundError, match="no rule with id"):
        await link(source_type="rule", source_id=uuid4())


@pytest.mark.requirement("SHW-07.1")
async def test_a_document_is_no_memory(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """A fact or rule of a million characters would be cut in every block; an episode may be as long."""
    text = "words" * 100_000
    with pytest.raises(
        InvalidInputError, match="at most 20,000 characters, because a longer text is a document"
    ):
        await fact(knowledge_pool, engine, content=text)
    with pytest.raises(InvalidInputError, match="500,000 characters"):
        await store_rule(knowledge_pool, engine, content=text)
    assert await store_episode(knowledge_pool, engine, content=text, butler="reader")


HOSTILE = "'; DROP TABLE facts; -- $1 :content {0} %s \\"


@pytest.mark.parametrize(
    "text",
    [HOSTILE, "a\x00b", "half \ud83d of a pair", "\u202egnikcatta", "x" * 20_000, "東京 タワー"],
    ids=["sql", "nul", "surrogate", "bidi", "long", "japanese"],
)
async def test_any_text_is_stored_safely(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, text: str
) -> None:
    """In every field that takes text; what no store can hold is replaced, and nothing else is changed."""
    short = text[:50].replace("\x00", "")
    episode = await store_episode(
        knowledge_pool, engine, content=text, butler=short, metadata={short: [text[:1000], None, 1.5]}
    )
    claim = await fact(
        knowledge_pool, engine, subject=short, predicate=short, content=text, scope=short, tags=[short]
    )
    rule = await store_rule(knowledge_pool, engine, content=text, tags=[short])
    kept = text.replace("\x00", "").replace("\ud83d", "\ufffd")
    for kind, key in (("episode", episode), ("fact", claim), ("rule", rule)):
        found = await get_memory(knowledge_pool, kind, key)
        assert found is not None
        assert found["content"] == kept


@pytest.mark.requirement("KNW-11")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("タワー", True),
        ("東京", True),
        ("京東", False),
        ("deploying SERVICES", True),
        ("день", True),
        ("cafe\u0301", True),
        ("dog", False),
    ],
)
async def test_stored_words_are_those_of_the_query(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, query: str, *, found: bool
) -> None:
    """In English by their stems, in scripts without spaces by any part, whatever the case."""
    content = "東京タワーに行く。 We deployed the service. ДЕНЬ in the café"
    await store_episode(knowledge_pool, engine, content=content, butler="b")
    sql = "SELECT search_vector @@ plainto_tsquery('english', $1) AS found FROM episodes"
    assert (await row(knowledge_pool, sql, search_query_text(query)))["found"] is found


async def test_a_text_of_many_different_words_is_stored(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Its search vector would be over PostgreSQL's limit, and holds the first part of the words."""
    text = " ".join(f"w{n:06d}" for n in range(120_000))
    await store_episode(knowledge_pool, engine, content=text, butler="b")
    found = await row(
        knowledge_pool,
        "SELECT search_vector @@ 'w000001' AS first, length(search_vector) AS words FROM episodes",
    )
    assert found["first"]
    assert found["words"] > 20_000


Refused = Callable[[asyncpg.Pool, EmbeddingEngine], Awaitable[object]]
KEY = "sk-proj-abcdefghijklmnop1234"


@pytest.mark.parametrize(
    ("field", "attempt"),
    [
        ("content", lambda pool, engine: store_episode(pool, engine, content=" \n", butler="b")),
        ("content", lambda pool, engine: store_episode(pool, engine, content="x" * 10_000_000, butler="b")),
        ("butler", lambda pool, engine: store_episode(pool, engine, content="x", butler="")),
        (
            "session_id",
            lambda pool, engine: store_episode(pool, engine, content="x", butler="b", session_id="s"),
        ),
        ("importance", lambda pool, engine: fact(pool, engine, importance=float("nan"))),
        ("importance", lambda pool, engine: fact(pool, engine, importance=float("inf"))),
        ("importance", lambda pool, engine: fact(pool, engine, importance=10.1)),
        ("importance", lambda pool, engine: fact(pool, engine, importance="5")),
        ("permanence", lambda pool, engine: fact(pool, engine, permanence="forever")),
        ("subject", lambda pool, engine: fact(pool, engine, subject="x" * 257)),
        ("scope", lambda pool, engine: fact(pool, engine, scope=None)),
        ("tags", lambda pool, engine: fact(pool, engine, tags="work")),
        ("tags", lambda pool, engine: fact(pool, engine, tags=[1])),
        ("metadata", lambda pool, engine: fact(pool, engine, metadata={"x": float("nan")})),
        ("metadata", lambda pool, engine: fact(pool, engine, metadata={"status": "fading"})),
        (
            "metadata",
            lambda pool, engine: store_rule(pool, engine, content="x", metadata={"forgotten": True}),
        ),
        ("entity_id", lambda pool, engine: fact(pool, engine, entity_id="Ann")),
        ("memory_type", lambda pool, _: get_memory(pool, "entity", uuid4())),
        ("memory_id", lambda pool, _: get_memory(pool, "fact", "1")),
    ],
)
async def test_what_cannot_be_stored_is_refused_by_the_name_of_its_field(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, field: str, attempt: Refused
) -> None:
    """As a ValueError that says what is expected and what came, in few words."""
    with pytest.raises(ValueError, match=f"^{field}: expected .*, got ") as refused:
        await attempt(knowledge_pool, engine)
    assert isinstance(refused.value, InvalidInputError)
    assert len(str(refused.value)) < 300
    assert (await row(knowledge_pool, "SELECT count(*) FROM memory_events"))["count"] == 0


@pytest.mark.parametrize(
    ("field", "attempt"),
    [
        ("content", lambda pool, engine, **o: store_episode(pool, engine, content=KEY, butler="b", **o)),
        ("content", lambda pool, engine, **o: store_rule(pool, engine, content=f"use {KEY}", **o)),
        ("content", lambda pool, engine, **o: fact(pool, engine, content=KEY, **o)),
        ("subject", lambda pool, engine, **o: fact(pool, engine, subject=KEY, **o)),
        ("predicate", lambda pool, engine, **o: fact(pool, engine, predicate=KEY, **o)),
        ("tags", lambda pool, engine, **o: fact(pool, engine, tags=[KEY], **o)),
        ("metadata", lambda pool, engine, **o: fact(pool, engine, metadata={"a": [{"b": KEY}]}, **o)),
        ("metadata", lambda pool, engine, **o: fact(pool, engine, metadata={KEY: 1}, **o)),
        ("scope", lambda pool, engine, **o: fact(pool, engine, scope=KEY, **o)),
        ("butler", lambda pool, engine, **o: store_episode(pool, engine, content="x", butler=KEY, **o)),
    ],
)
async def test_secrets_are_refused_unless_an_operator_allows_them(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, field: str, attempt: Callable[..., Awaitable[UUID]]
) -> None:
    """In every field that takes text, without repeating them."""
    with pytest.raises(SecretRefusedError, match=field) as refused:
        await attempt(knowledge_pool, engine)
    assert KEY not in str(refused.value)
    assert await attempt(knowledge_pool, engine, allow_secrets=True)
