"""Knowledge memory's schema: as specified, and reached from every older revision with data in it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.errors import DatabaseTooNewError
from commonplace.core.request_context import request_context
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.unit_of_work import kind_queries, queries, unit_of_work
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.migrations.runner import HEADS, migrate_postgres
from commonplace.storage.postgres import open_pool
from support.commands import CommandServer
from support.statements import prepare_set

HEAD = HEADS["memory"]
ALL_TABLES = ["embedding_versions", "entities", "episodes", "facts", "memory_events", "memory_links", "rules"]

EPISODES = """
id uuid! gen_random_uuid()
butler text!
session_id uuid
content text!
embedding vector(384)
search_vector tsvector
importance double precision! 5.0
reference_count integer! 0
consolidated boolean! false
consolidation_status character varying(20)! 'pending'::character varying
retry_count integer! 0
last_error text
created_at timestamp with time zone! now()
last_referenced_at timestamp with time zone
expires_at timestamp with time zone (now() + '7 days'::interval)
metadata jsonb! '{}'::jsonb
"""

FACTS = """
id uuid! gen_random_uuid()
subject text!
predicate text!
content text!
embedding vector(384)
search_vector tsvector
importance double precision! 5.0
confidence double precision! 1.0
decay_rate double precision! 0.008
permanence text! 'standard'::text
source_butler text
source_episode_id uuid
supersedes_id uuid
validity text! 'active'::text
scope text! 'global'::text
reference_count integer! 0
created_at timestamp with time zone! now()
last_referenced_at timestamp with time zone
last_confirmed_at timestamp with time zone
tags jsonb! '[]'::jsonb
metadata jsonb! '{}'::jsonb
entity_id uuid
"""

RULES = """
id uuid! gen_random_uuid()
content text!
embedding vector(384)
search_vector tsvector
scope text! 'global'::text
maturity text! 'candidate'::text
confidence double precision! 0.5
decay_rate double precision! 0.008
permanence text! 'standard'::text
effectiveness_score double precision! 0.0
applied_count integer! 0
success_count integer! 0
harmful_count integer! 0
source_episode_id uuid
source_butler text
created_at timestamp with time zone! now()
last_applied_at timestamp with time zone
last_evaluated_at timestamp with time zone
last_confirmed_at timestamp with time zone
reference_count integer! 0
last_referenced_at timestamp with time zone
tags jsonb! '[]'::jsonb
metadata jsonb! '{}'::jsonb
"""

ENTITIES = """
id uuid! gen_random_uuid()
tenant_id text!
canonical_name character varying!
entity_type character varying!
aliases text[]! '{}'::text[]
metadata jsonb! '{}'::jsonb
created_at timestamp with time zone! now()
updated_at timestamp with time zone! now()
"""

EVENTS = """
id uuid! gen_random_uuid()
event_type text!
actor text
tenant_id text
payload jsonb! '{}'::jsonb
created_at timestamp with time zone! now()
"""

COLUMNS_SQL = """
SELECT concat_ws(' ',
    attname, format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN '!' ELSE '' END,
    pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""

# Everything by which two databases could differ.
SCHEMA_SQL = """
SELECT 'column', table_name || '.' || column_name, concat_ws(' ', data_type, is_nullable, column_default)
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'policy', policyname, concat(tablename, qual, with_check) FROM pg_policies
UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE proname LIKE 'commonplace%'
UNION ALL SELECT 'table', relname, concat(relrowsecurity, relforcerowsecurity, reloptions)
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
ORDER BY 1, 2, 3
"""


async def run(url: str, sql: str, *arguments: object) -> list[Sequence[object]]:
    """Run a statement of our own."""
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(sql, *arguments)]
    finally:
        await connection.close()


async def columns(url: str, table: str) -> list[str]:
    """Return name, type, ``!`` for NOT NULL, and default of each column."""
    return [str(row[0]) for row in await run(url, COLUMNS_SQL, table)]


async def index(url: str, name: str) -> str:
    """Return what an index is on."""
    ((definition,),) = await run(url, "SELECT indexdef FROM pg_indexes WHERE indexname = $1", name)
    return str(definition).partition(" USING ")[2]


