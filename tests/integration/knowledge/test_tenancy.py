"""Tenants: the database shows none the rows of another, whatever a statement says."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.errors import InvalidInputError, NotFoundError, TenantUnsetError
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    create_link,
    forget_memory,
    get_links,
    get_memory,
    mark_helpful,
    memory_stats,
    run_decay_sweep,
    run_episode_cleanup,
    store_episode,
    store_fact,
    store_rule,
)
from commonplace.knowledge.store.unit_of_work import unit_of_work

TENANTS = ("tenant-a", "tenant-b")

TENANT_TABLES = """
SELECT c.relname::text FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1
"""

# A query for each table: no WHERE clause but for what the policies add.
EVERYTHING = """
SELECT format('SELECT tenant_id FROM %I', name) FROM unnest($1::text[]) AS name
"""


@dataclass(frozen=True)
class Owned:
    """What one tenant has."""

    episode: UUID
    fact: UUID
    rule: UUID
    entity: UUID


RUN = """
WITH run AS (
  INSERT INTO consolidation_runs (tenant_id, butler, worker, state, leased_until, ended_at, episode_ids)
  VALUES ($1, 'b', 'w', 'applied', now(), now(), ARRAY[CAST($2 AS uuid)])
  RETURNING tenant_id, id
),
review AS (
  INSERT INTO fact_reviews (tenant_id, run_id, old_id, new_id, pair, predicate, reason)
  SELECT tenant_id, id, CAST($3 AS uuid), CAST($3 AS uuid), 'pair', 'p', 'important' FROM run
),
kept AS (
  INSERT INTO kept_answers (tenant_id, key, fingerprint, claim, claimed_until, expires_at)
  SELECT tenant_id, 'key', 'hash', id, now(), now() FROM run
),
told_apart AS (
  INSERT INTO told_apart (tenant_id, first_id, second_id, decided_at)
  SELECT tenant_id, CAST($3 AS uuid), id, now() FROM run WHERE CAST($3 AS uuid) < id
  UNION ALL
  SELECT tenant_id, id, CAST($3 AS uuid), now() FROM run WHERE CAST($3 AS uuid) > id
)
INSERT INTO consolidation_actions (tenant_id, run_id, position, action, memory_id)
SELECT tenant_id, id, 0, 'fact_created', CAST($3 AS uuid) FROM run
"""

PASSAGE = """
INSERT INTO {kind}_passages (tenant_id, memory_id, place, start_char, end_char, embedding)
SELECT $1, $2, 0, 0, 1, CAST(embedding AS halfvec(384)) FROM {kind}s WHERE id = $2
"""


@pytest.fixture
async def owned(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> dict[str, Owned]:
    """A row in every table for each of two tenants."""
    rows = {}
    for tenant in TENANTS:
        with request_context(tenant_id=tenant, actor=f"{tenant}'s agent"):
            async with unit_of_work(knowledge_pool) as sql:
                entity = await sql.connection.fetchval(
                    "INSERT INTO entities (tenant_id, canonical_name, entity_type, name_keys)"
                    " VALUES ($1, CAST($1 AS text), 'person', chr(10) || $1 || chr(10)) RETURNING id",
                    tenant,
                )
            episode = await store_episode(knowledge_pool, engine, content=tenant, butler="b")
            fact = await store_fact(
                knowledge_pool, engine, subject="Ann", predicate="p", content=tenant, entity_id=entity
            )
            rule = await store_rule(knowledge_pool, engine, content=tenant)
            await mark_helpful(knowledge_pool, rule)
            ends = {"source_type": "fact", "source_id": fact, "target_type": "episode", "target_id": episode}
            await create_link(knowledge_pool, relation="derived_from", **ends)
            async with unit_of_work(knowledge_pool) as sql:
                await sql.connection.execute(RUN, tenant, episode, fact)
                for kind, memory_id in {"episode": episode, "fact": fact, "rule": rule}.items():
                    await sql.connection.execute(PASSAGE.format(kind=kind), tenant, memory_id)
            rows[tenant] = Owned(episode=episode, fact=fact, rule=rule, entity=entity)
    return rows


@pytest.mark.one_table
@pytest.mark.requirement("KNW-29.1", "KNW-29.2", "R-KNW-12")
@pytest.mark.usefixtures("owned")
async def test_queries_without_any_condition_show_only_the_tenant_s_rows(
    knowledge_pool: asyncpg.Pool,
) -> None:
    """In every table that has tenants; the policies are forced on each of them."""
    tables = [name for (name,) in await knowledge_pool.fetch(TENANT_TABLES)]
    assert {
        "episodes",
        "facts",
        "rules",
        "entities",
        "memory_links",
        "memory_events",
        "rule_applications",
        "consolidation_runs",
        "consolidation_actions",
        "fact_reviews",
        "fact_states",
        "kept_answers",
        "episode_passages",
        "fact_passages",
        "rule_passages",
        "told_apart",
        "tenants",
    } <= set(tables)
    forced = "SELECT bool_and(relrowsecurity AND relforcerowsecurity) FROM pg_class WHERE relname = ANY($1)"
    assert await knowledge_pool.fetchval(forced, tables)
    statements = [sql for (sql,) in await knowledge_pool.fetch(EVERYTHING, tables)]
    for tenant in TENANTS:
        with request_context(tenant_id=tenant, actor="tester"):
            async with unit_of_work(knowledge_pool) as sql:
                for statement in statements:
                    seen = {row["tenant_id"] for row in await sql.connection.fetch(statement)}
                    assert seen == {tenant}, statement
    for statement in statements:
        seen = {row["tenant_id"] for row in await knowledge_pool.fetch(statement)}
        # Background work, which belongs to no tenant, has to know which there are.
        assert seen == (set(TENANTS) if statement.endswith("tenants") else set()), statement


@pytest.mark.requirement("KNW-29.2")
@pytest.mark.usefixtures("owned")
async def test_changes_without_any_condition_reach_only_the_tenant_s_rows(
    knowledge_pool: asyncpg.Pool,
) -> None:
    """An UPDATE or DELETE of everything leaves the other tenant as it was."""
    with request_context(tenant_id="tenant-a", actor="tester"):
        async with unit_of_work(knowledge_pool) as sql:
            await sql.connection.execute("UPDATE facts SET content = 'changed'")
            await sql.connection.execute("DELETE FROM memory_links")
            await sql.connection.execute("DELETE FROM rules")
    with request_context(tenant_id="tenant-b", actor="tester"):
        async with unit_of_work(knowledge_pool) as sql:
            row = await sql.connection.fetchrow(
                "SELECT (SELECT content FROM facts), (SELECT count(*) FROM memory_links), (SELECT count(*) FROM rules)"
            )
    assert tuple(row) == ("tenant-b", 1, 1)


@pytest.mark.requirement("KNW-29.1")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO episodes (tenant_id, butler, content) VALUES ('tenant-b', 'b', 'c')",
        "INSERT INTO facts (tenant_id, subject, predicate, content) VALUES ('tenant-b', 's', 'q', 'c')",
        "INSERT INTO rules (tenant_id, content) VALUES ('tenant-b', 'c')",
        "INSERT INTO entities (tenant_id, canonical_name, entity_type) VALUES ('tenant-b', 'n', 'place')",
        "INSERT INTO memory_events (tenant_id, event_type) VALUES ('tenant-b', 'x')",
        (
            "INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation)"
            " VALUES ('tenant-b', 'fact', gen_random_uuid(), 'fact', gen_random_uuid(), 'supports')"
        ),
        "UPDATE facts SET tenant_id = 'tenant-b'",
    ],
)
@pytest.mark.usefixtures("owned")
async def test_nothing_is_written_for_another_tenant(knowledge_pool: asyncpg.Pool, statement: str) -> None:
    """The policies refuse the row."""
    with (
        request_context(tenant_id="tenant-a", actor="tester"),
        pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"),
    ):
        async with unit_of_work(knowledge_pool) as sql:
            await sql.connection.execute(statement)


@pytest.mark.requirement("KNW-29.2")
async def test_another_tenant_s_ids_name_nothing(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, owned: dict[str, Owned]
) -> None:
    """They cannot be read, changed, linked or referred to, and nobody learns that they exist."""
    theirs, ours = owned["tenant-b"], owned["tenant-a"]
    with request_context(tenant_id="tenant-a", actor="tester"):
        for kind, key in (("episode", theirs.episode), ("fact", theirs.fact), ("rule", theirs.rule)):
            assert await get_memory(knowledge_pool, kind, key) is None
            with pytest.raises(NotFoundError):
                await forget_memory(knowledge_pool, kind, key)
            assert await get_links(knowledge_pool, kind, key) == []
            with pytest.raises(NotFoundError):
                await create_link(
                    knowledge_pool,
                    source_type="fact",
                    source_id=ours.fact,
                    target_type=kind,
                    target_id=key,
                    relation="supports",
                )
        with pytest.raises(NotFoundError):
            await confirm_memory(knowledge_pool, "fact", theirs.fact)
        with pytest.raises(NotFoundError):
            await mark_helpful(knowledge_pool, theirs.rule)
        with pytest.raises(InvalidInputError, match=r"entity_id: .*does not exist"):
            await store_fact(
                knowledge_pool, engine, subject="s", predicate="p", content="c", entity_id=theirs.entity
            )
        with pytest.raises(InvalidInputError, match="source_episode_id"):
            await store_fact(
                knowledge_pool,
                engine,
                subject="s",
                predicate="p",
                content="c",
                source_episode_id=theirs.episode,
            )


@pytest.mark.requirement("KNW-29.1")
@pytest.mark.parametrize("column", ["entity_id", "source_episode_id", "supersedes_id"])
async def test_no_reference_crosses_tenants(
    knowledge_pool: asyncpg.Pool, owned: dict[str, Owned], column: str
) -> None:
    """Checks of foreign keys see all rows, so the keys have the tenant in them."""
    theirs = owned["tenant-b"]
    target = {"entity_id": theirs.entity, "source_episode_id": theirs.episode, "supersedes_id": theirs.fact}[
        column
    ]
    statement = {
        "entity_id": "UPDATE facts SET entity_id = $1",
        "source_episode_id": "UPDATE facts SET source_episode_id = $1",
        "supersedes_id": "UPDATE facts SET supersedes_id = $1",
    }[column]
    with (
        request_context(tenant_id="tenant-a", actor="tester"),
        pytest.raises(asyncpg.ForeignKeyViolationError),
    ):
        async with unit_of_work(knowledge_pool) as sql:
            await sql.connection.execute(statement, target)


@pytest.mark.requirement("R-KNW-12", "KNW-29.1")
async def test_work_without_a_tenant_is_an_error(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Every function says so, before it computes or writes anything."""
    for attempt in (
        store_episode(knowledge_pool, engine, content="x", butler="b"),
        store_fact(knowledge_pool, engine, subject="s", predicate="p", content="c"),
        store_rule(knowledge_pool, engine, content="x"),
        memory_stats(knowledge_pool),
        run_decay_sweep(knowledge_pool),
        run_episode_cleanup(knowledge_pool),
    ):
        with pytest.raises(TenantUnsetError, match="no tenant is set"):
            await attempt


