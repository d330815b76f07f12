"""Search in a tenant that is large enough for the index on vectors, beside one that is not."""

from uuid import UUID

import asyncpg
import numpy as np
import pytest
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.core.request_context import request_context
from commonplace.knowledge.storage_functions import keyword_search, semantic_search
from commonplace.knowledge.store.unit_of_work import unit_of_work

LARGE, HUNDREDS, SMALL = 5_100, 600, 60
DIRECTIONS = 200

INSERT = """
INSERT INTO episodes (tenant_id, id, butler, content, search_vector, embedding)
SELECT current_setting('commonplace.tenant_id'), id, butler, content, to_tsvector('english', content), embedding
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::vector[]) AS given (id, butler, content, embedding)
"""


def directions(count: int, seed: int) -> NDArray[np.float32]:
    """Vectors of length 1 around a few directions, as texts about a few subjects have."""
    rng = np.random.default_rng(seed)
    subjects = np.random.default_rng(0).normal(size=(DIRECTIONS, 384))
    vectors = subjects[rng.integers(0, DIRECTIONS, count)] + 0.5 * rng.normal(size=(count, 384))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


async def store(pool: asyncpg.Pool, vectors: NDArray[np.float32]) -> None:
    """Store episodes of one common word, every hundredth for another butler, one with a rare word."""
    count = len(vectors)
    async with unit_of_work(pool) as sql:
        await sql.connection.execute(
            INSERT,
            [UUID(int=number + 1) for number in range(count)],
            ["rare" if number % 100 == 0 else "usual" for number in range(count)],
            [f"common {'unicorn' if number == 7 else number}" for number in range(count)],
            [Vector(vector) for vector in vectors],
        )


def share_found(found: list[UUID], vectors: NDArray[np.float32], query: NDArray[np.float32]) -> float:
    """How many of the exact nearest are among the found."""
    exact = {UUID(int=int(at) + 1) for at in np.argsort(-(vectors @ query))[: len(found)]}
    return len(exact & set(found)) / len(found)


@pytest.fixture
async def large(knowledge_pool: asyncpg.Pool) -> NDArray[np.float32]:
    """A tenant with thousands of episodes; their vectors."""
    vectors = directions(LARGE, seed=1)
    # To build the index at once takes a fraction of the time.
    definition = await knowledge_pool.fetchval("SELECT pg_get_indexdef('idx_episodes_embedding'::regclass)")
    await knowledge_pool.execute("DROP INDEX idx_episodes_embedding")
    with request_context(tenant_id="large", actor="tester"):
        await store(knowledge_pool, vectors)
    await knowledge_pool.execute(definition)
    return vectors


@pytest.mark.requirement("KNW-07.1", "KNW-06.2")
async def test_the_index_finds_what_an_exact_scan_finds(
    knowledge_pool: asyncpg.Pool, large: NDArray[np.float32]
) -> None:
    """In the large tenant nearly everything; in a small tenant or scope beside it, everything."""
    small = directions(SMALL, seed=2)
    with request_context(tenant_id="small", actor="tester"):
        # Ids are unique over all tenants.
        async with unit_of_work(knowledge_pool) as sql:
            await sql.connection.execute(
                INSERT,
                [UUID(int=LARGE + number + 1) for number in range(SMALL)],
                ["usual"] * SMALL,
                ["common"] * SMALL,
                [Vector(vector) for vector in small],
            )
    shares: dict[str, list[float]] = {"large": [], "scope": [], "small": []}
    of_rare = large[::100]

    for query in directions(10, seed=3):
        with request_context(tenant_id="large", actor="tester"):
            found = [row.memory.id for row in await semantic_search(knowledge_pool, query, "episodes")]
            scoped = await semantic_search(knowledge_pool, query, "episodes", scope="rare")
        with request_context(tenant_id="small", actor="tester"):
            few = await semantic_search(knowledge_pool, query, "episodes")
        shares["large"].append(share_found(found, large, query))
        renumbered = [UUID(int=(row.memory.id.int - 1) // 100 + 1) for row in scoped]
        shares["scope"].append(share_found(renumbered, of_rare, query))
        shares["small"].append(
            share_found([UUID(int=row.memory.id.int - LARGE) for row in few], small, query)
        )

    assert np.mean(shares["large"]) >= 0.95
    assert np.mean(shares["scope"]) == np.mean(shares["small"]) == 1.0


@pytest.mark.requirement("KNW-07.1")
async def test_hundreds_of_memories_that_fill_their_table_are_found_by_the_index(
    knowledge_pool: asyncpg.Pool,
) -> None:
    """An exact scan of them takes longer, and finds hardly more."""
    vectors = directions(HUNDREDS, seed=4)
    shares: list[float] = []
    with request_context(tenant_id="alone", actor="tester"):
        await store(knowledge_pool, vectors)
        await knowledge_pool.execute("ANALYZE episodes")
        before = await index_scans(knowledge_pool)
        for query in directions(10, seed=5):
            found = await semantic_search(knowledge_pool, query, "episodes")
            shares.append(share_found([row.memory.id for row in found], vectors, query))
    assert np.mean(shares) >= 0.95
    assert await index_scans(knowledge_pool) == before + 10


async def index_scans(pool: asyncpg.Pool) -> int:
    """How many scans of the index on vectors have begun; the pool's only connection tells at once."""
    await pool.execute("SELECT pg_stat_force_next_flush()")
    return await pool.fetchval(
        """
        SELECT sum(pg_stat_get_numscans(relid)) FROM (
          SELECT CAST('idx_episodes_embedding' AS regclass) AS relid
          UNION SELECT relid FROM pg_partition_tree('idx_episodes_embedding')
        ) AS indexes
        """
    )


@pytest.mark.requirement("R-KNW-6")
@pytest.mark.usefixtures("large")
async def test_a_rare_word_is_found_among_thousands_of_common_ones(knowledge_pool: asyncpg.Pool) -> None:
    """Common words choose none while there is a rarer one; alone they still find something."""
    with request_context(tenant_id="large", actor="tester"):
        rare = await keyword_search(knowledge_pool, "the common unicorn", "episodes", limit=1)
        common = await keyword_search(knowledge_pool, "common", "episodes", limit=5)
        scoped = await keyword_search(knowledge_pool, "common", "episodes", limit=100, scope="rare")

    assert [row.memory.content for row in rare] == ["common unicorn"]
    assert len(common) == 5
    assert len(scoped) == LARGE // 100
