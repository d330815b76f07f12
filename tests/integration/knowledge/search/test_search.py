"""Search of knowledge memory on a real server: by meaning, by words, fused, and what is never found."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, TenantUnsetError
from commonplace.core.json_values import json_safe
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.bounds import MAX_QUERY_CHARS
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.search.request import KEPT_VECTORS
from commonplace.knowledge.storage_functions import (
    forget_memory,
    hybrid_search,
    keyword_search,
    memory_search,
    recall,
    semantic_search,
    store_episode,
    store_episodes,
    store_fact,
    store_facts,
    store_rule,
)
from commonplace.knowledge.store.search_statements import (
    TABLES,
    Form,
    Reach,
    literal_entity_queries,
    literal_queries,
    ranking_queries,
    reading_queries,
    related_queries,
    search_queries,
    spelling_queries,
)
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.statements import prepare_set

pytestmark = pytest.mark.usefixtures("tenant")

MODES = ("semantic", "keyword", "hybrid", "contextual")
FACTS = {
    "gateway": "The gateway listens on port 8080 behind the proxy",
    "database": "The database is backed up every night to the cold archive",
    "deploys": "Deploys happen on Tuesday, never on Friday",
    "oncall": "Ann is on call this week and Ben is her backup",
    "proxy": "The proxy terminates TLS and forwards to the gateway",
}


async def facts(pool: asyncpg.Pool, engine: EmbeddingEngine, *, scope: str = "global") -> None:
    """Store a handful of facts."""
    drafts = [
        FactDraft(subject=subject, predicate="is", content=content, scope=scope)
        for subject, content in FACTS.items()
    ]
    await store_facts(pool, engine, drafts)


@pytest.mark.requirement("RCL-03.1")
@pytest.mark.parametrize("mode", MODES)
async def test_equal_texts_are_one_result(knowledge: KnowledgeMemory, mode: str) -> None:
    """They take the place of no other memory."""
    await knowledge.store_rules([RuleDraft(content=text) for text in ["Ask first", "ask  First"] * 10])
    await knowledge.store_rule(content="Ask the person on call first, then wait")
    found = await knowledge.search("ask first", mode=mode, limit=2)
    assert {each.memory.content.casefold().split()[1] for each in found} == {"first", "the"}
    assert len(found) == 2


def contents(found: Sequence[SearchResult]) -> list[str]:
    """The texts of results, in their order."""
    return [each.memory.content for each in found]


@pytest.mark.requirement("KNW-07.1")
async def test_semantic_search_orders_by_cosine(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """The similarity is the cosine of the vectors, and falls."""
    drafts = [EpisodeDraft(content=content, butler="b") for content in FACTS.values()]
    await store_episodes(knowledge_pool, engine, drafts)
    query = engine.embed("who is on call this week")

    found = await semantic_search(knowledge_pool, query, "episodes")

    assert found[0].memory.content == FACTS["oncall"]
    similarities = [each.scores.similarity or 0.0 for each in found]
    assert similarities == sorted(similarities, reverse=True)
    vector = engine.embed(found[0].memory.content)
    assert similarities[0] == pytest.approx(sum(a * b for a, b in zip(query, vector, strict=True)), abs=1e-5)


@pytest.mark.requirement("KNW-07.2", "R-KNW-6")
async def test_keyword_search_matches_any_word(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """A question whose words no memory holds all of finds those that hold some, in any form of the word."""
    await facts(knowledge_pool, engine)

    found = await keyword_search(knowledge_pool, "when is the deploying archived elsewhere?", "facts")

    assert set(contents(found)) == {FACTS["deploys"], FACTS["database"]}
    ranks = [each.scores.rank or 0.0 for each in found]
    assert ranks == sorted(ranks, reverse=True)
    assert all(rank > 0 for rank in ranks)


@pytest.mark.requirement("KNW-07.2")
@pytest.mark.parametrize("query", ["", " \t\n", "\x00", None])
async def test_an_empty_query_finds_nothing(
    knowledge_pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    query: Any,  # noqa: ANN401 - what callers pass
) -> None:
    """By words, and by every mode of the general search."""
    await facts(knowledge_pool, engine)

    assert await keyword_search(knowledge_pool, query, "facts") == []
    for mode in MODES:
        assert await memory_search(knowledge_pool, engine, query, mode=mode) == []


@pytest.mark.requirement("KNW-07.3")
async def test_hybrid_search_is_the_fusion_of_both_lists(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each rank is that of the list of the same limit, one beyond the limit where the list lacks the memory."""
    await facts(knowledge_pool, engine)
    query, limit = "the proxy and the gateway on Friday", 3
    vector = engine.embed(query)
    semantic = await semantic_search(knowledge_pool, vector, "facts", limit=limit)
    keyword = await keyword_search(knowledge_pool, query, "facts", limit=limit)

    found = await hybrid_search(knowledge_pool, query, vector, "facts", limit=limit)

    places = [
        {each.memory.id: place for place, each in enumerate(listed, start=1)}
        for listed in (semantic, keyword)
    ]
    expected = {
        key: tuple(listed.get(key, limit + 1) for listed in places) for listed in places for key in listed
    }
    by_score = sorted(
        expected, key=lambda key: (-sum(1 / (60 + rank) for rank in expected[key]), expected[key])
    )
    assert [each.memory.id for each in found] == by_score[:limit]
    for each in found:
        assert (each.scores.semantic_rank, each.scores.keyword_rank) == expected[each.memory.id]
        assert each.scores.rrf_score == pytest.approx(
            sum(1 / (60 + rank) for rank in expected[each.memory.id])
        )


