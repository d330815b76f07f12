"""Moves all memories of all tenants to another embedding model (KNW-31.2): the use case."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import EmbeddingError, InvalidInputError, StorageUnavailableError
from commonplace.embedding import EMBEDDING_DIMENSIONS, EmbeddingEngine
from commonplace.knowledge.active_model import VectorModel, model_of
from commonplace.knowledge.inputs import require_batch_rows
from commonplace.knowledge.reembedding.filling import clear, count_missed, count_rows_to_embed, fill
from commonplace.knowledge.reembedding.indexes import build_indexes, drop_indexes
from commonplace.knowledge.reembedding.moves import (
    Move,
    OnProgress,
    Progress,
    alone,
    move_of,
    note,
    require_ownership,
    resume_or_begin,
    tenants,
    work_of,
)
from commonplace.knowledge.reembedding.statements import TEXTS, of_table
from commonplace.knowledge.reembedding.switching import most_while_held, try_switch

BATCH_ROWS: Final = 256

SWITCHES: Final = 240
"""How often the switch is tried before the operator is told that something keeps the tables."""

SWITCH_PAUSE_S: Final = 0.5
POLL_S: Final = 0.1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReceipt:
    """What a move did.

    Attributes:
        moved: Whether memories were moved; not where they are of that model already, or there are none.
        model: The model that memories are searched with now; ``None`` where none was ever stored.
        embedded: How many memories were embedded, earlier attempts included.
    """

    moved: bool
    model: VectorModel | None
    embedded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStatus:
    """Which model memories are searched with, and the newest move.

    Attributes:
        active: The model; ``None`` where none was ever stored.
        working: Whether a process is at it at this moment.
        last: The newest move; ``None`` where there was none.
    """

    active: VectorModel | None
    working: bool
    last: Move | None


def _silent(_: Progress) -> None:
    """Tell nobody."""


async def reembed(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    batch_rows: int = BATCH_ROWS,
    on_progress: OnProgress = _silent,
    clock: Clock = utc_now,
) -> MoveReceipt:
    """Move every memory of every tenant to an engine's model; memories are stored and searched meanwhile.

    Run again after it was killed it goes on. After the switch processes of the former model search by words alone and
    store nothing, until they are restarted with the new one.

    Args:
        pool: Of knowledge memory, as the owner of its tables.
        engine: Of the model to move to.
        batch_rows: Memories a batch, 1 to 5,000.
        on_progress: Told after each batch, and at each step.
        clock: The present.

    Raises:
        InvalidInputError: ``batch_rows`` is out of range, or a move to yet another model is under way.
        EmbeddingError: The model cannot be used, or has other dimensions.
        MoveEndedError: Somebody aborted the move.
        StorageUnavailableError: The server cannot be reached, the tables are somebody else's, another process moves
            memories, or the tables stay in use; running it again goes on.

    Source: KNW-31.2.
    """
    require_batch_rows(batch_rows)
    to = await _target(engine)
    await require_ownership(pool)
    async with alone(pool):
        if settled := await _settled(pool, to):
            return settled
        move = await resume_or_begin(pool, to, EMBEDDING_DIMENSIONS, clock())
        # From here on a memory has a vector of this model beside the one in use, or none: no third one's.
        await clear(pool, batch_rows=batch_rows, but_of=to.version)
        to_do = await _set_total(pool, move, on_progress, clock)
        await fill(
            pool,
            engine,
            move,
            batch_rows=batch_rows,
            most=to_do,
            missed_only=False,
            on_progress=on_progress,
            clock=clock,
        )
        await _enter(pool, move, "indexing", on_progress, clock)
        await build_indexes(pool)
        await _enter(pool, move, "switching", on_progress, clock)
        await _switch(pool, engine, move, batch_rows, on_progress, clock)
        last = (await reembedding_status(pool)).last
    return MoveReceipt(moved=True, model=to, embedded=0 if last is None else last.done)


async def reembedding_status(pool: asyncpg.Pool) -> MoveStatus:
    """Return which model memories are searched with, and how far the newest move is."""
    async with work_of(pool, readonly=True) as sql:
        active = await sql.active_model()
        last = await sql.last_reembedding()
        working = await sql.reembedding_is_seized()
    return MoveStatus(
        active=None if active is None else VectorModel(name=active["model"], version=active["version"]),
        working=working,
        last=None if last is None else move_of(last),
    )


async def abort_reembedding(
    pool: asyncpg.Pool, *, batch_rows: int = BATCH_ROWS, patience_s: float = 30.0, clock: Clock = utc_now
) -> int:
    """End the move that is under way, and remove the vectors that it has made; run again it goes on removing.

    A process that is moving memories stops at its next batch.

    Args:
        pool: Of knowledge memory, as the owner of its tables.
        batch_rows: Memories a batch, 1 to 5,000.
        patience_s: How long to wait for a process that is at it.
        clock: The present.

    Returns:
        How many vectors were removed.

    Raises:
        InvalidInputError: ``batch_rows`` is out of range, or there is no move to abort: the last one has switched.
        StorageUnavailableError: The server cannot be reached, or the other process does not stop.
    """
    require_batch_rows(batch_rows)
    await require_ownership(pool)
    last = (await reembedding_status(pool)).last
    if last is None or last.state == "switched":
        raise InvalidInputError(
            "abort", "a move that is under way", "none" if last is None else "one that has switched"
        )
    async with work_of(pool) as sql:
        await sql.abort_reembedding(now=clock())
    return await _remove_unused(pool, batch_rows, patience_s)


async def drop_former_vectors(
    pool: asyncpg.Pool, *, batch_rows: int = BATCH_ROWS, patience_s: float = 30.0
) -> int:
    """Remove the former model's vectors, which stay after a switch so that going back is quick.

    Args:
        pool: Of knowledge memory, as the owner of its tables.
        batch_rows: Memories a batch, 1 to 5,000.
        patience_s: How long to wait for a process that has just switched.

    Returns:
        How many vectors were removed.

    Raises:
        InvalidInputError: ``batch_rows`` is out of range, or a move is under way.
        StorageUnavailableError: The server cannot be reached, or another process is at it.
    """
    require_batch_rows(batch_rows)
    await require_ownership(pool)
    last = (await reembedding_status(pool)).last
    if last is not None and last.state == "running":
        raise InvalidInputError(
            "drop-former", "no move under way, which this would undo", f"one to {last.to}"
        )
    return await _remove_unused(pool, batch_rows, patience_s)


async def _remove_unused(pool: asyncpg.Pool, batch_rows: int, patience_s: float) -> int:
    try:
        async with asyncio.timeout(patience_s):
            while (await reembedding_status(pool)).working:  # noqa: ASYNC110 - another process, which sets no event
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise StorageUnavailableError(
            f"another process has not stopped moving memories within {patience_s:g} s: it does when its index is "
            "built; run this again to remove what it leaves"
        ) from None
    async with alone(pool):
        await drop_indexes(pool)
        return await clear(pool, batch_rows=batch_rows)


async def _target(engine: EmbeddingEngine) -> VectorModel:
    vector = await engine.embed_async("dimensions")
    to = model_of(engine)
    if len(vector) != EMBEDDING_DIMENSIONS:
        raise EmbeddingError(
            f"{to}: expected {EMBEDDING_DIMENSIONS} dimensions, which every memory has, got {len(vector)}"
        )
    return to


async def _settled(pool: asyncpg.Pool, to: VectorModel) -> MoveReceipt | None:
    """Return a receipt where there is nothing to do."""
    status = await reembedding_status(pool)
    if status.last is not None and status.last.state == "running":
        return None
    if status.active is None:
        return MoveReceipt(moved=False, model=None, embedded=0)
    if status.active.version != to.version:
        return None
    for tenant in await tenants(pool):
        async with work_of(pool, tenant, readonly=True) as sql:
            for table in TEXTS:
                if await of_table(table, sql).any_stray():
                    return None
    return MoveReceipt(moved=False, model=status.active, embedded=0)


async def _set_total(pool: asyncpg.Pool, move: Move, on_progress: OnProgress, clock: Clock) -> int:
    to_do = await count_rows_to_embed(pool, move)
    async with work_of(pool) as sql:
        await sql.set_reembedding_total(id=move.id, to_do=to_do, now=clock())
    await _enter(pool, move, "embedding", on_progress, clock)
    return to_do


async def _enter(pool: asyncpg.Pool, move: Move, step: str, on_progress: OnProgress, clock: Clock) -> None:
    async with work_of(pool) as sql:
        progress = await note(sql, move, done=0, step=step, now=clock())
    on_progress(progress)


async def _switch(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    move: Move,
    batch_rows: int,
    on_progress: OnProgress,
    clock: Clock,
) -> None:
    for attempt in range(SWITCHES):
        missed = await count_missed(pool)
        if missed > most_while_held(attempt):
            await fill(
                pool,
                engine,
                move,
                batch_rows=batch_rows,
                most=missed,
                missed_only=True,
                on_progress=on_progress,
                clock=clock,
            )
        if await try_switch(pool, engine, move, most=most_while_held(attempt), now=clock()):
            _log.info("memories are of %s now", move.to)
            return
        await asyncio.sleep(SWITCH_PAUSE_S)
    raise StorageUnavailableError(
        f"the tables of memories stayed in use through {SWITCHES} attempts to switch: end the transactions that "
        "pg_stat_activity shows as idle or long, and run this again, which goes on from here"
    )
