"""Vectors of texts that come from other databases."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from commonplace.embedding import EmbeddingEngine
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
