"""Moving all memories of all tenants to another embedding model (KNW-31.2)."""

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Final

import asyncpg

from commonplace.core.errors import EmbeddingError, StorageUnavailableError
from commonplace.embedding import EMBEDDING_DIMENSIONS, EmbeddingEngine
from commonplace.knowledge.model.inputs import require_batch_rows
from commonplace.knowledge.reembedding.backfill import clear, count_missed, count_rows_to_embed, fill
from commonplace.knowledge.reembedding.cutover import most_while_held, try_switch
from commonplace.knowledge.reembedding.indexes import build_indexes
from commonplace.knowledge.reembedding.moves import (
    BATCH_ROWS,
    MoveState,
    MoveStep,
    MoveWork,
    OnProgress,
    alone,
    reembedding_status,
    require_ownership,
    resume_or_begin,
    silent,
    tenants,
    work_of,
)
from commonplace.knowledge.reembedding.passages import make_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.table_statements import TEXTS, of_table
from commonplace.knowledge.store.vectors import VectorModel, model_of

SWITCHES: Final = 240
"""Number of attempts to switch before the operation fails with an error."""

SWITCH_PAUSE_S: Final = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReceipt:
    """The result of a move.

    Attributes:
        moved: Whether memories were moved; false if there are none, or if all already have vectors of this model.
        model: The active model; ``None`` if no memory has ever been stored.
        embedded: The number of embedded memories, including earlier attempts.
        with_passages: The number of long memories whose missing passages were made.
    """

    moved: bool
    model: VectorModel | None
    embedded: int
    with_passages: int = 0


class VectorMove:
    """The move of all memories of all tenants to another embedding model; the tenant of the session does not matter."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def run(
        self, engine: EmbeddingEngine, *, batch_rows: int = BATCH_ROWS, on_progress: OnProgress = silent
    ) -> MoveReceipt:
        """Move every memory of every tenant to an engine's model; memories can be stored and searched meanwhile."""
        require_batch_rows(batch_rows)
        to = await _target(engine)
        async with self._session.owning() as pool:
            await require_ownership(pool)
            async with alone(pool):
                if settled := await _settled(pool, to):
                    return replace(settled, with_passages=await _make_passages(pool, engine))
                work = MoveWork(
                    pool=pool,
                    engine=engine,
                    move=await resume_or_begin(pool, to, EMBEDDING_DIMENSIONS, self._session.clock()),
                    batch_rows=batch_rows,
                    on_progress=on_progress,
                    clock=self._session.clock,
                )
                # Removes a third model's vectors; from here on, unused vectors belong to this model.
                await clear(pool, batch_rows=batch_rows, but_of=to.version)
                to_do = await count_rows_to_embed(pool, work.move)
                async with work_of(pool) as sql:
                    await sql.set_reembedding_total(id=work.move.id, to_do=to_do, now=self._session.clock())
                await work.enter(MoveStep.EMBEDDING)
                await fill(work, most=to_do, missed_only=False)
                await work.enter(MoveStep.INDEXING)
                await build_indexes(pool)
                await work.enter(MoveStep.SWITCHING)
                await _switch(work)
                last = (await reembedding_status(pool)).last
                with_passages = await _make_passages(pool, engine)
            count = 0 if last is None else last.done
            return MoveReceipt(moved=True, model=to, embedded=count, with_passages=with_passages)


async def _make_passages(pool: asyncpg.Pool, engine: EmbeddingEngine) -> int:
    """Make the missing passages of all tenants; return the number of their memories."""
    return sum([await make_passages(pool, engine, tenant) for tenant in await tenants(pool)])


async def _target(engine: EmbeddingEngine) -> VectorModel:
    vector = await engine.embed_async("dimensions")
    to = model_of(engine)
    if len(vector) != EMBEDDING_DIMENSIONS:
        raise EmbeddingError(
            f"{to}: expected {EMBEDDING_DIMENSIONS} dimensions, as every memory has, got {len(vector)}"
        )
    return to


async def _settled(pool: asyncpg.Pool, to: VectorModel) -> MoveReceipt | None:
    """Return a receipt if there is nothing to do."""
    status = await reembedding_status(pool)
    if status.last is not None and status.last.state is MoveState.RUNNING:
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


async def _switch(work: MoveWork) -> None:
    for attempt in range(SWITCHES):
        most = most_while_held(attempt)
        missed = await count_missed(work.pool)
        if missed > most:
            await fill(work, most=missed, missed_only=True)
        if await try_switch(work, most=most, now=work.clock()):
            _log.info("the active embedding model is now %s", work.move.to)
            return
        await asyncio.sleep(SWITCH_PAUSE_S)
    raise StorageUnavailableError(
        f"the tables of memories stayed in use during {SWITCHES} attempts to switch: end the transactions that "
        "pg_stat_activity shows as idle or long, then run the command again to resume"
    )
