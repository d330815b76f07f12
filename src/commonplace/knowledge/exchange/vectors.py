"""Vectors of texts that come from other databases: taken over if they are of the model here, and computed if not.

A vector travels as ``{"version": …, "values": …}``: the version of its model, and its numbers in 16 bits each, in
Base64. That is half of what the database holds; the likeness of two texts then differs by less than 0.001. The passages
of a long text do not travel.
"""

import asyncio
import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import numpy as np
from pgvector import Vector

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.exchange.fields import Fields
from commonplace.knowledge.exchange.kinds import TEXT_KINDS, ExchangeKind
from commonplace.knowledge.exchange.writes import RowWrite
from commonplace.knowledge.rules.passages import passages
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.vectors import (
    EmbeddedText,
    Embeddings,
    PassageVector,
    VectorModel,
    embed_memories,
    model_of,
)
from commonplace.storage.database import Columns

_HALF: Final = np.dtype("<f2")


def packed_vector(row: Columns) -> Fields:
    """Return the vector of a row in the form in which it travels."""
    values = np.asarray(row["embedding"].to_numpy(), dtype=_HALF).tobytes()
    return {"version": row["version"], "values": b64encode(values).decode()}


def unpacked_vector(packed: Fields, *, version: str, dimensions: int) -> Vector | None:
    """Return a vector that travelled; ``None`` if it is of another model or is none."""
    if packed.get("version") != version:
        return None
    try:
        values = np.frombuffer(b64decode(packed["values"], validate=True), dtype=_HALF).astype(np.float32)
    except (binascii.Error, KeyError, TypeError, ValueError):
        return None
    return Vector(values) if values.shape == (dimensions,) and np.isfinite(values).all() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVectors:
    """The vectors of the texts of a page that are new here, by the names of their rows."""

    model: VectorModel | None = None
    vectors: Mapping[str, Vector] = field(default_factory=dict[str, Vector])
    passages: Mapping[str, Sequence[PassageVector]] = field(
        default_factory=dict[str, Sequence[PassageVector]]
    )

    def parameters(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the parameters of a statement that writes rows: a vector for each name, or nothing if it is known."""
        return {
            "embedding": [self.vectors.get(name) for name in names],
            "model": None if self.model is None else self.model.name,
            "version": None if self.model is None else self.model.version,
        }

    async def store_passages(
        self, sql: KnowledgeStatements, kind: ExchangeKind, names: Sequence[str]
    ) -> None:
        """Store the passages of long texts in the transaction that writes the texts."""
        long = [name for name in names if name in self.passages]
        if long and self.model is not None:
            embeddings = Embeddings(
                vectors=[self.vectors[name] for name in long],
                model=self.model.name,
                version=self.model.version,
                passages={place: self.passages[name] for place, name in enumerate(long)},
            )
            await store_passages(sql, TEXT_KINDS[kind], [UUID(name) for name in long], embeddings)


async def page_vectors(engine: EmbeddingEngine, page: Sequence[RowWrite]) -> PageVectors:
    """Return the vectors of texts that are not known here, computed together where none of this model travelled.

    Raises:
        EmbeddingError: The model cannot be found or used.
    """
    texts = {each.name: text for each in page if (text := _new_text(each)) is not None}
    if not texts:
        return PageVectors()
    model = await asyncio.to_thread(model_of, engine)
    vectors = {
        each.name: vector
        for each in page
        if each.name in texts and each.vector is not None and not passages(texts[each.name].content)
        if (vector := unpacked_vector(each.vector, version=model.version, dimensions=engine.dimensions))
        is not None
    }
    names = [name for name in texts if name not in vectors]
    if not names:
        return PageVectors(model=model, vectors=vectors)
    embeddings = await embed_memories(engine, [texts[name] for name in names])
    return PageVectors(
        model=model,
        vectors={**vectors, **dict(zip(names, embeddings.vectors, strict=True))},
        passages={names[place]: each for place, each in embeddings.passages.items()},
    )


def _new_text(write: RowWrite) -> EmbeddedText | None:
    """Return the text of a row if its vector is not known here."""
    text = None if write.fields is None else embedded_text(write.kind, write.fields)
    if text is None or (write.seen is not None and text == embedded_text(write.kind, write.seen)):
        return None
    return text


def embedded_text(kind: ExchangeKind, fields: Fields) -> EmbeddedText | None:
    """Return the text of a row from which its vector is computed; ``None`` if searches do not find the row."""
    if kind is ExchangeKind.FACT:
        return EmbeddedText(content=fields["content"], heading=f"{fields['subject']} {fields['predicate']} ")
    return EmbeddedText(content=fields["content"]) if kind in TEXT_KINDS else None
