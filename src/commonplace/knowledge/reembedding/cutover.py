"""Switch to the new model's vectors, by renaming columns in one short transaction."""

import logging
from datetime import datetime
from typing import Final

import asyncpg

from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.reembedding.backfill import FIRST, Batch, store_batch
from commonplace.knowledge.reembedding.moves import ACTOR, Move, MoveEndedError, MoveWork, tenants, work_of
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.table_statements import TEXTS, of_leaf, of_table
from commonplace.knowledge.store.vectors import embed

LEAST_WHILE_HELD: Final = 64
MOST_WHILE_HELD: Final = 4_096
GROWTH: Final = 4

_BUSY: Final = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)

_log = logging.getLogger(__name__)


def most_while_held(attempt: int) -> int:
    """Return how many memories may be embedded while writers wait, for an attempt to switch, counted from 0.

    The first attempt takes less than half a second on two cores. To catch up with writers that are faster than the
    model, each attempt may embed four times as many memories as the last, up to about ten seconds.
    """
    return min(MOST_WHILE_HELD, LEAST_WHILE_HELD * GROWTH ** min(attempt, 8))


async def try_switch(work: MoveWork, *, most: int, now: datetime) -> bool:
    """Embed the last few memories while writers wait, then rename the columns while searches wait too.

    This is the only transaction that waits for the model, because busy writers must be paused to catch up with them.
    Their transactions wait at the beginning, and fail only if they use another model. A search that spans the switch
    compares a vector of the old model with vectors of the new model once.

    Args:
        work: The move at work.
        most: The maximum number of memories to embed while writers wait; if more are missing, nothing is done.
        now: The present moment.

    Returns:
        Whether the new model is active. If not, nothing has changed, because too many vectors were missing or the
        tables were in use for too long.

    Raises:
        EmbeddingError: The model cannot be used.
        MoveEndedError: The move was aborted.
        StorageUnavailableError: The server cannot be reached.
    """
    everybody = await tenants(work.pool)
    try:
        async with work_of(work.pool) as sql:
            await _switch(sql, work, everybody, most, now)
    except _CutoverDelayedError as error:
        _log.info("the switch to %s waits: %s", work.move.to, error)
        return False
    return True


class _CutoverDelayedError(Exception):
    """Rolls the switch back, to be tried again."""


async def _switch(
    sql: KnowledgeStatements, work: MoveWork, everybody: list[str], most: int, now: datetime
) -> None:
    await sql.prepare_switch()
    try:
        await sql.hold_writers()
        await _embed_the_last(sql, work.engine, everybody, most=most)
        await sql.hold_everybody()
        await _exchange(sql, work.move, now)
    except _BUSY as error:
        raise _CutoverDelayedError(f"the tables of memories are in use ({error})") from error


async def _embed_the_last(
    sql: KnowledgeStatements, engine: EmbeddingEngine, everybody: list[str], *, most: int
) -> None:
    left = most
    for tenant in everybody:
        await sql.set_context(tenant_id=tenant, actor=ACTOR, source=Source.AGENT)
        for table in TEXTS:
            rows = await of_table(table, sql).rows_missed(after=FIRST, limit=left + 1)
            left -= len(rows)
            if left < 0:
                raise _CutoverDelayedError(f"more than {most} memories were stored in the meantime")
            if rows:
                embeddings = await embed(engine, [row["text"] for row in rows])
                await store_batch(sql, Batch(tenant=tenant, table=table, rows=rows, embeddings=embeddings))


async def _exchange(sql: KnowledgeStatements, move: Move, now: datetime) -> None:
    for table in TEXTS:
        await of_table(table, sql).lift_policy()
    if await sql.any_missed():
        raise _CutoverDelayedError("another program stored a memory")
    for table in TEXTS:
        await _exchange_table(sql, table)
    await sql.drop_passages()
    if await sql.activate_model(id=move.id, version=move.to.version, now=now) is None:
        raise MoveEndedError
    await sql.activate_next(model=move.to.name, version=move.to.version, now=now)


async def _exchange_table(sql: KnowledgeStatements, table: str) -> None:
    names = [row["relname"] for row in await sql.leaves(table_name=table)]
    leaves = [of_leaf(table, name, sql) for name in names]
    for leaf in leaves:
        await leaf.drop_index_in_use()
    await of_table(table, sql).drop_replaced_index()
    await of_table(table, sql).switch()
    for leaf in leaves:
        await leaf.rename_index_next()
    if names != [table]:
        await of_table(table, sql).index_of_partitions()
        for leaf in leaves:
            await leaf.attach_index()
    await of_table(table, sql).restore_policy()