@pytest.mark.requirement("KNW-01.1", "KNW-01.2", "KNW-01.3", "KNW-25.7", "KNW-16.1", "R-KNW-1")
async def test_the_baseline_has_the_columns_of_the_specification(postgres_url: str) -> None:
    """Names, types, defaults, and what may not be null."""
    await migrate_postgres(postgres_url, "memory", target="mem_003")
    for table, expected in (
        ("episodes", EPISODES),
        ("facts", FACTS),
        ("rules", RULES),
        ("entities", ENTITIES),
        ("memory_events", EVENTS),
    ):
        assert await columns(postgres_url, table) == expected.split("\n")[1:-1], table


@pytest.mark.requirement("KNW-25.2", "KNW-25.3", "KNW-25.5", "KNW-25.6", "KNW-25.7")
async def test_the_baseline_has_the_indexes_of_the_specification(postgres_url: str) -> None:
    """Each by its name."""
    await migrate_postgres(postgres_url, "memory", target="mem_003")
    vector = "ivfflat (embedding vector_cosine_ops) WITH (lists='20')"
    expected = {
        "idx_episodes_butler_created": "btree (butler, created_at DESC)",
        "idx_episodes_expires": "btree (expires_at) WHERE (expires_at IS NOT NULL)",
        "idx_episodes_pending": "btree (butler, created_at) WHERE ((consolidation_status)::text = 'pending'::text)",
        "idx_episodes_search": "gin (search_vector)",
        "idx_episodes_embedding": vector,
        "idx_facts_scope_validity": "btree (scope, validity) WHERE (validity = 'active'::text)",
        "idx_facts_subject_predicate": "btree (subject, predicate)",
        "idx_facts_search": "gin (search_vector)",
        "idx_facts_tags": "gin (tags)",
        "idx_facts_embedding": vector,
        "pk_memory_links": "btree (source_type, source_id, target_type, target_id)",
        "idx_memory_links_target": "btree (target_type, target_id)",
        "uq_entities_name": "btree (tenant_id, canonical_name, entity_type)",
        "idx_entities_tenant_name": "btree (tenant_id, canonical_name)",
        "idx_entities_aliases": "gin (aliases)",
        "idx_entities_metadata": "gin (metadata)",
        "idx_memory_events_type": "btree (event_type, created_at DESC)",
        "idx_memory_events_tenant": "btree (tenant_id, created_at DESC)",
    }
    assert {name: await index(postgres_url, name) for name in expected} == expected


@pytest.mark.requirement("KNW-25.4")
async def test_one_active_fact_a_key_is_the_rule_of_two_partial_indexes(postgres_url: str) -> None:
    """By entity where a fact has one, by subject where not; both unique, and per tenant in the end."""
    entity = "entity_id, scope, predicate) WHERE ((entity_id IS NOT NULL) AND (validity = 'active'::text))"
    subject = "scope, subject, predicate) WHERE ((entity_id IS NULL) AND (validity = 'active'::text))"
    for target, leading in (("mem_002", ""), ("head", "tenant_id, ")):
        await migrate_postgres(postgres_url, "memory", target=target)
        assert await index(postgres_url, "uq_facts_entity_scope_predicate") == f"btree ({leading}{entity}"
        assert await index(postgres_url, "uq_facts_scope_subject_predicate") == f"btree ({leading}{subject}"
    unique = "SELECT indisunique FROM pg_index WHERE indexrelid::regclass::text LIKE 'uq_facts_%predicate'"
    assert await run(postgres_url, unique) == [(True,), (True,)]


@pytest.mark.requirement("KNW-25.1")
async def test_extensions_are_used_where_the_server_has_them(postgres_url: str) -> None:
    """The one for vectors always; uuid-ossp where it can be had, and the schema stands without it."""
    await migrate_postgres(postgres_url, "memory", target="mem_001")
    available = {
        name for (name,) in await run(postgres_url, "SELECT name::text FROM pg_available_extensions")
    }
    installed = {name for (name,) in await run(postgres_url, "SELECT extname::text FROM pg_extension")}
    assert installed >= {"vector", "uuid-ossp"} & available
    schema = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
    assert await run(postgres_url, schema) == [("public",)]


LINK = """
INSERT INTO memory_links (source_type, source_id, target_type, target_id, relation)
VALUES ('fact', gen_random_uuid(), 'fact', gen_random_uuid(), 'supports')
"""


