"""Vectors of what is stored, computed before a transaction is opened, with the model that made them (KNW-31.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pgvector import Vector

from commonplace.embedding import EmbeddingEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors in the order of their texts, and the model's name and version."""

    vectors: list[Vector]
    model: str
    version: str

    def only(self, place: int) -> "Embeddings":
        """Return those of the one text at a place, from 0."""
        return Embeddings(vectors=[self.vectors[place]], model=self.model, version=self.version)


async def embed(engine: EmbeddingEngine, texts: Sequence[str]) -> Embeddings:
    """Compute the vectors of some texts off the event loop, while no connection is held.

    Raises:
        EmbeddingError: The model cannot be found or used.
    """
    vectors = await engine.embed_batch_async(texts)
    # The engine knows its model once it has embedded something, and would load it on this thread before.
    return Embeddings(
        vectors=[Vector(vector) for vector in vectors],
        model=engine.model_name,
        version=engine.model_version,
    )
