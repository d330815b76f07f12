"""Tenants at random: whatever one of them calls, in whatever order, no answer holds a row of another.

Every function of the facade and every tool is called with texts of its own tenant and ids of all. It is done twice:
with the statements as they are, and with the condition on the tenant taken out of each of them, so that only the
policies of the database stand between the tenants.
"""

import json
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any
from uuid import UUID

import aiosql
import pytest
from fastmcp import Client

from commonplace.core.errors import CommonplaceError
from commonplace.core.json_values import json_safe
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import Narrowing
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.knowledge.exchange.writes import RowWrite
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.links import Relation
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import SearchMode
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.search.search import Search
from commonplace.knowledge.store import search_statements, unit_of_work
from commonplace.language.literal import query_words
from commonplace.mcp.knowledge.server import TOOLS, build_server
from commonplace.storage.database import AnyStatements, StatementSet
from support.facade import open_knowledge
from support.facades import methods_of

TENANTS = ("alpha", "beta", "gamma")
KINDS = ("episode", "fact", "rule")
TABLES = {
    "episode": "episodes",
    "fact": "facts",
    "rule": "rules",
    "entity": "entities",
    "run": "consolidation_runs",
    "event": "memory_events",
}
IDS = " UNION ALL ".join(
    f"SELECT '{kind}', coalesce(array_agg(id::text), '{{}}') FROM {table} WHERE tenant_id = $1"  # noqa: S608 - our own names
    for kind, table in TABLES.items()
)
ROUNDS = 3
CONDITION = re.compile(r"(?:\w+\.)?tenant_id = current_setting\('commonplace\.tenant_id'(?:, true)?\)")
NO_ID = "6f1e4c1e-0000-4000-8000-000000000000"
TENANTS_TABLES = """
SELECT table_name FROM information_schema.columns
WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY table_name
"""
TABLES_WITHOUT_POLICIES = """
SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
"""
MORE_ROUNDS = 100
"""Ids are drawn by chance: a function may need more calls until it is given one that it takes."""

BY_CHANCE = {
    "dead_letters.undo_requeue",
    "entities.preview_merge",
    "entities.unmerge",
    "restore",
    "reviews.duplicates.undo",
    "reviews.opposed.undo",
    "reviews.subjects.undo",
    "undo_replacing",
    "upkeep.invert_rule",
}
"""Functions that need two calls in a row to fit."""

NOT_CALLED = {"open", "acting_for", "begin", "lists.cursor_of"}
"""What of the facade reads and writes nothing by itself."""


@dataclass(slots=True)
class World:
    """What there is of all tenants, and the dice."""

    dice: random.Random
    ids: dict[str, dict[str, set[str]]] = field(
        default_factory=lambda: {tenant: {kind: set() for kind in TABLES} for tenant in TENANTS}
    )

    passed: list[str] = field(default_factory=list)
    """What was picked for the call at hand: an error may say it again."""

    tenant: str = ""
    """Who calls."""

    def text(self) -> str:
        """Return a text that says whose it is, among words that all tenants use."""
        words = self.dice.sample(["port", "deploy", "backup", "login", "search", "orders"], 3)
        return f"{mark(self.tenant)} {' '.join(words)}"

    def word(self) -> str:
        """Return a word that all tenants use."""
        return self.dice.choice(["port", "deploy backup", "login search orders", "Anna"])

    def pick(self, kind: str) -> str:
        """Return an id of this kind: every other time the caller's own, else of any tenant."""
        known = sorted(each for ids in self.ids.values() for each in ids[kind])
        own = sorted(self.ids[self.tenant][kind])
        self.passed.append(self.dice.choice((self.dice.choice((own, known))) or [NO_ID]))
        return self.passed[-1]

    def whose(self) -> str:
        """Return a tenant to name in a call: mostly the caller."""
        return self.dice.choice([self.tenant, self.tenant, self.tenant, *TENANTS])

    def memory(self) -> tuple[str, str]:
        """Return kind and id of a memory of any tenant."""
        kind = self.dice.choice(KINDS)
        return kind, self.pick(kind)

    def foreign(self) -> set[str]:
        """Return what no answer to the caller may hold."""
        others = [other for other in TENANTS if other != self.tenant]
        return {mark(other) for other in others} | {
            each for other in others for ids in self.ids[other].values() for each in ids
        }


