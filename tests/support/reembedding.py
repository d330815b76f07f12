"""Engines of other models, for moves from one to another."""

import asyncio
from collections.abc import Sequence

import numpy as np

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions

TURNED_BY = 7


class TurnedEngine(EmbeddingEngine):
    """The fake with its numbers moved on: like with like is as near as before, and nothing is near the fake's own."""

    def __init__(self, version: str = "2") -> None:
        super().__init__(EmbeddingOptions(backend=BackendName.FAKE))
        self._version = version
        self.texts = 0
        """How many were embedded."""

    @property
    def model_name(self) -> str:
        """Another than the fake's."""
        return "turned"

    @property
    def model_version(self) -> str:
        """As it was created with."""
        return self._version

    async def embed_async(self, text: str | None) -> list[float]:
        """Return a turned vector."""
        (vector,) = await self.embed_batch_async([text])
        return vector

    async def embed_query_async(self, text: str | None) -> list[float]:
        """Return a turned vector."""
        return await self.embed_async(text)

    async def embed_batch_async(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return turned vectors."""
        self.texts += len(texts)
        return np.roll(self.embed_array(texts), TURNED_BY, axis=1).tolist()


class GatedEngine(TurnedEngine):
    """Waits before each batch until it may go on; says when it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = asyncio.Event()
        self.may_go = asyncio.Event()

    async def embed_batch_async(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Wait, then embed; the first text, which tells the dimensions, does not wait."""
        if list(texts) != ["dimensions"]:
            self.waits.set()
            await self.may_go.wait()
        return await super().embed_batch_async(texts)
