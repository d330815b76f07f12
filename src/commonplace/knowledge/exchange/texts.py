"""Vectors of texts that come from other databases."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.exchange.fields import Fields
from commonplace.knowledge.exchange.kinds import TEXT_KINDS, ExchangeKind
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.vectors import EmbeddedText, Embeddings, embed_memories


@dataclass(frozen=True, slots=True)
class Text:
    """The vector of a text that is new here, or nothing if the text is known."""

    embeddings: Embeddings | None = None

    @classmethod
    async def of(cls, engine: EmbeddingEngine, text: EmbeddedText) -> "Text":
        """Return the vector of a text.

        Raises:
            EmbeddingError: The model cannot be found or used.
        """
        return cls(await embed_memories(engine, [text]))

    @property
    def columns(self) -> dict[str, Any]:
        """The parameters of a statement that writes the text."""
        if self.embeddings is None:
            return {"embedding": None, "model": None, "version": None}
        return {
            "embedding": self.embeddings.vectors[0],
            "model": self.embeddings.model,
            "version": self.embeddings.version,
        }

    async def store_passages(self, sql: KnowledgeStatements, kind: MemoryType, key: UUID) -> None:
        """Store the passages of a long text in the transaction that writes the text."""
        if self.embeddings is not None:
            await store_passages(sql, kind, [key], self.embeddings)


KNOWN: Final = Text()
"""A text that has not changed."""


def embedded_text(kind: ExchangeKind, fields: Fields) -> EmbeddedText | None:
    """Return the text of a row from which its vector is computed; ``None`` if searches do not find the row."""
    if kind is ExchangeKind.FACT:
        return EmbeddedText(content=fields["content"], heading=f"{fields['subject']} {fields['predicate']} ")
    return EmbeddedText(content=fields["content"]) if kind in TEXT_KINDS else None


class PreparedTexts:
    """Vectors of texts that are about to be written, computed together.

    Args:
        engine: Computes them.
    """

    def __init__(self, engine: EmbeddingEngine) -> None:
        self._engine = engine
        self._ready: dict[EmbeddedText, Text] = {}

    async def prepare(self, rows: Iterable[tuple[ExchangeKind, Fields]]) -> None:
        """Compute the vectors of rows that are written next; those of rows before are forgotten.

        Raises:
            EmbeddingError: The model cannot be found or used.
        """
        texts = list(dict.fromkeys(filter(None, (embedded_text(kind, fields) for kind, fields in rows))))
        self._ready = {}
        if texts:
            vectors = await embed_memories(self._engine, texts)
            self._ready = {text: Text(vectors.only(place)) for place, text in enumerate(texts)}

    async def of(self, text: EmbeddedText) -> Text:
        """Return the vector of a text, which is computed now if it was not prepared.

        Raises:
            EmbeddingError: The model cannot be found or used.
        """
        return self._ready.get(text) or await Text.of(self._engine, text)
