"""A large installation for the dashboard: a full knowledge memory and a full operational memory.

Texts and vectors come from :mod:`scale_corpus`. This module adds entities, links, runs and the audit stream.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import asyncpg

from scale_corpus import Corpus, tenant_name
from scale_corpus import fill as fill_memories

TENANT = tenant_name(0)
"""The tenant of all rows. The statements below spell it out."""
_STATEMENTS = (
    # Each fact was known since it was stored.
    """
    UPDATE fact_states SET known_at = facts.created_at FROM facts
    WHERE facts.tenant_id = fact_states.tenant_id AND facts.id = fact_states.fact_id
    """,
    # After a year: some facts superseded, expired, retracted or fading.
    """
    UPDATE facts SET
      validity = CASE numbered.n % 50
        WHEN 1 THEN 'superseded' WHEN 3 THEN 'expired' WHEN 5 THEN 'retracted' ELSE 'active' END,
      metadata = CASE WHEN numbered.n % 50 = 4 THEN '{"status": "fading"}'::jsonb ELSE '{}'::jsonb END
    FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS n FROM facts) AS numbered
    WHERE facts.id = numbered.id
    """,
    """
    UPDATE facts SET supersedes_id = older.id
    FROM (SELECT id, lead(id) OVER (ORDER BY created_at) AS newer FROM facts) AS older
    JOIN facts AS loser ON loser.id = older.id AND loser.validity = 'superseded'
    WHERE facts.id = older.newer AND facts.tenant_id = loser.tenant_id
    """,
    """
    INSERT INTO entities (tenant_id, canonical_name, entity_type, aliases, name_keys)
    SELECT 'tenant-0', 'Person ' || n, 'person', ARRAY['P' || n],
      chr(10) || 'person ' || n || chr(10) || 'p' || n || chr(10)
    FROM generate_series(0, (SELECT count(*) / 20 FROM facts)) AS n
    """,
    """
    UPDATE facts SET entity_id = named.id, predicate = 'said ' || numbered.n
    FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS n FROM facts) AS numbered
    JOIN entities AS named ON named.canonical_name = 'Person ' || (numbered.n / 20)
    WHERE facts.id = numbered.id
    """,
    """
    INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation)
    SELECT tenant_id, 'fact', id, 'episode', id, 'derived_from' FROM facts
    """,
    """
    UPDATE episodes SET
      consolidated = n % 10 > 0,
      consolidation_status = CASE n % 1000 WHEN 0 THEN 'dead_letter' WHEN 10 THEN 'failed' ELSE
        CASE WHEN n % 10 > 0 THEN 'consolidated' ELSE 'pending' END END,
      last_error = CASE WHEN n % 1000 IN (0, 10) THEN 'the answer was no JSON' END
    FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS n FROM episodes) AS numbered
    WHERE episodes.id = numbered.id
    """,
    """
    INSERT INTO consolidation_runs (tenant_id, butler, worker, model, state, started_at, ended_at, leased_until,
      episode_ids, facts_created)
    SELECT 'tenant-0', 'scale', 'host:1', 'a model', CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'applied' END,
      now() - n * interval '1 hour', now() - n * interval '1 hour', now(),
      ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 50)), 5
    FROM generate_series(1, 2000) AS n
    """,
    """
    INSERT INTO memory_events (tenant_id, event_type, actor, payload, created_at)
    SELECT 'tenant-0', 'fact_created', CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'butler' END, jsonb_build_object(
        'memory_type', 'fact', 'memory_id', id, 'before', NULL, 'after', jsonb_build_object('validity', 'active'),
        'run_id', (SELECT id FROM consolidation_runs LIMIT 1)
      ) - CASE WHEN n % 5000 = 0 THEN '' ELSE 'run_id' END, created_at
    FROM (SELECT id, created_at, row_number() OVER () AS n FROM facts) AS stored
    """,
    """
    INSERT INTO memory_events (tenant_id, event_type, actor, payload, created_at)
    SELECT 'tenant-0', 'episode_created', 'butler', jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', NULL, 'after', jsonb_build_object('butler', butler)
    ), created_at FROM episodes
    """,
)


_OF_INSTALLATION = (
    "SET session_replication_role = replica",
    """
    DO $$ DECLARE named text; BEGIN
      FOR named IN
        SELECT held.table_name FROM information_schema.columns AS held
        JOIN information_schema.tables AS known USING (table_schema, table_name)
        WHERE held.column_name = 'tenant_id' AND held.table_schema = 'public' AND known.table_type = 'BASE TABLE'
      LOOP
        EXECUTE format('UPDATE %I SET tenant_id = %L WHERE tenant_id = %L', named, 'default', 'tenant-0');
      END LOOP;
    END $$
    """,
    "SET session_replication_role = origin",
)
"""Give the rows to the tenant of the installation."""


async def fill_knowledge(
    admin: asyncpg.Connection,
    corpus: Corpus,
    advance: Callable[[int], None],
    *,
    of_installation: bool = False,
) -> None:
    """Fill an empty database: as many facts as episodes, and all that hangs on them.

    Args:
        admin: A connection that row-level security does not hold for, with the vector codec.
        corpus: Texts and vectors.
        advance: Told how many texts were stored.
        of_installation: Whether the rows belong to the tenant of the installation instead of :data:`TENANT`.
    """
    more = (*_STATEMENTS, *_OF_INSTALLATION) if of_installation else _STATEMENTS
    await fill_memories(admin, corpus, tenants=1, facts=True, advance=advance, more=more)


_SESSIONS = """
INSERT INTO sessions (id, tier, status, trigger, started_at, ended_at)
VALUES (?, 1, 'completed', 'cron', ?, ?)
"""
_MEMORIES = """
INSERT INTO memories (service, category, observation, confidence, active, created_at, updated_at, session_id, tier)
VALUES (?, 'timing', ?, ?, ?, ?, ?, ?, 1)
"""
_EVENTS = "INSERT INTO events (session_id, level, service, message, created_at) VALUES (?, 'info', ?, ?, ?)"


def fill_operations(path: Path, texts: list[str]) -> None:
    """Fill the database of operational memory, which has its tables already."""
    sessions = max(1, len(texts) // 100)

    def at(number: int) -> str:
        return f"2026-{1 + number % 10:02}-{1 + number // 10 % 28:02}T{number % 24:02}:00:00.000000Z"

    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(_SESSIONS, ((n, at(n), at(n)) for n in range(1, sessions + 1)))
        connection.executemany(
            _MEMORIES,
            (
                (
                    f"service-{n % 200}",
                    text[:200],
                    round(n % 101 / 100, 2),
                    int(n % 101 >= 30),
                    at(n),
                    at(n),
                    1 + n % sessions,
                )
                for n, text in enumerate(texts)
            ),
        )
        connection.executemany(
            _EVENTS,
            ((1 + n % sessions, f"service-{n % 200}", text[:200], at(n)) for n, text in enumerate(texts)),
        )