@pytest.mark.requirement("KNW-25.5", "KNW-25.6", "R-KNW-4")
@pytest.mark.parametrize(
    "statement",
    [
        LINK.replace("supports", "likes"),
        LINK.replace("'fact'", "'entity'"),
        "INSERT INTO entities (canonical_name, entity_type) VALUES ('Rex', 'dog')",
        "INSERT INTO episodes (butler, content, consolidated) VALUES ('b', 'c', true)",
        "INSERT INTO episodes (butler, content, consolidation_status) VALUES ('b', 'c', 'lost')",
        "INSERT INTO facts (subject, predicate, content, validity) VALUES ('s', 'p', 'c', 'gone')",
        "INSERT INTO facts (subject, predicate, content, tags) VALUES ('s', 'p', 'c', '\"[]\"')",
        "INSERT INTO rules (content, maturity) VALUES ('c', 'old')",
    ],
)
async def test_the_database_refuses_what_is_no_state(knowledge_url: str, statement: str) -> None:
    """Its checks hold for every program."""
    connection = await asyncpg.connect(knowledge_url, server_settings={"commonplace.tenant_id": "default"})
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(statement)
    finally:
        await connection.close()


OLD_ROWS = """
INSERT INTO episodes (id, butler, content, consolidated) VALUES
    ('00000000-0000-0000-0000-0000000000e1', 'general', 'done long ago', true),
    ('00000000-0000-0000-0000-0000000000e2', 'general', 'waiting', false);
INSERT INTO facts (id, subject, predicate, content, source_episode_id, created_at) VALUES
    ('00000000-0000-0000-0000-0000000000f1', 'Ann', 'works_at', 'Acme', NULL, '2026-01-01Z'),
    ('00000000-0000-0000-0000-0000000000f2', 'Ann', 'works_at', 'Bolt',
     '00000000-0000-0000-0000-0000000000e1', '2026-01-02Z');
INSERT INTO rules (content) VALUES ('Ask first');
INSERT INTO memory_links (source_type, source_id, target_type, target_id, relation) VALUES
    ('fact', '00000000-0000-0000-0000-0000000000f2', 'episode', '00000000-0000-0000-0000-0000000000e1', 'derived_from');
"""

OLD_ENTITY_ROWS = """
INSERT INTO entities (id, tenant_id, canonical_name, entity_type)
    VALUES ('00000000-0000-0000-0000-0000000000a1', 'acme', 'Ann', 'person');
INSERT INTO facts (id, subject, predicate, content, entity_id) VALUES
    ('00000000-0000-0000-0000-0000000000f3', 'Ann', 'likes', 'tea', '00000000-0000-0000-0000-0000000000a1');
"""


COUNTS = """
SELECT (SELECT count(*) FROM rules), (SELECT count(*) FROM memory_links), (SELECT count(*) FROM memory_events)
"""


@pytest.mark.requirement("R-KNW-12", "R-KNW-3")
async def test_every_older_revision_with_data_reaches_the_same_schema(
    postgres_url: str, knowledge_url: str
) -> None:
    """Rows of each older schema are there afterwards, each of its tenant."""
    await migrate_postgres(postgres_url, "memory", target="mem_001")
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(OLD_ROWS)
    await migrate_postgres(postgres_url, "memory", target="mem_002")
    await connection.execute(OLD_ENTITY_ROWS)
    await migrate_postgres(postgres_url, "memory", target="mem_003")
    await connection.execute("INSERT INTO memory_events (event_type) VALUES ('entity_merge')")
    await connection.execute(
        "UPDATE facts SET supersedes_id = (SELECT id FROM facts WHERE content = 'Acme') WHERE content = 'Bolt'"
    )
    await migrate_postgres(postgres_url, "memory")
    assert await run(postgres_url, SCHEMA_SQL) == await run(knowledge_url, SCHEMA_SQL)
    assert await connection.fetch("SELECT * FROM facts") == []
    tenants = await connection.fetch("SELECT tenant_id FROM tenants ORDER BY tenant_id")
    assert [row[0] for row in tenants] == ["acme", "default"]
    await connection.execute("SET commonplace.tenant_id = 'default'")
    facts = await connection.fetch(
        "SELECT content, validity, source_episode_id IS NULL AS no_source FROM facts ORDER BY id"
    )
    assert [tuple(row) for row in facts] == [("Acme", "superseded", True), ("Bolt", "active", False)]
    known = await connection.fetch(
        "SELECT content, facts.valid_to IS NULL, array_agg(fact_states.validity ORDER BY place) FROM facts "
        "JOIN fact_states ON fact_states.fact_id = facts.id GROUP BY 1, 2 ORDER BY 1"
    )
    assert [tuple(row)[:2] for row in known] == [("Acme", False), ("Bolt", True)]
    assert known[0][2] == ["active", "superseded"]
    states = await connection.fetch("SELECT consolidation_status FROM episodes ORDER BY id")
    assert [row[0] for row in states] == ["consolidated", "pending"]
    assert [tuple(row) for row in await connection.fetch(COUNTS)] == [(1, 1, 1)]
    await connection.execute("SET commonplace.tenant_id = 'acme'")
    assert await connection.fetchval("SELECT content FROM facts") == "tea"
    await connection.close()


