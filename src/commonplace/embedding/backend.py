"""The port behind the engine: backends that turn clean texts into vectors, and their options."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from commonplace.core.errors import EmbeddingError
from commonplace.core.quoting import quoted
from commonplace.core.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
EMBEDDING_DIMENSIONS: Final = 384
"""The dimensions of every vector and of the database columns. Source: KNW-10."""


class BackendName(StrEnum):
    """The available backends; each value names a module of this package."""

    ONNX = "onnx"
    """ONNX Runtime: the default."""
    TORCH = "torch"
    """sentence-transformers: the same vectors, for environments with torch. Needs the extra ``torch``."""
    FAKE = "fake"
    """Word overlap without a model, for tests."""


class Weights(StrEnum):
    """The precision of the weights that compute a vector."""

    FLOAT32 = "float32"
    """The weights of the model."""
    INT8 = "int8"
    """The weights of the model, rounded to 8 bits. The backend ``onnx`` alone has them, for models in safetensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """The options of an engine.

    Args:
        model: A name on the hub (``organisation/name``) or a directory. It must be a BERT of 384 dimensions
            with mean pooling.
        backend: The backend that computes the vectors.
        cache_dir: The directory of models and built graphs. With ``None`` nothing is cached, and each process builds
            the graph, which takes about half a second.
        allow_download: Whether to download a model from the hub if it is nowhere else.
        threads: Threads that share one computation; ``None`` uses the processors available to this process, at most
            4.
        queries: The weights for queries; the weights of the model, if it has no others. Texts that are stored always
            get the weights of the model.
    """

    model: str = DEFAULT_MODEL
    backend: BackendName = BackendName.ONNX
    cache_dir: Path | None = None
    allow_download: bool = False
    threads: int | None = None
    queries: Weights = Weights.INT8

    @classmethod
    def from_settings(cls, settings: Settings) -> "EmbeddingOptions":
        """Return the options in the settings, with a cache in the home."""
        return cls(
            model=settings.embedding_model,
            backend=BackendName(settings.embedding_backend),
            cache_dir=settings.home / "models",
            allow_download=settings.embedding_download,
            queries=Weights(settings.embedding_queries),
        )


class EmbeddingBackend(Protocol):
    """A loaded model, safe to use from several threads at once."""

    @property
    def model_name(self) -> str:
        """The name of the model, as stored beside each vector."""
        ...

    @property
    def model_version(self) -> str:
        """A short hash of the weights: vectors of equal name and version can be compared."""
        ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one vector of length 1 per text, shape ``(len(texts), 384)``, in the order of the texts.

        The texts are clean: not empty, no NUL, no lone surrogate.
        """
        ...

    def encode_queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the vectors of queries, computed with :attr:`EmbeddingOptions.queries`; see :meth:`encode`."""
        ...


_prepared: Final[dict[EmbeddingOptions, EmbeddingBackend]] = {}


def keep_for_forks(options: EmbeddingOptions, backend: EmbeddingBackend) -> None:
    """Make :func:`load_backend` return a backend that a fork of this process can use."""
    _prepared[options] = backend


class _BackendModule(Protocol):
    def load(self, options: EmbeddingOptions) -> EmbeddingBackend: ...


def load_backend(options: EmbeddingOptions, *, prepared: bool = True) -> EmbeddingBackend:
    """Load the model that the options name. This takes tenths of a second, or seconds with torch.

    The backend is imported here, because its libraries take longer to import than the rest of the package. With
    ``prepared``, a model that was kept for forks is returned as it is.

    Raises:
        ModelMissingError: The weights are not found.
        ModelDamagedError: The weights or the tokenizer cannot be used.
        EmbeddingError: The libraries of the backend are not installed.
    """
    if prepared and options in _prepared:
        return _prepared[options]
    try:
        module = importlib.import_module(f"commonplace.embedding.{options.backend}_backend")
    except ModuleNotFoundError as error:
        raise EmbeddingError(
            f"the embedding backend {quoted(str(options.backend))} needs {quoted(error.name)}, which is not installed: "
            f"run `pip install 'commonplace[{options.backend}]'`, or use the backend 'onnx'"
        ) from error
    return cast("_BackendModule", module).load(options)
