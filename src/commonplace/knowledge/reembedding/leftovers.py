"""Removal of unused vectors, after an aborted move or of the former model."""

import asyncio
from typing import Final

import asyncpg

from commonplace.core.errors import ConflictError, StorageUnavailableError
from commonplace.knowledge.model.inputs import require_batch_rows
from commonplace.knowledge.reembedding.backfill import clear
from commonplace.knowledge.reembedding.indexes import drop_indexes
from commonplace.knowledge.reembedding.moves import (
    BATCH_ROWS,
    Move,
    MoveState,
    MoveStatus,
    alone,
    reembedding_status,
    require_ownership,
    work_of,
)
from commonplace.knowledge.store.session import KnowledgeSession

PATIENCE_S: Final = 30.0
"""Seconds to wait for another process that moves memories."""

POLL_S: Final = 0.1


class VectorLeftovers:
    """The state of a move, its abortion, and the vectors that are not in use."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def status(self) -> MoveStatus:
        """Return the active model and the newest move."""
        async with self._session.acting() as pool:
            return await reembedding_status(pool)

    async def abort(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """End the running move and remove its vectors; if this is interrupted, call it again."""
        async with self._session.owning() as pool:
            last = await _last_move(pool, batch_rows)
            if last is None or last.state is MoveState.SWITCHED:
                state = "no move was begun" if last is None else f"the move to {last.to} has switched"
                raise ConflictError(
                    "abort", f"No move is running, because {state}; there is nothing to abort.", state
                )
            async with work_of(pool) as sql:
                await sql.abort_reembedding(now=self._session.clock())
            return await _remove_unused(pool, batch_rows)

    async def drop_former_vectors(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """Remove the former model's vectors, which would make going back fast."""
        async with self._session.owning() as pool:
            last = await _last_move(pool, batch_rows)
            if last is not None and last.state is MoveState.RUNNING:
                message = f"A move to {last.to} is running. Finish it, or end it with --abort."
                raise ConflictError("drop-former", message, str(last.to))
            return await _remove_unused(pool, batch_rows)


async def _last_move(pool: asyncpg.Pool, batch_rows: int) -> Move | None:
    require_batch_rows(batch_rows)
    await require_ownership(pool)
    return (await reembedding_status(pool)).last


async def _remove_unused(pool: asyncpg.Pool, batch_rows: int) -> int:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (await reembedding_status(pool)).working:  # noqa: ASYNC110 - another process, which sets no event
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise StorageUnavailableError(
            f"another process is still moving memories after {PATIENCE_S:g} s and stops when its index is built: "
            "then run the command again to remove its vectors"
        ) from None
    async with alone(pool):
        await drop_indexes(pool)
        return await clear(pool, batch_rows=batch_rows)