async def test_a_database_at_the_head_of_development_opens(postgres_url: str) -> None:
    """It has this revision in its table of versions, and keeps its rows."""
    await migrate_postgres(postgres_url, "memory", target="mem_015")
    connection = await asyncpg.connect(postgres_url, server_settings={"commonplace.tenant_id": "default"})
    await connection.execute("INSERT INTO rules (content) VALUES ('Ask first')")
    await connection.close()
    await migrate_postgres(postgres_url, "memory")
    async with await open_pool(postgres_url) as pool:
        with request_context(actor="tester"):
            async with unit_of_work(pool) as sql:
                assert await sql.connection.fetchval("SELECT content FROM rules") == "Ask first"


async def test_a_newer_database_is_refused(knowledge_url: str) -> None:
    """The error names both revisions, and nothing is written."""
    await run(knowledge_url, "UPDATE alembic_version SET version_num = 'mem_999' RETURNING 1")
    with pytest.raises(DatabaseTooNewError, match=rf'"mem_999".*"{HEAD}"'):
        await migrate_postgres(knowledge_url, "memory")
    assert await run(knowledge_url, "SELECT version_num FROM alembic_version") == [("mem_999",)]


async def test_the_memories_share_a_database(postgres_url: str) -> None:
    """Each brings its own tables, whichever comes first."""
    await migrate_postgres(postgres_url, "memory")
    await migrate_postgres(postgres_url, "operational")
    revisions = "SELECT version_num FROM alembic_version ORDER BY 1"
    assert await run(postgres_url, revisions) == [(HEAD,), (HEADS["operational"],)]
    assert await run(postgres_url, "SELECT count(*) FROM sessions") == [(0,)]


async def test_the_embedded_server_is_migrated_and_used(postgres_directory: Path) -> None:
    """It need not run before."""
    async with EmbeddedPostgres(postgres_directory) as server:
        await migrate_postgres(server, "memory")
        await migrate_postgres(server, "memory")
        async with await open_pool(server) as pool:
            with request_context(actor="tester"):
                async with unit_of_work(pool) as sql:
                    await record_event(sql, EventType.LINK_CREATED, payload={})
                    assert await sql.connection.fetchval("SELECT tenant_id FROM memory_events") == "default"


START_UP = """
import asyncio, sys
from commonplace.storage.migrations.runner import migrate_postgres
asyncio.run(migrate_postgres(sys.argv[1], "memory"))
"""


async def test_processes_may_migrate_at_once(
    postgres_url: str, knowledge_url: str, command_server: CommandServer
) -> None:
    """Three of them on an empty database: one migrates, the others wait, and all of them end well."""
    processes = [
        await asyncio.create_subprocess_exec(command_server.python, "-c", START_UP, postgres_url)
        for _ in range(3)
    ]
    assert [await process.wait() for process in processes] == [0] * 3
    assert await run(postgres_url, SCHEMA_SQL) == await run(knowledge_url, SCHEMA_SQL)


async def test_every_statement_is_accepted_by_the_server(knowledge_pool: asyncpg.Pool) -> None:
    """Each named statement is prepared against the real schema, and returns the types that its header declares."""
    async with knowledge_pool.acquire() as connection:
        assert await prepare_set(connection, queries()) > 20
        for kind in MemoryType:
            assert await prepare_set(connection, kind_queries(kind))
