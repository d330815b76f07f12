"""Computes the next model's vectors and lays them beside those in use: a walk through all tables of all tenants."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.lookahead import one_ahead
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.embeddings import Embeddings, embed
from commonplace.knowledge.reembedding.moves import Move, OnProgress, note, tenants, work_of
from commonplace.knowledge.reembedding.statements import TEXTS, of_table
from commonplace.storage.database import Row, Statements

FIRST: Final = UUID(int=0)
"""Below every id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Memories of one table of one tenant, and their new vectors in the same order."""

    tenant: str
    table: str
    rows: Sequence[Row]
    embeddings: Embeddings


async def count_rows_to_embed(pool: asyncpg.Pool, move: Move) -> int:
    """Return how many memories of all tenants still lack a vector of the move's model."""
    count = 0
    for tenant in await tenants(pool):
        async with work_of(pool, tenant, readonly=True) as sql:
            for table in TEXTS:
                count += await of_table(table, sql).count_rows_to_embed(version=move.to.version)
    return count


async def count_missed(pool: asyncpg.Pool) -> int:
    """Return how many memories of all tenants came or changed behind the walk."""
    count = 0
    for tenant in await tenants(pool):
        async with work_of(pool, tenant, readonly=True) as sql:
            for table in TEXTS:
                count += await of_table(table, sql).count_missed()
    return count


async def fill(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    move: Move,
    *,
    batch_rows: int,
    most: int,
    missed_only: bool,
    on_progress: OnProgress,
    clock: Clock,
) -> int:
    """Embed what lacks a vector of the move's model; the next batch is computed while one is written.

    Args:
        pool: Of knowledge memory.
        engine: Of the move's model.
        move: Which.
        batch_rows: Memories a batch; each batch is one transaction.
        most: About how many memories: where they are stored faster than this embeds, a walk for all would never end.
        missed_only: Only what came or changed behind the walk, by the index of that.
        on_progress: Told after each batch.
        clock: The present.

    Returns:
        How many memories were embedded.

    Raises:
        EmbeddingError: The model cannot be used.
        MoveEndedError: Somebody aborted the move.
        StorageUnavailableError: The server cannot be reached; running it again goes on.
    """
    step = "switching" if missed_only else "embedding"
    count = 0
    batches = _batches(pool, engine, move, batch_rows=batch_rows, missed_only=missed_only)
    async with aclosing(one_ahead(batches)) as ahead:
        async for batch in ahead:
            async with work_of(pool, batch.tenant) as sql:
                stored = await store_batch(sql, batch)
                progress = await note(sql, move, done=stored, step=step, now=clock())
            on_progress(progress)
            count += stored
            if count >= most:
                break
    return count


async def store_batch(sql: Statements, batch: Batch) -> int:
    """Lay a batch's vectors down in a transaction of its tenant; return how many texts had not changed since."""
    stored: int = await of_table(batch.table, sql).store_next_vectors(
        id=[row["id"] for row in batch.rows],
        fingerprint=[row["fingerprint"] for row in batch.rows],
        embedding=batch.embeddings.vectors,
        model=batch.embeddings.model,
        version=batch.embeddings.version,
    )
    return stored


async def _batches(
    pool: asyncpg.Pool, engine: EmbeddingEngine, move: Move, *, batch_rows: int, missed_only: bool
) -> AsyncGenerator[Batch]:
    for tenant in await tenants(pool):
        for table in TEXTS:
            after: UUID | None = FIRST
            while after is not None:
                # The connection is given back before the model computes.
                async with work_of(pool, tenant, readonly=True) as sql:
                    statements = of_table(table, sql)
                    rows = (
                        await statements.rows_missed(after=after, limit=batch_rows)
                        if missed_only
                        else await statements.rows_to_embed(
                            version=move.to.version, after=after, limit=batch_rows
                        )
                    )
                if rows:
                    embeddings = await embed(engine, [row["text"] for row in rows])
                    yield Batch(tenant=tenant, table=table, rows=rows, embeddings=embeddings)
                after = rows[-1]["id"] if len(rows) == batch_rows else None


async def clear(pool: asyncpg.Pool, *, batch_rows: int, but_of: str = "") -> int:
    """Remove every vector that is not in use, of all tenants, but those of one version; return how many there were."""
    count = 0
    for tenant in await tenants(pool):
        for table in TEXTS:
            after: UUID | None = FIRST
            while after is not None:
                async with work_of(pool, tenant) as sql:
                    cleared = await of_table(table, sql).clear_next_vectors(
                        after=after, but_of=but_of, limit=batch_rows
                    )
                count += len(cleared)
                after = cleared[-1]["id"] if len(cleared) == batch_rows else None
    return count
