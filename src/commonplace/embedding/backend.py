"""The port behind the engine: what turns clean texts into vectors, and how one is chosen."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from commonplace.core.errors import EmbeddingError
from commonplace.core.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
EMBEDDING_DIMENSIONS: Final = 384
"""The length of every vector; the database columns have the same. Source: KNW-10."""


class BackendName(StrEnum):
    """The backends that can be asked for; each value is a module of this package."""

    ONNX = "onnx"
    """ONNX Runtime: the default."""
    TORCH = "torch"
    """sentence-transformers: the same vectors, where torch is installed anyway. Needs the extra ``torch``."""
    FAKE = "fake"
    """Word overlap without a model: for tests of whatever embeds something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """What an engine needs to know before it loads.

    Args:
        model: A name on the hub (``organisation/name``) or a directory. It must be a BERT of 384 dimensions
            with mean pooling.
        backend: What computes the vectors.
        cache_dir: Where models are looked for and kept, and built graphs kept. ``None`` keeps nothing: the
            graph is then rebuilt in each process, which takes about half a second.
        allow_download: Whether a model that is found nowhere else may be fetched from the hub.
        threads: Threads that share one computation; ``None`` takes the processors that this process may use,
            up to 4.
    """

    model: str = DEFAULT_MODEL
    backend: BackendName = BackendName.ONNX
    cache_dir: Path | None = None
    allow_download: bool = False
    threads: int | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> "EmbeddingOptions":
        """Return what the settings ask for, with a cache in the home."""
        return cls(
            model=settings.embedding_model,
            backend=BackendName(settings.embedding_backend),
            cache_dir=settings.home / "models",
            allow_download=settings.embedding_download,
        )


class EmbeddingBackend(Protocol):
    """A loaded model. Its methods may be called from several threads at once."""

    @property
    def model_name(self) -> str:
        """The model, as stored beside each vector."""
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


class _BackendModule(Protocol):
    def load(self, options: EmbeddingOptions) -> EmbeddingBackend: ...


def load_backend(options: EmbeddingOptions) -> EmbeddingBackend:
    """Load the model of the backend that the options name. Takes tenths of a second, with torch seconds.

    This is the one place where imports are deferred: each backend pulls in libraries that cost more to import
    than the rest of the package together.

    Raises:
        ModelMissingError: No weights are found.
        ModelDamagedError: Weights or tokenizer cannot be used.
        EmbeddingError: The libraries of the backend are not installed.
    """
    try:
        module = importlib.import_module(f"commonplace.embedding.{options.backend}_backend")
    except ModuleNotFoundError as error:
        raise EmbeddingError(
            f"the embedding backend {str(options.backend)!r} needs {error.name!r}, which is not installed: "
            f"run `pip install 'commonplace[{options.backend}]'`, or use the backend 'onnx'"
        ) from error
    return cast("_BackendModule", module).load(options)