def mark(tenant: str) -> str:
    """Return the word that stands in every text of a tenant and nowhere else."""
    return f"ownedby{tenant}"


Call = Callable[[KnowledgeMemory, World], Awaitable[object]]


def vector(memory: KnowledgeMemory, world: World) -> list[float]:
    """Return the vector of a word that all tenants use."""
    return memory.engine.embed(world.word())


def fact(world: World) -> dict[str, Any]:
    """Return a fact with a key that all tenants use, and references to anybody's episode and entity, or none."""
    dice = world.dice
    return {
        "subject": dice.choice(["Anna", "staging"]),
        "predicate": dice.choice(["port", "city"]),
        "content": world.text(),
        "permanence": dice.choice(["standard", "permanent"]),
        "scope": dice.choice(["global", "ops"]),
        "entity_id": dice.choice([None, None, world.pick("entity")]),
        "source_episode_id": dice.choice([None, None, world.pick("episode")]),
    }


def named(world: World) -> dict[str, Any]:
    """Return the names of an entity."""
    return {
        "canonical_name": f"Anna {world.text()}",
        "aliases": ["Anna", world.text()],
        "metadata": {"note": world.text()},
    }


async def consolidate(memory: KnowledgeMemory, world: World) -> object:
    """Consolidate with a model that proposes a fact, and names facts of anybody; return what it was asked, too."""
    asked: list[str] = []

    async def spawner(prompt: str, *, trigger_source: str) -> str:
        asked.append(f"{trigger_source} {prompt}")
        new = {"subject": "Anna", "predicate": "city", "content": world.text()}
        update = new | {"target_id": world.pick("fact")}
        return json.dumps(
            {"new_facts": [new], "updated_facts": [update], "confirmations": [world.pick("rule")]}
        )

    return await memory.runs.consolidate(spawner), asked


async def undo_scope_move(memory: KnowledgeMemory, world: World) -> object:
    """Undo a move: one that was just made, or whatever an event of anybody is."""
    made = await memory.scopes.move("ops", "dev")
    return await memory.scopes.undo(world.dice.choice([made.event_id, None]) or world.pick("event"))


async def later_facts(memory: KnowledgeMemory, world: World) -> object:
    """Return what holds until a fact begins: one of anybody, described as one of the caller's that is still to come."""
    begins = datetime(2999, 1, 1, tzinfo=UTC)
    plans = [
        replace(each, id=UUID(world.pick("fact")), valid_from=begins)
        for each in await memory.lists.facts(limit=1)
    ]
    return list((await memory.history.later_facts(plans)).values())


async def decide(memory: KnowledgeMemory, world: World) -> object:
    """Decide about a pair of the caller's, or about whatever has some number."""
    if not await memory.reviews.list():
        # A new fact of a consolidation supersedes a permanent one.
        await memory.store_fact(
            subject="Anna", predicate="city", content=world.text(), permanence="permanent", scope="ops"
        )
        await memory.store_episode(content=world.text(), butler="ops")
        await consolidate(memory, world)
    waiting = [each.id for each in await memory.reviews.list()]
    wanted = world.dice.choice([*waiting, world.dice.randint(1, 30)])
    return await memory.reviews.decide(wanted, world.dice.choice(["corrects", "distinct"]))


async def undo_confirmation(memory: KnowledgeMemory, world: World) -> object:
    """Confirm a memory, and take that back."""
    wanted = world.memory()
    await memory.confirm(*wanted)
    return await memory.undo_confirmation(*wanted)