@pytest.mark.parametrize("tenant", ["", "x" * 65, "a b", "a'; --", "ä", "a\n"])
async def test_a_tenant_s_id_has_a_form(knowledge_pool: asyncpg.Pool, tenant: str) -> None:
    """Anything else is refused."""
    with (
        request_context(tenant_id=tenant, actor="tester"),
        pytest.raises(InvalidInputError, match="tenant_id: expected 1 to 64"),
    ):
        await memory_stats(knowledge_pool)


async def test_tenants_at_work_at_once_stay_apart(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Connections go from one tenant to the next, and keep nothing of the one before."""

    async def work(number: int) -> None:
        with request_context(tenant_id=f"tenant-{number}", actor=f"agent-{number}"):
            for _ in range(3):
                await store_fact(knowledge_pool, engine, subject="s", predicate="p", content=f"of {number}")
                async with unit_of_work(knowledge_pool, readonly=True) as sql:
                    rows = await sql.connection.fetch("SELECT content FROM facts")
                    actors = await sql.connection.fetch("SELECT DISTINCT actor FROM memory_events")
                assert {row["content"] for row in rows} == {f"of {number}"}
                assert [row["actor"] for row in actors] == [f"agent-{number}"]

    await asyncio.gather(*(work(number) for number in range(30)))
    left = "SELECT current_setting('commonplace.tenant_id', true)"
    assert not any(await asyncio.gather(*(knowledge_pool.fetchval(left) for _ in range(10))))


async def test_a_reading_writes_nothing(knowledge_pool: asyncpg.Pool) -> None:
    """A read-only unit of work refuses to."""
    with (
        request_context(tenant_id="tenant-a", actor="tester"),
        pytest.raises(asyncpg.ReadOnlySQLTransactionError),
    ):
        async with unit_of_work(knowledge_pool, readonly=True) as sql:
            await sql.record_event(event_type="x", payload={})
