"""The backend for environments with torch: sentence-transformers, with the same vectors (the extra ``torch``)."""

# The extra is not installed in the environment in which types are checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.backend import EMBEDDING_DIMENSIONS, EmbeddingOptions
from commonplace.embedding.model_files import find_model
from commonplace.embedding.tokens import TokenCutter


def load(options: EmbeddingOptions) -> "TorchBackend":
    """Find the model, and load it for the processor.

    Raises:
        ModelMissingError: The weights are not found.
        ModelDamagedError: The weights, the configuration or the tokenizer cannot be used.
    """
    files = find_model(options)
    try:
        model = SentenceTransformer(str(files.directory), device="cpu")
    except Exception as error:  # The libraries' errors share no base class except Exception.
        raise ModelDamagedError(f"{files.directory} cannot be loaded: {error}") from error
    # The method that returns the dimensions has another name in some releases; measuring a vector always works.
    (found,) = model.encode(" ", show_progress_bar=False).shape
    if found != EMBEDDING_DIMENSIONS:
        raise ModelDamagedError(f"{files.name}: expected {EMBEDDING_DIMENSIONS} dimensions, got {found}")
    tokens = TokenCutter(files.tokenizer, max_tokens=model.max_seq_length)
    return TorchBackend(model=model, tokens=tokens, model_name=files.name, model_version=files.version())


class TorchBackend:
    """A sentence-transformers model."""

    def __init__(self, *, model: Any, tokens: TokenCutter, model_name: str, model_version: str) -> None:  # noqa: ANN401  its type is of the extra
        self._model = model
        self._tokens = tokens
        self.model_name = model_name
        self.model_version = model_version

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, shape ``(len(texts), 384)``, in the order of the texts."""
        if not texts:
            return np.empty((0, EMBEDDING_DIMENSIONS), dtype=np.float32)
        heads = [self._tokens.head(text) for text in texts]
        vectors: NDArray[np.float32] = self._model.encode(
            heads, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return vectors

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, computed like those of any text."""
        return self.encode(texts)