async def undo_decision(memory: KnowledgeMemory, world: World) -> object:
    """Take a decision of the caller's back, or whatever has some number."""
    decided = [each.id for each in await memory.reviews.list(decided=True)]
    return await memory.reviews.undo(world.dice.choice([*decided, world.dice.randint(1, 30)]))


async def exchange(memory: KnowledgeMemory, world: World) -> object:
    """Write one of the caller's rows in the place of another, or of one of somebody else."""
    rows = await memory.exchange.read()
    known = sorted(key for key in rows if key[0] in (*KINDS, "entity"))
    kind, name = world.dice.choice(known or [(ExchangeKind.FACT, NO_ID)])
    other = world.pick(kind)
    row = RowWrite(kind=kind, name=other, fields=rows.get((kind, name)), seen=rows.get((kind, other)))
    return await memory.exchange.write([row])


FUNCTIONS: Mapping[str, Call] = {
    "exchange.read": lambda m, _: m.exchange.read(),
    "exchange.fingerprint": lambda m, _: m.exchange.fingerprint(),
    "exchange.vectors": lambda m, w: m.exchange.vectors([(ExchangeKind.FACT, w.pick("fact"))]),
    "exchange.present": lambda m, w: m.exchange.present([(ExchangeKind.FACT, w.pick("fact"))]),
    "exchange.names": lambda m, _: m.exchange.names(),
    "exchange.count_conflicts": lambda m, _: m.exchange.count_conflicts(),
    "exchange.write": exchange,
    "store_episode": lambda m, w: m.store_episode(content=w.text(), butler="ops"),
    "store_episodes": lambda m, w: m.store_episodes([EpisodeDraft(content=w.text(), butler="ops")]),
    "store_fact": lambda m, w: m.store_fact(**fact(w), replaces=w.dice.choice([None, w.pick("fact")])),
    "store_facts": lambda m, w: m.store_facts([FactDraft(**fact(w)), FactDraft(**fact(w))]),
    "store_rule": lambda m, w: m.store_rule(content=w.text(), replaces=w.dice.choice([None, w.pick("rule")])),
    "store_rules": lambda m, w: m.store_rules(
        [RuleDraft(content=w.text(), source_episode_id=w.pick("episode"))]
    ),
    "links.create": lambda m, w: m.links.create(
        **dict(zip(("source_type", "source_id"), w.memory(), strict=True)),
        **dict(zip(("target_type", "target_id"), w.memory(), strict=True)),
        relation=w.dice.choice(list(Relation)),
    ),
    "links.list": lambda m, w: m.links.list(*w.memory()),
    "semantic_search": lambda m, w: Search(m.session).semantic(
        vector(m, w), w.dice.choice(["episodes", "facts", "rules"])
    ),
    "keyword_search": lambda m, w: Search(m.session).keyword(
        w.word(), w.dice.choice(["episodes", "facts", "rules"])
    ),
    "hybrid_search": lambda m, w: Search(m.session).hybrid(
        w.word(), vector(m, w), w.dice.choice(["episodes", "facts", "rules"])
    ),
    "search": lambda m, w: m.search(
        w.word(),
        mode=w.dice.choice(list(SearchMode)),
        explain=True,
        narrowing=Narrowing(scope=w.dice.choice([None, "ops"])),
    ),
    "recall": lambda m, w: m.recall(w.word(), explain=True),
    "get": lambda m, w: m.get(*w.memory()),
    "context": lambda m, w: m.context(w.word(), "ops"),
    "confirm": lambda m, w: m.confirm(*w.memory()),
    "pin": lambda m, w: m.pin(*w.memory()),
    "tag": lambda m, w: m.tag(*w.memory(), mark(w.tenant)),
    "undo_confirmation": undo_confirmation,
    "undo_replacing": lambda m, w: m.undo_replacing(*w.memory()),
    "edit": lambda m, w: m.edit(*w.memory(), w.text()),
    "mark_helpful": lambda m, w: m.mark_helpful(w.pick("rule")),
    "mark_harmful": lambda m, w: m.mark_harmful(w.pick("rule"), reason=w.text()),
    "upkeep.invert_rule": lambda m, w: m.upkeep.invert_rule(w.pick("rule")),
    "upkeep.invert_harmful_rules": lambda m, _: m.upkeep.invert_harmful_rules(),
    "reviews.waiting": lambda m, _: m.reviews.waiting(),
    "reviews.duplicates.list": lambda m, _: m.reviews.duplicates.list(),
    "reviews.duplicates.decide": lambda m, w: m.reviews.duplicates.decide(
        "rule", w.pick("rule"), w.pick("rule"), same=w.dice.choice([True, False])
    ),
    "reviews.opposed.list": lambda m, _: m.reviews.opposed.list(),
    "reviews.opposed.decide": lambda m, w: m.reviews.opposed.decide(
        "rule", w.pick("rule"), w.pick("rule"), w.dice.choice(["same", "refines", "corrects", "distinct"])
    ),
    "reviews.opposed.undo": lambda m, w: m.reviews.opposed.undo("rule", w.pick("rule"), w.pick("rule")),
    "reviews.subjects.list": lambda m, _: m.reviews.subjects.list(),
    "reviews.subjects.decide": lambda m, w: m.reviews.subjects.decide(
        w.pick("fact"), w.pick("entity"), same=w.dice.choice([True, False])
    ),
    "reviews.subjects.undo": lambda m, w: m.reviews.subjects.undo(w.pick("fact"), w.pick("entity")),
    "entities.relations": lambda m, w: m.entities.relations(w.pick("entity")),
    "reviews.duplicates.undo": lambda m, w: m.reviews.duplicates.undo("rule", w.pick("rule"), w.pick("rule")),
    "lists.of_session": lambda m, _: m.lists.of_session(UUID(int=1)),
    "lists.harmful_rules": lambda m, _: m.lists.harmful_rules(),
    "restore": lambda m, w: m.restore(*w.memory()),
    "history.diff": lambda m, _: m.history.diff("2000-01-01"),
    "history.learned_by_day": lambda m, _: m.history.learned_by_day(since=datetime(2000, 1, 1, tzinfo=UTC)),
    "history.timeline": lambda m, w: m.history.timeline(
        "Anna", entity_id=w.dice.choice([None, w.pick("entity")])
    ),
    "forget": lambda m, w: m.forget(*w.memory()),
    "scopes.move": lambda m, w: m.scopes.move(
        "ops", w.dice.choice(["dev", "global"]), dry_run=w.dice.choice([True, False])
    ),
    "scopes.move_memory": lambda m, w: m.scopes.move_memory(*w.memory(), w.dice.choice(["ops", "dev"])),
    "scopes.undo": undo_scope_move,
    "scopes.undo_all": lambda m, _: m.scopes.undo_all("ops", "dev"),
    "stats": lambda m, _: m.stats(),
    "upkeep.sweep": lambda m, _: m.upkeep.sweep(),
    "upkeep.cleanup": lambda m, _: m.upkeep.cleanup(),
    "upkeep.make_passages": lambda m, _: m.upkeep.make_passages(),
    "runs.pending": lambda m, _: m.runs.pending(),
    "runs.expiring": lambda m, _: m.runs.expiring(),
    "runs.loses_episodes": lambda m, _: m.runs.loses_episodes(within_s=86_400),
    "import_episodes": lambda m, w: m.import_episodes([EpisodeDraft(content=w.text(), butler="ops")] * 3),
    "history.later_facts": later_facts,
    "lists.facts": lambda m, w: m.lists.facts(
        narrowing=Narrowing(entity_id=w.dice.choice([None, w.pick("entity")]))
    ),
    "history.chain": lambda m, w: m.history.chain(w.pick("fact")),
    "lists.rules": lambda m, _: m.lists.rules(),
    "lists.applications": lambda m, w: m.lists.applications(w.pick("rule")),
    "lists.episodes": lambda m, _: m.lists.episodes(),
    "literal.memories": lambda m, w: m.literal.memories(
        query_words(w.word()), MemoryType(w.dice.choice(KINDS)), limit=10
    ),
    "literal.entities": lambda m, w: m.literal.entities(query_words(w.word()), limit=10),
    "lists.entities": lambda m, w: m.lists.entities(name=w.dice.choice([None, "Anna"]), merged=None),
    "links.memories": lambda m, w: m.links.memories(*w.memory()),
    "lists.names_of": lambda m, w: m.lists.names_of(
        [UUID(w.pick(kind)) for kind in ("episode", "fact", "rule", "entity")]
    ),
    "lists.scopes_of": lambda m, w: m.lists.scopes_of([UUID(w.pick(kind)) for kind in ("fact", "rule")]),
    "read": lambda m, w: m.read(*w.memory()),
    "graph.read": lambda m, w: m.graph.read(entity_id=w.dice.choice([None, w.pick("entity")])),
    "graph.between": lambda m, w: m.graph.between(w.pick("entity"), w.pick("entity")),
    "events.stamp": lambda m, _: m.events.stamp(),
    "events.list": lambda m, w: m.events.list(
        memory_id=w.dice.choice([None, w.pick("fact")]), run_id=w.dice.choice([None, w.pick("run")])
    ),
    "events.get": lambda m, w: m.events.get(w.pick("event")),
    "runs.consolidate": consolidate,
    "runs.consolidate_as_configured": lambda m, _: m.runs.consolidate_as_configured(dry_run=True),
    "reviews.list": lambda m, w: m.reviews.list(decided=w.dice.choice([True, False])),
    "reviews.decide": decide,
    "reviews.undo": undo_decision,
    "runs.list": lambda m, _: m.runs.list(),
    "runs.get": lambda m, w: m.runs.get(w.pick("run")),
    "runs.undo": lambda m, w: m.runs.undo(w.pick("run"), requeue=w.dice.choice([True, False])),
    "dead_letters.list": lambda m, _: m.dead_letters.list(),
    "dead_letters.requeue": lambda m, _: m.dead_letters.requeue(),
    "dead_letters.undo_requeue": lambda m, w: m.dead_letters.undo_requeue(w.pick("episode")),
    "entities.preview_merge": lambda m, w: m.entities.preview_merge(w.pick("entity"), w.pick("entity")),
    "entities.create": lambda m, w: m.entities.create(entity_type="person", **named(w)),
    "entities.get": lambda m, w: m.entities.get(w.pick("entity")),
    "entities.update": lambda m, w: m.entities.update(w.pick("entity"), **named(w)),
    "entities.resolve": lambda m, w: m.entities.resolve(
        "Anna", enable_fuzzy=True, context_hints={"topic": w.word(), "domain_scores": {w.pick("entity"): 5}}
    ),
    "entities.merge": lambda m, w: m.entities.merge(w.pick("entity"), w.pick("entity")),
    "entities.unmerge": lambda m, w: m.entities.unmerge(w.pick("entity")),
}

