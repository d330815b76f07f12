"""Embedding of text with all-MiniLM-L6-v2: 384 dimensions, length 1, on ONNX Runtime without torch (KNW-10).

Importing this package is cheap. The numerical libraries are imported, and the weights read, when an engine embeds its
first text.
"""

from commonplace.embedding.backend import (
    DEFAULT_MODEL,
    EMBEDDING_DIMENSIONS,
    BackendName,
    EmbeddingBackend,
    EmbeddingOptions,
    Weights,
)
from commonplace.embedding.engine import EmbeddingEngine, get_embedding_engine
from commonplace.embedding.prepared_model import prepare_model

__all__ = [
    "DEFAULT_MODEL",
    "EMBEDDING_DIMENSIONS",
    "BackendName",
    "EmbeddingBackend",
    "EmbeddingEngine",
    "EmbeddingOptions",
    "Weights",
    "get_embedding_engine",
    "prepare_model",
]
