"""Moves of knowledge memory to another embedding model."""

from typing import ClassVar

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.reembedding.leftovers import VectorLeftovers
from commonplace.knowledge.reembedding.moves import BATCH_ROWS, MoveStatus, OnProgress, silent
from commonplace.knowledge.reembedding.moving import MoveReceipt, VectorMove
from commonplace.knowledge.store.session import KnowledgeSession


class Reembedding:
    """Moves of all memories to another embedding model: ``memory.reembedding``.

    Attributes:
        BATCH_ROWS: The default number of memories per batch.
    """

    BATCH_ROWS: ClassVar[int] = BATCH_ROWS

    def __init__(self, session: KnowledgeSession) -> None:
        self._move = VectorMove(session)
        self._leftovers = VectorLeftovers(session)

    async def run(
        self, engine: EmbeddingEngine, *, batch_rows: int = BATCH_ROWS, on_progress: OnProgress = silent
    ) -> MoveReceipt:
        """Move every memory of every tenant to an engine's model; memories can be stored and searched meanwhile.

        A killed move resumes when it is run again. After the switch, processes with the former model search only by
        words and store nothing until they restart with the new model.

        Args:
            engine: The engine of the new model.
            batch_rows: Memories per batch, 1 to 5,000.
            on_progress: Called after each batch and at each step.

        Raises:
            InvalidInputError: ``batch_rows`` is out of range, or a move to a third model is running.
            EmbeddingError: The model cannot be used, or has other dimensions.
            MoveEndedError: The move was aborted.
            StorageUnavailableError: The server cannot be reached, another role owns the tables, another process moves
                memories, or the tables stay in use. Run the move again to resume it.

        Source: KNW-31.2.
        """
        return await self._move.run(engine, batch_rows=batch_rows, on_progress=on_progress)

    async def status(self) -> MoveStatus:
        """Return the active model and the newest move."""
        return await self._leftovers.status()

    async def abort(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """End the running move and remove its vectors; if this is interrupted, call it again.

        A process that is moving memories stops at its next batch.

        Args:
            batch_rows: Memories per batch, 1 to 5,000.

        Returns:
            The number of removed vectors.

        Raises:
            InvalidInputError: ``batch_rows`` is out of range, or no move is running: the last move has switched.
            StorageUnavailableError: The server cannot be reached, or the other process does not stop.
        """
        return await self._leftovers.abort(batch_rows=batch_rows)

    async def drop_former_vectors(self, *, batch_rows: int = BATCH_ROWS) -> int:
        """Remove the former model's vectors, which would make going back fast.

        Args:
            batch_rows: Memories per batch, 1 to 5,000.

        Returns:
            The number of removed vectors.

        Raises:
            InvalidInputError: ``batch_rows`` is out of range, or a move is running.
            StorageUnavailableError: The server cannot be reached, or another process moves memories.
        """
        return await self._leftovers.drop_former_vectors(batch_rows=batch_rows)
