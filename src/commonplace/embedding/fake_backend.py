"""A fake model for tests: vectors made from the words of a text, close to each other for texts that share words.

The vectors are the same on every machine, and need no weights and no native library except numpy.
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commonplace.embedding.backend import EMBEDDING_DIMENSIONS, EmbeddingOptions

_WORD = re.compile(r"\w+")


def load(options: EmbeddingOptions) -> "FakeBackend":  # noqa: ARG001  every backend module has this function
    """Return the fake backend."""
    return FakeBackend()


class FakeBackend:
    """A backend that sums a pseudo-random direction per word: the cosine of two texts is about their share of words.

    Case and punctuation are ignored; repeated words count. Texts without a common word are nearly orthogonal: their
    cosine is 0 with a standard deviation of about 0.05.
    """

    model_name = "fake"
    model_version = "1"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, shape ``(len(texts), 384)``."""
        vectors = np.zeros((len(texts), EMBEDDING_DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.casefold()) or [text]:
                vectors[row] += _direction(word)
            if not vectors[row].any():
                vectors[row] = _direction(text)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, computed like those of any text."""
        return self.encode(texts)


def _direction(word: str) -> NDArray[np.float32]:
    digest = hashlib.shake_256(word.encode()).digest(EMBEDDING_DIMENSIONS // 8)
    bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))
    return bits.astype(np.float32) * 2 - 1
