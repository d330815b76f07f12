"""Vectors of memories: 32-bit floats in a table, compared one by one, because a space has at most ten.

A vector is stored with its memory. A search computes vectors that are missing or come from another model.
"""

import logging
from collections.abc import Mapping, Sequence

from commonplace.apps.model.counts import Counts
from commonplace.apps.model.memories import Digest
from commonplace.apps.rules.vectors import cosine, to_bytes
from commonplace.apps.store.statements import AppStatements
from commonplace.core.errors import EmbeddingError
from commonplace.embedding import EmbeddingEngine
from commonplace.storage.store import Store

log = logging.getLogger(__name__)


class Vectors:
    """Computes and stores the vectors of memories; if the engine does not work, memories have no vectors."""

    def __init__(self, store: Store[AppStatements], engine: EmbeddingEngine, counts: Counts) -> None:
        self._store = store
        self._engine = engine
        self._counts = counts

    async def compute(self, text: str) -> bytes | None:
        """Return the vector of a text in its stored form; ``None``, with a log entry, if the engine does not work."""
        try:
            return to_bytes(await self._engine.embed_async(text))
        except EmbeddingError as error:
            self._counts.fallbacks["embedding"] += 1
            log.warning("a memory has no vector until the next search by meaning: %s", error)
            return None

    async def keep(self, sql: AppStatements, memory: Digest, vector: bytes | None) -> None:
        """Store the vector of a memory, in the transaction that writes it."""
        if vector is not None:
            await sql.put_vector(memory_id=memory.id, model=self._model(), vector=vector)

    async def likeness(self, query: str, app_id: str, memories: Sequence[Digest]) -> Mapping[int, float]:
        """Return the cosine of a query with each memory, by memory id.

        Raises:
            EmbeddingError: The engine does not work.
        """
        if not memories:
            return {}
        wanted = to_bytes(await self._engine.embed_async(query))
        rows = await self._store.reads.vectors_of(app_id=app_id, model=self._model())
        known: dict[int, bytes] = {row["memory_id"]: bytes(row["vector"]) for row in rows}
        missing = [memory for memory in memories if memory.id not in known]
        if missing:
            computed = await self._engine.embed_batch_async([memory.content for memory in missing])
            fresh = {one.id: to_bytes(vector) for one, vector in zip(missing, computed, strict=True)}
            await self._keep_missing(missing, fresh)
            known |= fresh
        return {memory.id: cosine(wanted, known[memory.id]) for memory in memories}

    async def _keep_missing(self, memories: Sequence[Digest], vectors: Mapping[int, bytes]) -> None:
        async with self._store.writing() as sql:
            for memory in memories:
                row = await sql.get_memory(id=memory.id)
                if row is not None and row["content"] == memory.content:
                    await self.keep(sql, memory, vectors[memory.id])

    def _model(self) -> str:
        return f"{self._engine.model_name}@{self._engine.model_version}"
