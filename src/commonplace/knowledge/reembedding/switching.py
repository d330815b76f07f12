"""The switch from one model's vectors to the next: names of columns are exchanged, in one short transaction."""

import logging
from datetime import datetime
from typing import Final

import asyncpg

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.embeddings import embed
from commonplace.knowledge.reembedding.filling import FIRST, Batch, store_batch
from commonplace.knowledge.reembedding.moves import Move, MoveEndedError, tenants, work_of
from commonplace.knowledge.reembedding.statements import TEXTS, of_table
from commonplace.storage.database import Statements

LEAST_WHILE_HELD: Final = 64
MOST_WHILE_HELD: Final = 4_096
GROWTH: Final = 4

_BUSY: Final = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)

_log = logging.getLogger(__name__)


def most_while_held(attempt: int) -> int:
    """Return how many memories may be embedded while nobody can store, in an attempt to switch, counted from 0.

    At first that takes less than half a second on two cores. Writers that are faster than the model must be held to be
    caught up with: each attempt may take four times as many, up to about ten seconds' worth.
    """
    return min(MOST_WHILE_HELD, LEAST_WHILE_HELD * GROWTH ** min(attempt, 8))


async def try_switch(
    pool: asyncpg.Pool, engine: EmbeddingEngine, move: Move, *, most: int, now: datetime
) -> bool:
    """Embed the last few memories while nobody stores, then exchange the columns while nobody searches either.

    This is the one place where a transaction waits for the model: without holding busy writers nobody catches up with
    them. Their transactions wait where they begin, and fail only where the next model is not theirs. A search that has
    begun before the switch and goes on after it compares a vector of the old model with those of the new one, once.

    Args:
        pool: Of knowledge memory.
        engine: Of the move's model.
        move: Which.
        most: How many memories may be embedded while nobody can store; with more missing, nothing is done.
        now: The present.

    Returns:
        Whether memories are of the new model now; if not, nothing has changed: too much was missing, or the tables
        were in use for too long.

    Raises:
        EmbeddingError: The model cannot be used.
        MoveEndedError: Somebody aborted the move.
        StorageUnavailableError: The server cannot be reached.
    """
    everybody = await tenants(pool)
    try:
        async with work_of(pool) as sql:
            await _switch(sql, engine, move, everybody, most, now)
    except _NotYetError as error:
        _log.info("the switch to %s waits: %s", move.to, error)
        return False
    return True


class _NotYetError(Exception):
    """Rolls the switch back, to be tried again."""


async def _switch(
    sql: Statements, engine: EmbeddingEngine, move: Move, everybody: list[str], most: int, now: datetime
) -> None:
    await sql.prepare_switch()
    try:
        await sql.hold_writers()
        await _embed_the_last(sql, engine, everybody, most=most)
        await sql.hold_everybody()
        await _exchange(sql, move, now)
    except _BUSY as error:
        raise _NotYetError(f"the tables of memories are in use ({error})") from error


async def _embed_the_last(
    sql: Statements, engine: EmbeddingEngine, everybody: list[str], *, most: int
) -> None:
    left = most
    for tenant in everybody:
        await sql.set_context(tenant_id=tenant, actor="reembedding")
        for table in TEXTS:
            rows = await of_table(table, sql).rows_missed(after=FIRST, limit=left + 1)
            left -= len(rows)
            if left < 0:
                raise _NotYetError(f"more than {most} memories came meanwhile")
            if rows:
                embeddings = await embed(engine, [row["text"] for row in rows])
                await store_batch(sql, Batch(tenant=tenant, table=table, rows=rows, embeddings=embeddings))


async def _exchange(sql: Statements, move: Move, now: datetime) -> None:
    for table in TEXTS:
        await of_table(table, sql).lift_policy()
    if await sql.any_missed():
        raise _NotYetError("a memory was stored by another way than ours")
    for table in TEXTS:
        await of_table(table, sql).switch()
        await of_table(table, sql).restore_policy()
    if await sql.activate_model(id=move.id, version=move.to.version, now=now) is None:
        raise MoveEndedError
    await sql.activate_next(model=move.to.name, version=move.to.version, now=now)
