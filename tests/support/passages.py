"""Long texts with one sentence about something else, and an engine that reads no more than a model does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.rules.passages import LONG

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEEDLE = "The ginger kitten sleeps in the attic."
QUESTION = "Where does the feline doze?"
SYNONYMS = {"kitten": "feline", "sleeps": "doze", "attic": "where"}
"""The engine reads these words as those of the question, and gives them more weight than others."""

WEIGHT = 20


class ShortSightedEngine(EmbeddingEngine):
    """The fake, which reads the first characters of a text, and some words as their synonyms.

    Each version is another model: its vectors are not near those of the others.
    """

    def __init__(self, version: int = 1) -> None:
        super().__init__(EmbeddingOptions(backend=BackendName.FAKE))
        self._version = version

    @property
    def model_version(self) -> str:
        """The version as text."""
        return str(self._version)

    def embed_array(self, texts: Sequence[str | None]) -> "NDArray[np.float32]":
        """Embed the part of each text that the engine reads."""
        return np.roll(super().embed_array([_read(text or "") for text in texts]), self._version - 1, axis=1)

    async def embed_query_async(self, text: str | None) -> list[float]:
        """Embed a query like any text."""
        return await self.embed_async(text)


def _read(text: str) -> str:
    text = text[:LONG]
    for word, synonym in SYNONYMS.items():
        text = text.replace(word, f"{synonym} " * WEIGHT)
    return text


def long_text(needle: str = NEEDLE, *, before: int = 60, after: int = 2, about: str = "ledger") -> str:
    """Return sentences with a sentence among them: 60 sentences have about 3,000 characters."""
    sentences = [
        f"Clerk {number} checked page {number * 7} of every {about}." for number in range(before + after)
    ]
    return " ".join([*sentences[:before], needle, *sentences[before:]])
