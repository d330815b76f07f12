"""The methods of knowledge memory that move all memories to another embedding model."""

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.reembedding import leftovers, moves, moving
from commonplace.knowledge.reembedding.moves import BATCH_ROWS, MoveStatus, OnProgress, silent
from commonplace.knowledge.reembedding.moving import MoveReceipt
from commonplace.knowledge.session import KnowledgeSession


class ReembeddingMethods(KnowledgeSession):
    """Re-embedding of all memories of all tenants; the tenant of the memory does not matter."""

    async def reembed(
        self, engine: EmbeddingEngine, *, batch_rows: int = BATCH_ROWS, on_progress: OnProgress = silent
    ) -> MoveReceipt:
        """Move all memories to the model of an engine; see :func:`~.reembedding.moving.reembed`."""
        async with self.acting() as pool:
            return await moving.reembed(
                pool, engine, batch_rows=batch_rows, on_progress=on_progress, clock=self.clock
            )

    async def reembedding_status(self) -> MoveStatus:
        """Return the active model and the newest move; see :func:`~.reembedding.moves.reembedding_status`."""
        async with self.acting() as pool:
            return await moves.reembedding_status(pool)

    async def abort_reembedding(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """End the running move and remove its vectors; see :func:`~.reembedding.leftovers.abort_reembedding`."""
        async with self.acting() as pool:
            return await leftovers.abort_reembedding(pool, batch_rows=batch_rows, clock=self.clock)

    async def drop_former_vectors(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """Remove the former model's vectors; see :func:`~.reembedding.leftovers.drop_former_vectors`."""
        async with self.acting() as pool:
            return await leftovers.drop_former_vectors(pool, batch_rows=batch_rows)
