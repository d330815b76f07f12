"""Filling in the new model's vectors beside the vectors in use: a walk through all tables of all tenants."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.lookahead import one_ahead
from commonplace.knowledge.reembedding.moves import Move, MoveStep, MoveWork, note, tenants, work_of
from commonplace.knowledge.store.statements import KnowledgeStatements, MoveStatements
from commonplace.knowledge.store.table_statements import TEXTS, of_table
from commonplace.knowledge.store.vectors import Embeddings, embed
from commonplace.storage.database import Row

FIRST: Final = UUID(int=0)
"""Lower than every id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Memories of one table of one tenant, with their new vectors in the same order."""

    tenant: str
    table: str
    rows: Sequence[Row]
    embeddings: Embeddings


async def count_rows_to_embed(pool: asyncpg.Pool, move: Move) -> int:
    """Return the number of memories of all tenants without a vector of the new model."""
    return await _count(pool, lambda sql: sql.count_rows_to_embed(version=move.to.version))


async def count_missed(pool: asyncpg.Pool) -> int:
    """Return the number of memories of all tenants that were stored or changed after the walk had passed them."""
    return await _count(pool, lambda sql: sql.count_missed())


async def _count(pool: asyncpg.Pool, rows: Callable[[MoveStatements], Awaitable[int]]) -> int:
    count = 0
    for tenant in await tenants(pool):
        async with work_of(pool, tenant, readonly=True) as sql:
            for table in TEXTS:
                count += await rows(of_table(table, sql))
    return count


async def fill(work: MoveWork, *, most: int, missed_only: bool) -> None:
    """Embed memories without a vector of the new model; the next batch is computed while one is written.

    Args:
        work: The move at work; each batch is one transaction.
        most: The approximate number of memories to embed, because the walk might never end if memories are stored
            faster.
        missed_only: Only memories that were stored or changed after the walk had passed them; they have their own
            index.

    Raises:
        EmbeddingError: The model cannot be used.
        MoveEndedError: The move was aborted.
        StorageUnavailableError: The server cannot be reached. Run the move again to resume it.
    """
    step = MoveStep.SWITCHING if missed_only else MoveStep.EMBEDDING
    count = 0
    async with aclosing(one_ahead(_batches(work, missed_only=missed_only))) as ahead:
        async for batch in ahead:
            async with work_of(work.pool, batch.tenant) as sql:
                stored = await store_batch(sql, batch)
                progress = await note(sql, work.move, done=stored, step=step, now=work.clock())
            work.on_progress(progress)
            count += stored
            if count >= most:
                break


async def store_batch(sql: KnowledgeStatements, batch: Batch) -> int:
    """Store a batch's vectors in a transaction of its tenant; return the number of memories with unchanged text."""
    stored: int = await of_table(batch.table, sql).store_next_vectors(
        id=[row["id"] for row in batch.rows],
        fingerprint=[row["fingerprint"] for row in batch.rows],
        embedding=batch.embeddings.vectors,
        model=batch.embeddings.model,
        version=batch.embeddings.version,
    )
    return stored


async def _batches(work: MoveWork, *, missed_only: bool) -> AsyncGenerator[Batch]:
    for tenant in await tenants(work.pool):
        for table in TEXTS:
            after: UUID | None = FIRST
            while after is not None:
                # The connection is released before the model computes.
                async with work_of(work.pool, tenant, readonly=True) as sql:
                    statements = of_table(table, sql)
                    rows = (
                        await statements.rows_missed(after=after, limit=work.batch_rows)
                        if missed_only
                        else await statements.rows_to_embed(
                            version=work.move.to.version, after=after, limit=work.batch_rows
                        )
                    )
                if rows:
                    embeddings = await embed(work.engine, [row["text"] for row in rows])
                    yield Batch(tenant=tenant, table=table, rows=rows, embeddings=embeddings)
                after = rows[-1]["id"] if len(rows) == work.batch_rows else None


async def clear(pool: asyncpg.Pool, *, batch_rows: int, but_of: str = "") -> int:
    """Remove all unused vectors of all tenants, except those of one version; return their number."""
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
