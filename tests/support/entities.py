"""Entities and facts about them for tests, written past the functions under test where that is the point."""

from typing import Any
from uuid import UUID, uuid4

import asyncpg

from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.on_pool import memory_on

_ADD_FACT = """
INSERT INTO facts (tenant_id, id, subject, predicate, content, scope, confidence, validity, entity_id, supersedes_id)
VALUES (current_setting('commonplace.tenant_id'), $1, 'subject', $2, $3, $4, $5, $6, $7, $8)
"""


async def person(pool: asyncpg.Pool, name: str, *aliases: str, **metadata: object) -> Entity:
    """Create a person."""
    return await memory_on(pool).entities.create(
        canonical_name=name, entity_type="person", aliases=list(aliases), metadata=metadata
    )


async def add_fact(
    pool: asyncpg.Pool,
    entity: Entity,
    predicate: str,
    content: str = "something",
    *,
    scope: str = "global",
    confidence: float = 1.0,
    validity: str = "active",
    supersedes: UUID | None = None,
) -> UUID:
    """Write a fact about an entity, without vectors, and return its id."""
    fact_id = uuid4()
    async with unit_of_work(pool) as sql:
        await sql.connection.execute(
            _ADD_FACT, fact_id, predicate, content, scope, confidence, validity, entity.id, supersedes
        )
    return fact_id


async def rows(pool: asyncpg.Pool, query: str, *arguments: object) -> list[Any]:
    """Run a query as the tenant of the test."""
    async with unit_of_work(pool) as sql:
        return await sql.connection.fetch(query, *arguments)


async def events(pool: asyncpg.Pool, event_type: str) -> list[Any]:
    """Return the events of a kind, oldest first."""
    return await rows(
        pool, "SELECT * FROM memory_events WHERE event_type = $1 ORDER BY created_at, id", event_type
    )


async def snapshot(pool: asyncpg.Pool) -> dict[str, list[dict[str, Any]]]:
    """Return every row of entities, facts and links, with all columns."""
    return {
        "entities": [dict(row) for row in await rows(pool, "SELECT * FROM entities ORDER BY id")],
        "facts": [dict(row) for row in await rows(pool, "SELECT * FROM facts ORDER BY id")],
        "links": [
            dict(row) for row in await rows(pool, "SELECT * FROM memory_links ORDER BY source_id, target_id")
        ],
    }