STORAGE = {"semantic_search", "keyword_search", "hybrid_search"}
"""Functions of the storage that are no methods of the facade."""

OF_ALL_TENANTS = {
    "partitions.isolate",
    "partitions.list",
    "partitions.prepare",
    "reembedding.abort",
    "reembedding.drop_former_vectors",
    "reembedding.run",
    "reembedding.status",
}
"""Methods that an operator calls for the whole database; their answers hold numbers and names of models."""

Arguments = Callable[[World], dict[str, Any]]
MEMORY: Arguments = lambda w: dict(zip(("memory_type", "memory_id"), w.memory(), strict=True))  # noqa: E731 - one of many below
ARGUMENTS: Mapping[str, Arguments] = {
    "memory_store_episode": lambda w: {"content": w.text(), "butler": "ops"},
    "memory_store_fact": lambda w: {"subject": "Anna", "predicate": "city", "content": w.text()},
    "memory_store_rule": lambda w: {"content": w.text(), "tags": [mark(w.tenant)]},
    "memory_search": lambda w: {"query": w.word(), "limit": 50},
    "memory_recall": lambda w: {"topic": w.word(), "limit": 50},
    "memory_get": MEMORY,
    "memory_context": lambda w: {"trigger_prompt": w.word(), "butler": "ops"},
    "memory_confirm": MEMORY,
    "memory_mark_helpful": lambda w: {"rule_id": w.pick("rule")},
    "memory_mark_harmful": lambda w: {"rule_id": w.pick("rule"), "reason": w.text()},
    "entity_create": lambda w: {
        "canonical_name": w.text(), "entity_type": "other", "tenant_id": w.whose(),
    },
    "entity_get": lambda w: {"entity_id": w.pick("entity"), "tenant_id": w.whose()},
    "entity_update": lambda w: {
        "entity_id": w.pick("entity"), "aliases": [w.text()], "tenant_id": w.whose(),
    },
    "entity_resolve": lambda w: {"name": "Anna", "tenant_id": w.whose()},
    "entity_merge": lambda w: {
        "source_entity_id": w.pick("entity"), "target_entity_id": w.pick("entity"),
    },
    "memory_forget": MEMORY,
    "memory_stats": lambda _: {},
    "memory_run_consolidation": lambda _: {},
    "memory_run_episode_cleanup": lambda _: {},
}  # fmt: skip


