"""Vectors of memories, and the model that computes them (KNW-31).

Vectors are computed before a transaction is opened. The database has one active model and refuses vectors of other
models. A model is identified by its version, a hash of the weights, because its name may be a directory.
"""

import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import asyncpg
from pgvector import Vector

from commonplace.core.errors import ModelMismatchError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.rules.passages import PassageSpan, passages

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
class PassageVector:
    """A passage of a long text, and its vector."""

    passage: PassageSpan
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors in the order of their texts, with the name and version of their model.

    Attributes:
        passages: The passages of each long text, by the place of the text.
    """

    vectors: list[Vector]
    model: str
    version: str
    passages: Mapping[int, Sequence[PassageVector]] = field(
        default_factory=dict[int, Sequence[PassageVector]]
    )

    def only(self, *places: int) -> "Embeddings":
        """Return the vectors at some places, from 0."""
        return replace(
            self,
            vectors=[self.vectors[place] for place in places],
            passages={new: self.passages[old] for new, old in enumerate(places) if old in self.passages},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedText:
    """The text of a memory, with the heading that stands before it when its vector is computed."""

    content: str
    heading: str = ""


LONGEST_HEADING: Final = 100
"""A longer heading would leave too little of the model's tokens to a passage."""


async def embed_memories(engine: EmbeddingEngine, texts: Sequence[EmbeddedText]) -> Embeddings:
    """Compute the vectors of memories, and those of the passages of long ones, in one call off the event loop.

    Raises:
        EmbeddingError: The model cannot be found or used.
    """
    parts = [(place, passage) for place, text in enumerate(texts) for passage in passages(text.content)]
    embeddings = await embed(
        engine,
        [
            *(f"{text.heading}{text.content}" for text in texts),
            *(_passage_text(texts[place], passage) for place, passage in parts),
        ],
    )
    by_place: dict[int, list[PassageVector]] = {}
    for (place, passage), vector in zip(parts, embeddings.vectors[len(texts) :], strict=True):
        by_place.setdefault(place, []).append(PassageVector(passage=passage, vector=vector))
    return replace(embeddings, vectors=embeddings.vectors[: len(texts)], passages=by_place)


def _passage_text(text: EmbeddedText, passage: PassageSpan) -> str:
    heading = text.heading if len(text.heading) <= LONGEST_HEADING else ""
    return f"{heading}{text.content[passage.start : passage.end]}"


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