@pytest.mark.requirement("KNW-07.3")
async def test_a_memory_that_only_one_list_holds_takes_the_rank_behind_the_other(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Its missing rank is the limit and one."""
    await facts(knowledge_pool, engine)
    vector = engine.embed(FACTS["oncall"])

    found = await hybrid_search(knowledge_pool, "archive", vector, "facts", limit=1)

    (each,) = found
    assert (each.scores.semantic_rank, each.scores.keyword_rank) in {(1, 2), (2, 1)}
    assert each.scores.rrf_score == pytest.approx(1 / 61 + 1 / 62)
    assert each.memory.content == FACTS["oncall"], "of equal scores the better semantic rank leads"


@pytest.mark.requirement("KNW-07.4")
@pytest.mark.parametrize("mode", MODES)
async def test_a_general_search_covers_all_types_and_names_them(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """One list of at most the limit; or only the types that were asked for."""
    await store_fact(knowledge_pool, engine, subject="tent", predicate="colour", content="the tent is green")
    await store_rule(knowledge_pool, engine, content="pack the tent first")
    await store_episode(knowledge_pool, engine, content="we bought a tent", butler="b")

    found = await memory_search(knowledge_pool, engine, "tent", mode=mode)
    some = await memory_search(knowledge_pool, engine, "tent", mode=mode, types=["rule", "episode"], limit=1)

    assert {each.memory.memory_type for each in found} == {"episode", "fact", "rule"}
    assert len(some) == 1
    assert some[0].memory.memory_type in {"rule", "episode"}


@pytest.mark.requirement("SRC-01.1")
@pytest.mark.parametrize("mode", MODES)
async def test_the_best_of_all_types_leads(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """Whatever table it is in: the first of each table's list is not the best by that."""
    await facts(knowledge_pool, engine)
    await store_rule(knowledge_pool, engine, content="Restart the proxy before the gateway")
    for topic in ("lunch", "the weather", "parking"):
        await store_episode(knowledge_pool, engine, content=f"We talked about {topic} this week", butler="b")

    found = await memory_search(knowledge_pool, engine, "who is on call this week?", mode=mode)
    by_rule = await memory_search(knowledge_pool, engine, "restart proxy, then gateway?", mode=mode)

    assert found[0].memory.content == FACTS["oncall"]
    assert by_rule[0].memory.content == "Restart the proxy before the gateway"
    assert [found[0].memory.memory_type, by_rule[0].memory.memory_type] == ["fact", "rule"]


@pytest.mark.requirement("SRC-01.1", "KNW-07.3")
async def test_hybrid_fuses_ranks_over_all_types(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each rank is given once, not once a table."""
    await facts(knowledge_pool, engine)
    await store_rule(knowledge_pool, engine, content="Restart the proxy before the gateway")
    await store_episode(knowledge_pool, engine, content="The gateway was down", butler="b")

    found = await memory_search(knowledge_pool, engine, "gateway proxy")

    ranks = [each.scores.semantic_rank for each in found]
    assert sorted(rank or 0 for rank in ranks) == list(range(1, len(found) + 1))
    for each in found:
        places = each.scores.semantic_rank or 0, each.scores.keyword_rank or 0
        assert each.scores.rrf_score == pytest.approx(sum(1 / (60 + place) for place in places))


@pytest.mark.requirement("RCL-01.1")
async def test_a_search_by_context_may_have_a_floor(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Nothing is found for a query that nothing is about; other modes have none."""
    await facts(knowledge_pool, engine)

    async def found(query: str, mode: str = "contextual") -> list[str]:
        return contents(await memory_search(knowledge_pool, engine, query, mode=mode, min_relevance=0.58))

    assert await found("Who won the world cup?") == []
    assert await found("who is on call this week?") == [FACTS["oncall"]]
    with pytest.raises(InvalidInputError, match=r"^min_relevance: .*only contextual has a floor"):
        await found("tent", mode="hybrid")


@pytest.mark.requirement("KNW-07.4")
async def test_what_has_decayed_below_the_threshold_is_left_out(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Effective confidence counts, not the stored one; and what is left out leaves no gap in the list."""
    drafts = [
        FactDraft(subject=f"old {number}", predicate="p", content=f"tent {number}", permanence="ephemeral")
        for number in range(5)
    ]
    await store_facts(knowledge_pool, engine, drafts, clock=clock)
    clock.advance(days=30)
    await store_fact(knowledge_pool, engine, subject="new", predicate="p", content="a tent too", clock=clock)

    async def found(**options: Any) -> list[str]:  # noqa: ANN401 - options of the search
        return contents(await memory_search(knowledge_pool, engine, "tent", limit=3, clock=clock, **options))

    assert await found() == ["a tent too"]
    assert len(await found(min_confidence=0.0)) == 3
    assert await found(min_confidence=0.04) != ["a tent too"]


@pytest.mark.requirement("KNW-06.1", "KNW-06.2", "KNW-06.3")
@pytest.mark.parametrize("mode", MODES)
async def test_a_scope_adds_the_global_one_and_names_the_butler(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """Facts and rules: the scope and global ones. Episodes: those of the butler. No scope: everything."""
    for scope in ("global", "health", "travel"):
        await store_fact(
            knowledge_pool, engine, subject="tent", predicate="p", content=f"tent fact {scope}", scope=scope
        )
        await store_rule(knowledge_pool, engine, content=f"tent rule {scope}", scope=scope)
        await store_episode(knowledge_pool, engine, content=f"tent episode {scope}", butler=scope)

    found = await memory_search(knowledge_pool, engine, "tent", mode=mode, scope="health", limit=20)
    everything = await memory_search(knowledge_pool, engine, "tent", mode=mode, limit=20)

    assert sorted(contents(found)) == [
        "tent episode health",
        "tent fact global",
        "tent fact health",
        "tent rule global",
        "tent rule health",
    ]
    assert len(everything) == 9


@pytest.mark.requirement("KNW-02", "R-KNW-7")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_forgotten_superseded_or_expired_is_never_found(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str, clock: ManualClock
) -> None:
    """By no mode, and their neighbours in a session do not bring them back."""
    keep: dict[str, Any] = {"subject": "tent", "predicate": "colour", "clock": clock}
    await store_fact(knowledge_pool, engine, content="tent: green", **keep)
    await store_fact(knowledge_pool, engine, content="tent: blue", **keep)
    retracted = await store_fact(knowledge_pool, engine, **{**keep, "subject": "x"}, content="tent retracted")
    rule = await store_rule(knowledge_pool, engine, content="tent rule", clock=clock)
    session = uuid4()
    old, forgotten = [
        await store_episode(
            knowledge_pool, engine, content=f"tent {word}", butler="b", session_id=session, clock=clock
        )
        for word in ("old", "forgotten")
    ]
    clock.advance(days=6)
    await store_episode(
        knowledge_pool, engine, content="tent young", butler="b", session_id=session, clock=clock
    )
    await forget_memory(knowledge_pool, "fact", retracted)
    await forget_memory(knowledge_pool, "rule", rule)
    await forget_memory(knowledge_pool, "episode", forgotten, clock=clock)
    clock.advance(days=2)

    found = await memory_search(
        knowledge_pool, engine, "tent", mode=mode, limit=50, min_confidence=0.0, clock=clock
    )

    assert sorted(contents(found)) == ["tent young", "tent: blue"]
    assert old not in {each.memory.id for each in found}


@pytest.mark.requirement("KNW-27", "R-KNW-9")
@pytest.mark.parametrize("mode", MODES)
async def test_results_hold_no_vectors(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """Neither of meaning nor of words; ids and moments are what their types say."""
    await facts(knowledge_pool, engine)
    await store_rule(knowledge_pool, engine, content="restart the gateway first")
    await store_episode(knowledge_pool, engine, content="the gateway restarted", butler="b")

    found = await memory_search(knowledge_pool, engine, "gateway", mode=mode)
    assert {each.memory.memory_type for each in found} == {"episode", "fact", "rule"}
    for each in found:
        assert not each.to_json().keys() & {
            "embedding",
            "search_vector",
            "tenant_id",
            "insertion_order",
            "place",
        }
        assert isinstance(each.memory.id, UUID)
        assert each.memory.created_at.tzinfo is not None


@pytest.mark.parametrize("mode", MODES)
async def test_explained_results_say_why_in_words_and_json(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """Every type has its sentence; without asking there is none."""
    await facts(knowledge_pool, engine)
    await store_rule(knowledge_pool, engine, content="restart the gateway first")
    await store_episode(knowledge_pool, engine, content="the gateway restarted", butler="b")

    explained = await memory_search(knowledge_pool, engine, "gateway", mode=mode, explain=True)
    plain = await memory_search(knowledge_pool, engine, "gateway", mode=mode)

    for each in explained:
        explanation = json.loads(json.dumps(json_safe(each.explanation), allow_nan=False))
        assert explanation["why"].endswith(".")
    assert [each.memory.id for each in plain] == [each.memory.id for each in explained]
    assert all(each.explanation is None for each in plain)


@pytest.mark.requirement("KNW-11")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日、東京タワーに行きました", "東京タワーはどこ"),
        ("我们在北京买了一顶帐篷", "北京的帐篷"),
        ("어제 서울에서 김치를 먹었다", "서울 김치"),
        ("Ärger mit dem GROẞEN Zelt", "großes zelt"),
    ],
)
async def test_scripts_without_spaces_are_found_by_keyword(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, text: str, query: str
) -> None:
    """Chinese, Japanese and Korean by pairs of characters; letters beyond ASCII whatever their case."""
    await store_episode(knowledge_pool, engine, content=text, butler="b")
    await store_episode(knowledge_pool, engine, content="nothing of the kind, 完全に別の話", butler="b")

    found = await keyword_search(knowledge_pool, query, "episodes", limit=1)

    assert contents(found) == [text]


HOSTILE = [
    "'; DROP TABLE facts; --",
    "a & | ! <-> (b:*",
    "'quoted' \"double\" \\backslash\\ $$dollar$$",
    "a" * MAX_QUERY_CHARS,
    "word " * (MAX_QUERY_CHARS // 5),
    " ".join(f"w{number}" for number in range(1500)),
    "nul\x00inside tent",
    "half \ud83d of an emoji",
    "<a href='x & y'>tag</a> http://example.com/a?b=c&d=e foo-bar_baz user@example.com /etc/passwd",
    "%s %(x)s :name ${memories} {table}",
    "\u202e\u0000\ufeff\u200b",
    "!!!???",
]


@pytest.mark.parametrize("mode", MODES)
async def test_hostile_queries_are_only_words(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """Nothing in a query is an operator, of SQL or of a text search; none of these raises."""
    await facts(knowledge_pool, engine)
    for query in HOSTILE:
        await memory_search(knowledge_pool, engine, query, mode=mode)

    assert len(await memory_search(knowledge_pool, engine, "proxy", mode=mode, limit=2)) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"query": "x" * 10_000_000},
        {"query": 7},
        {"limit": 0},
        {"limit": 1001},
        {"limit": True},
        {"limit": 2.5},
        {"mode": "magic"},
        {"types": ["dream"]},
        {"types": "fact"},
        {"types": [["fact"]]},
        {"scope": ""},
        {"scope": "s" * 101},
        {"min_confidence": float("nan")},
        {"min_confidence": -0.1},
        {"min_confidence": "high"},
    ],
)
async def test_a_value_that_makes_no_sense_is_refused_by_name(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, options: dict[str, Any]
) -> None:
    """The error names the parameter."""
    (field,) = options

    with pytest.raises(InvalidInputError, match=f"^{field}: "):
        await memory_search(knowledge_pool, engine, **{"query": "tent", **options})


@pytest.mark.parametrize(
    "embedding", [[], [0.0] * 384, [1.0] * 383, [float("nan")] * 384, ["a"] * 384, [1e308] * 384]
)
async def test_a_vector_that_has_no_direction_is_refused(
    knowledge_pool: asyncpg.Pool, embedding: list[Any]
) -> None:
    """Too short, zero, not finite, not numbers."""
    with pytest.raises(InvalidInputError, match=r"^query_embedding: "):
        await semantic_search(knowledge_pool, embedding, "facts")


async def test_a_table_that_is_none_is_refused(knowledge_pool: asyncpg.Pool) -> None:
    """Its name never reaches the server."""
    for query in ("tent", ""):
        with pytest.raises(InvalidInputError, match=r"^table: "):
            await keyword_search(knowledge_pool, query, "memory_events; DROP TABLE facts")


@pytest.mark.requirement("KNW-29.2")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tenant_finds_nothing_of_another(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str
) -> None:
    """The same words, the same meaning, another tenant."""
    session = uuid4()
    for tenant in ("tenant-a", "tenant-b"):
        with request_context(tenant_id=tenant, actor="tester"):
            await store_fact(knowledge_pool, engine, subject="s", predicate="p", content=f"tent of {tenant}")
            await store_rule(knowledge_pool, engine, content=f"tent rule of {tenant}")
            await store_episode(
                knowledge_pool, engine, content=f"tent seen by {tenant}", butler="b", session_id=session
            )

    with request_context(tenant_id="tenant-b", actor="tester"):
        found = await memory_search(knowledge_pool, engine, "tent", mode=mode, limit=50)
    with request_context(tenant_id="tenant-c", actor="tester"):
        nothing = await memory_search(knowledge_pool, engine, "tent", mode=mode, limit=50)

    assert len(found) == 3
    assert all("tenant-b" in each.memory.content for each in found)
    assert nothing == []


async def test_a_search_without_a_tenant_is_an_error(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Before anything is computed or read."""
    loop = asyncio.get_running_loop()
    with pytest.raises(TenantUnsetError):
        await loop.create_task(memory_search(knowledge_pool, engine, "tent"), context=_empty_context())


def _empty_context() -> Any:  # noqa: ANN401 - a contextvars.Context
    """A context in which no request context was set."""
    import contextvars  # noqa: PLC0415 - this one test

    return contextvars.Context()


async def test_equal_results_come_in_the_same_order_always(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The later first, then by id."""
    drafts = [EpisodeDraft(content="the same tent", butler="b") for _ in range(5)]
    first = [each.id for each in await store_episodes(knowledge_pool, engine, drafts, clock=clock)]
    clock.advance(hours=1)
    second = [each.id for each in await store_episodes(knowledge_pool, engine, drafts, clock=clock)]

    for mode in MODES:
        found = await memory_search(knowledge_pool, engine, "tent", mode=mode, types=["episode"], clock=clock)
        assert [each.memory.id for each in found] == [*sorted(second, key=str), *sorted(first, key=str)], mode


async def words_of(pool: asyncpg.Pool, table: str, memory: UUID) -> set[str]:
    """The words that the keyword search knows of a memory."""
    async with unit_of_work(pool) as sql:
        rows = await sql.connection.fetch(
            f"SELECT word FROM {table} WHERE memory_id = $1",  # noqa: S608 - a name from this file
            memory,
        )
    return {row["word"] for row in rows}


async def test_the_words_of_a_memory_follow_it(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """They change with its text, go when it is retracted or deleted, and stay when it is only read."""
    fact = await store_fact(knowledge_pool, engine, subject="s", predicate="p", content="tents are green")
    assert await words_of(knowledge_pool, "fact_words", fact) >= {"tent", "green"}

    async with unit_of_work(knowledge_pool) as sql:
        await sql.connection.execute(
            "UPDATE facts SET search_vector = to_tsvector('english', 'a lake') WHERE id = $1", fact
        )
    assert await words_of(knowledge_pool, "fact_words", fact) == {"lake"}

    await forget_memory(knowledge_pool, "fact", fact)
    assert await words_of(knowledge_pool, "fact_words", fact) == set()

    episode = await store_episode(knowledge_pool, engine, content="tent", butler="b")
    async with unit_of_work(knowledge_pool) as sql:
        await sql.connection.execute("DELETE FROM episodes WHERE id = $1", episode)
    assert await words_of(knowledge_pool, "episode_words", episode) == set()


REACH = Reach.of(matches=40, neighbours=40)


async def test_every_search_statement_is_accepted_by_the_server(knowledge_pool: asyncpg.Pool) -> None:
    """Of each table and of all together, in each form."""
    tables = tuple(TABLES.values())
    async with knowledge_pool.acquire() as connection:
        for flags in product((False, True), repeat=4):
            form = Form(**dict(zip(("scoped", "past", "guarded", "filtered"), flags, strict=True)))
            for queries in (
                *(search_queries(table, REACH, form) for table in tables),
                ranking_queries(tables, REACH, form),
                reading_queries(form),
                related_queries(form),
                spelling_queries(tables, form),
                *(literal_queries(table, form) for table in tables),
                literal_entity_queries(),
            ):
                assert await prepare_set(connection, queries)


@pytest.mark.parametrize("size", [40, 260])
async def test_context_finds_the_answer_beside_the_turn_that_names_the_subject(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, size: int
) -> None:
    """The answer shares no word with the question; the turn before the last names the tent."""
    session = uuid4()
    told = [
        "Ann: I bought a new tent for the lake",
        "Ben: lovely, from which place?",
        "Ann: Harper's, downtown",
    ]
    noise = [f"Ben: topic {number} is about item {number * 7 % 97}" for number in range(size)]
    started = datetime(2026, 5, 3, 12, tzinfo=UTC)
    drafts = [
        EpisodeDraft(content=text, butler="b", session_id=uuid4(), created_at=started + timedelta(days=1))
        for text in noise
    ] + [EpisodeDraft(content=text, butler="b", session_id=session, created_at=started) for text in told]
    await store_episodes(knowledge_pool, engine, drafts)

    by_context = await memory_search(
        knowledge_pool, engine, "what shop sold the tent of May 2026", mode="contextual", limit=2
    )

    assert contents(by_context) == [told[0], told[2]]


class CountingEngine(EmbeddingEngine):
    """An engine that counts the texts it embeds for searches."""

    embedded = 0

    async def embed_query_async(self, text: str | None) -> list[float]:
        """Count, and embed."""
        self.embedded += 1
        return await super().embed_query_async(text)


async def test_the_vector_of_a_query_is_computed_once(knowledge_pool: asyncpg.Pool) -> None:
    """Searches of several kinds for one prompt share it; old ones are dropped."""
    engine = CountingEngine()
    for query in (
        "green tent",
        "green tent",
        *(f"tent {number}" for number in range(KEPT_VECTORS)),
        "green tent",
    ):
        await memory_search(knowledge_pool, engine, query)
    engine.close()

    assert engine.embedded == KEPT_VECTORS + 2


@pytest.mark.parametrize("scope", [None, "ops"])
async def test_a_slip_finds_the_word_that_the_tenant_uses(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, scope: str | None
) -> None:
    """In searches by context and in recalls; a word of another tenant's, or another word, is not meant."""
    await store_fact(
        knowledge_pool, engine, subject="build", predicate="language", content="We write TypeScript"
    )
    await store_fact(knowledge_pool, engine, subject="storage", predicate="choice", content="We use Mongo")

    (found, *_) = await memory_search(
        knowledge_pool, engine, "typsecript", mode="contextual", scope=scope, explain=True
    )
    other = await memory_search(knowledge_pool, engine, "mango", mode="contextual", scope=scope, explain=True)

    assert found.explanation is not None
    assert found.explanation.parts is not None
    assert found.explanation.parts.matched_words == ("typescript",)
    assert not any(
        each.explanation.parts.matched_words for each in other if each.explanation and each.explanation.parts
    )
    (recalled, *_) = await recall(knowledge_pool, engine, "typsecript", scope=scope, min_relevance=0.0)
    assert recalled.scores.keyword_rank == 1
