"""Vectors of memories, and the model that computes them (KNW-31).

Vectors are computed before a transaction is opened. The database has one active model and refuses vectors of other
models. A model is identified by its version, a hash of the weights, because its name may be a directory.
"""

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg
from pgvector import Vector

from commonplace.core.errors import ModelMismatchError
from commonplace.embedding import EmbeddingEngine

CONSTRAINT: Final = "embedding_model_active"
"""The constraint by which the database refuses a vector."""

_log = logging.getLogger(__name__)
_warned: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorModel:
    """A model that computes vectors: a name for people, and a version that identifies the model."""

    name: str
    version: str

    def __str__(self) -> str:
        """Return the name and the version for messages."""
        return f"{self.name}, version {self.version}"


def model_of(engine: EmbeddingEngine) -> VectorModel:
    """Return the model of an engine; an engine that has not embedded a text yet loads its model here."""
    return VectorModel(name=engine.model_name, version=engine.model_version)


def mismatch(ours: VectorModel, active: VectorModel) -> ModelMismatchError:
    """Return the error about memories of another model."""
    return ModelMismatchError(
        f"the vectors of the memories were made by {active}, but this process uses {ours}"
    )


def warn_of_other_model(ours: VectorModel, active: VectorModel) -> None:
    """Log that searches use only words until this process is restarted, once for each pair of models."""
    pair = (ours.version, active.version)
    if pair not in _warned:
        _warned.add(pair)
        _log.warning("searching only by words: %s", mismatch(ours, active))


@contextmanager
def refused_vectors() -> Generator[None]:
    """Translate the database's refusal of vectors of another model into a clear error.

    Raises:
        ModelMismatchError: The vectors are of another model; nothing was written.
    """
    try:
        yield
    except asyncpg.CheckViolationError as error:
        details = error.as_dict()
        if details.get("constraint_name") != CONSTRAINT:
            raise
        raise ModelMismatchError(str(details["message"])) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors in the order of their texts, with the name and version of their model."""

    vectors: list[Vector]
    model: str
    version: str

    def only(self, *places: int) -> "Embeddings":
        """Return the vectors at some places, from 0."""
        vectors = [self.vectors[place] for place in places]
        return Embeddings(vectors=vectors, model=self.model, version=self.version)


async def embed(engine: EmbeddingEngine, texts: Sequence[str]) -> Embeddings:
    """Compute the vectors of texts off the event loop.

    Raises:
        EmbeddingError: The model cannot be found or used.
    """
    vectors = await engine.embed_batch_async(texts)
    # Before its first text, an engine would load its model on this thread just to return its name.
    return Embeddings(
        vectors=[Vector(vector) for vector in vectors],
        model=engine.model_name,
        version=engine.model_version,
    )
