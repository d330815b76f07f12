"""A model that is open before a process forks, so that its forks embed a few texts without opening the model.

The threads of an ONNX Runtime session do not exist in a fork, and the first run would wait for them for ever. A session
with one thread has no threads of its own: it computes in the thread that calls it, in a fork as well.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from commonplace.core.errors import EmbeddingError
from commonplace.embedding.backend import (
    BackendName,
    EmbeddingBackend,
    EmbeddingOptions,
    keep_for_forks,
    load_backend,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW: Final = 64
"""The maximum number of texts that one thread embeds. More texts are worth opening the model with all threads."""

_log = logging.getLogger(__name__)


def prepare_model(options: EmbeddingOptions) -> bool:
    """Open a model for the forks of this process, and return whether it is open.

    It is not opened if its graph is not built yet or cannot be used.
    """
    is_built = options.cache_dir is not None and any(options.cache_dir.glob("graphs/*.onnx"))
    if options.backend is not BackendName.ONNX or not is_built or options.threads is not None:
        return False
    try:
        alone = load_backend(replace(options, threads=1))
        alone.encode(["ready"])
        alone.encode_queries(["ready"])
    except EmbeddingError as error:
        _log.warning("the embedding model is not prepared for commands: %s", error)
        return False
    keep_for_forks(options, _PreparedBackend(alone, options))
    return True


class _PreparedBackend:
    """A backend with one thread for a few texts, and a backend with more threads, opened for more texts.

    Args:
        alone: The backend with one thread.
        options: The options of the other backend.
    """

    def __init__(self, alone: EmbeddingBackend, options: EmbeddingOptions) -> None:
        self._alone = alone
        self._options = options
        self._opening = threading.Lock()
        self._together: EmbeddingBackend | None = None
        self.model_name = alone.model_name
        self.model_version = alone.model_version

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the vectors of texts; see :meth:`EmbeddingBackend.encode`."""
        return self._backend_for(texts).encode(texts)

    def encode_queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the vectors of queries; see :meth:`EmbeddingBackend.encode_queries`."""
        return self._backend_for(texts).encode_queries(texts)

    def _backend_for(self, texts: Sequence[str]) -> EmbeddingBackend:
        if len(texts) <= FEW:
            return self._alone
        with self._opening:
            if self._together is None:
                self._together = load_backend(self._options, prepared=False)
            return self._together