@pytest.fixture(params=["as written", "without conditions"])
def statements(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The statements of knowledge memory: as they are, or with nothing in them that names a tenant to look at."""
    if request.param == "without conditions":
        monkeypatch.setattr(unit_of_work, "load_queries", _load_without_conditions)
        _forget_statements()
        assert CONDITION.fullmatch(search_statements._OWN)
        monkeypatch.setattr(search_statements, "_OWN", "true")
        _forget_search_statements()
    yield
    monkeypatch.undo()
    _forget_statements()
    _forget_search_statements()


def _load_without_conditions(
    kind: type[AnyStatements], directories: Iterable[Path], _: str, *, gaps: Mapping[str, str]
) -> StatementSet[AnyStatements]:
    files = [file for directory in directories for file in sorted(directory.glob("*.sql"))]
    text = Template("\n\n".join(file.read_text() for file in files)).safe_substitute(gaps)
    text, taken = CONDITION.subn("true", text)
    assert taken
    return StatementSet(kind, aiosql.from_str(text, "asyncpg"))


def _forget_statements() -> None:
    unit_of_work.queries.cache_clear()
    unit_of_work.kind_queries.cache_clear()


def _forget_search_statements() -> None:
    for made in (
        *("search_queries", "ranking_queries", "reading_queries", "spelling_queries"),
        *("literal_queries", "literal_entity_queries"),
    ):
        getattr(search_statements, made).cache_clear()


@pytest.fixture
async def tenants(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> AsyncIterator[dict[str, KnowledgeMemory]]:
    """The same memory as each tenant sees it."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        yield {name: memory.acting_for(tenant_id=name, actor=f"actor of {name}") for name in TENANTS}


async def learn(world: World, memory: KnowledgeMemory) -> None:
    """Note every id that the tenant has now."""
    async with (
        memory.session.acting() as pool,
        pool.acquire() as connection,
        connection.transaction(readonly=True),
    ):
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", memory.tenant_id)
        for kind, ids in await connection.fetch(IDS, memory.tenant_id):
            world.ids[memory.tenant_id][kind] = set(ids)


def find_foreign(answer: object, world: World) -> list[str]:
    """Return what of other tenants an answer holds, less what the caller had passed."""
    said = json.dumps(json_safe(answer), default=str)
    return [each for each in world.foreign() if each in said and each not in world.passed]


def methods() -> set[str]:
    """Return the names of the methods of the facade and its parts that read or write."""
    return methods_of(KnowledgeMemory).keys() - NOT_CALLED


@pytest.mark.long
@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
@pytest.mark.usefixtures("statements")
async def test_no_function_shows_another_tenants_row(tenants: dict[str, KnowledgeMemory]) -> None:
    """Random calls of every function, by three tenants in turn, with one another's ids."""
    assert methods() - OF_ALL_TENANTS == FUNCTIONS.keys() - STORAGE
    world = World(random.Random(29))  # noqa: S311 - dice
    answered: set[str] = set()
    first = ("store_episode", "entities.create", "runs.consolidate")
    for tenant, name in chain(shuffled(world, FUNCTIONS, first=first), unanswered(answered)):
        memory = tenants[tenant]
        world.tenant = tenant
        world.passed.clear()
        try:
            answer = await FUNCTIONS[name](memory, world)
            answered.add(name)
        except CommonplaceError as error:
            answer = str(error)
        assert find_foreign(answer, world) == [], (tenant, name)
        await learn(world, memory)
    assert FUNCTIONS.keys() - answered <= BY_CHANCE
    await check_tables(tenants)


@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
@pytest.mark.usefixtures("statements")
async def test_no_tool_shows_another_tenants_row(tenants: dict[str, KnowledgeMemory]) -> None:
    """Random calls of every tool, by three tenants in turn, with one another's ids and names."""
    assert {spec.run.__name__ for spec in TOOLS} == ARGUMENTS.keys()
    world = World(random.Random(19))  # noqa: S311 - dice
    answered: set[str] = set()
    async with AsyncExitStack() as stack:
        clients = {
            tenant: await stack.enter_async_context(Client(build_server(memory)))
            for tenant, memory in tenants.items()
        }
        for tenant, name in shuffled(world, ARGUMENTS, first=("memory_store_rule", "memory_store_episode")):
            world.tenant = tenant
            world.passed.clear()
            arguments = ARGUMENTS[name](world)
            result = await clients[tenant].call_tool(name, arguments, raise_on_error=False)
            if not result.is_error:
                answered.add(name)
            answer = (result.structured_content, [getattr(block, "text", "") for block in result.content])
            assert find_foreign(answer, world) == [], (tenant, name, arguments)
            await learn(world, tenants[tenant])
    assert answered == ARGUMENTS.keys()
    await check_tables(tenants)


def unanswered(answered: set[str]) -> Iterator[tuple[str, str]]:
    """Give functions that have had only errors so far, because of the ids that were picked, another chance."""
    for _ in range(MORE_ROUNDS):
        for name in sorted(FUNCTIONS.keys() - answered - BY_CHANCE):
            yield from ((tenant, name) for tenant in TENANTS)


def shuffled(world: World, names: Iterable[str], *, first: Iterable[str]) -> list[tuple[str, str]]:
    """Return tenants and what they call, some calls of each before all the others."""
    calls = [(tenant, name) for tenant in TENANTS for name in names] * ROUNDS
    world.dice.shuffle(calls)
    return [(tenant, name) for name in first for tenant in TENANTS] + calls


async def check_tables(tenants: Mapping[str, KnowledgeMemory]) -> None:
    """Read every table without any condition, as each tenant."""
    seen: dict[str, set[str]] = {}
    for tenant, memory in tenants.items():
        async with (
            memory.session.acting() as pool,
            pool.acquire() as connection,
            connection.transaction(readonly=True),
        ):
            assert await connection.fetch(TABLES_WITHOUT_POLICIES) == []
            await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant)
            for row in await connection.fetch(TENANTS_TABLES):
                table = row["table_name"]
                owners = await connection.fetch(f"SELECT DISTINCT tenant_id FROM {table}")  # noqa: S608 - the catalogue's names
                assert {each["tenant_id"] for each in owners} <= {tenant}
                seen.setdefault(table, set()).update(each["tenant_id"] for each in owners)
    assert all(seen[table] == set(TENANTS) for table in ("episodes", "facts", "rules", "memory_events"))
