"""The embedding engine: one per process, loaded at first use, safe for threads and the event loop."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text
from commonplace.embedding.backend import (
    EMBEDDING_DIMENSIONS,
    EmbeddingBackend,
    EmbeddingOptions,
    Weights,
    load_backend,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

DEFAULT_OPTIONS: Final = EmbeddingOptions()

MOST_TOGETHER: Final = 8
"""The maximum number of single texts in one run of the network.

Source: 8 queries together take 0.45 of the processor time of 8 runs; 16 together take no less per query.
"""


class EmbeddingEngine:
    """An engine that turns texts into vectors of 384 floats and length 1.

    The first use loads the model. ``None`` and empty texts are embedded as a single space. NUL, lone surrogates and
    text beyond the model's 256 tokens are ignored.

    The plain methods compute in the calling thread, and many threads may call them. The ``_async`` methods compute on
    one thread of the engine and leave the event loop free. Single texts that wait for that thread are computed
    together.

    Source: KNW-10.
    """

    def __init__(self, options: EmbeddingOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._backend: EmbeddingBackend | None = None
        self._loading = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        # A separate lock, because the event loop takes it and must not wait while a model loads.
        self._submitting = threading.Lock()
        self._texts = _Waiting(self.embed_batch)
        has_own_weights = options.queries is not Weights.FLOAT32
        self._queries = _Waiting(self._embed_queries) if has_own_weights else self._texts

    @property
    def options(self) -> EmbeddingOptions:
        """The options of this engine."""
        return self._options

    @property
    def dimensions(self) -> int:
        """The dimensions of every vector: 384."""
        return EMBEDDING_DIMENSIONS

    @property
    def model_name(self) -> str:
        """The name of the model, as stored beside each vector. Loads the model if it is not loaded."""
        return self._loaded().model_name

    @property
    def model_version(self) -> str:
        """A short hash of the weights, as stored beside each vector. Loads the model if it is not loaded."""
        return self._loaded().model_version

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of one text.

        Raises:
            ModelMissingError: The weights are not found.
            ModelDamagedError: The weights or the tokenizer cannot be used.
        """
        vector: list[float] = self.embed_array([text])[0].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text, in the order of the texts; an empty list for no texts.

        Raises:
            InvalidInputError: A single string was passed instead of a list.
            ModelMissingError: The weights are not found.
            ModelDamagedError: The weights or the tokenizer cannot be used.
        """
        if not texts:
            return []
        vectors: list[list[float]] = self.embed_array(texts).tolist()
        return vectors

    def embed_array(self, texts: Sequence[str | None]) -> "NDArray[np.float32]":
        """Return the vectors of the texts as one float32 array of shape ``(len(texts), 384)``.

        Raises:
            InvalidInputError: A single string was passed instead of a list.
            ModelMissingError: The weights are not found.
            ModelDamagedError: The weights or the tokenizer cannot be used.
        """
        if isinstance(texts, str):
            raise InvalidInputError("texts", "a list of texts", texts)
        return self._loaded().encode(_cleaned(texts))

    async def embed_async(self, text: str | None) -> list[float]:
        """Return the vector of one text, computed off the event loop; see :meth:`embed`."""
        return await self._embed_single(text, self._texts)

    async def embed_query_async(self, text: str | None) -> list[float]:
        """Return the vector of a query, computed off the event loop with :attr:`EmbeddingOptions.queries`.

        Raises:
            ModelMissingError: The weights are not found.
            ModelDamagedError: The weights or the tokenizer cannot be used.
        """
        return await self._embed_single(text, self._queries)

    async def embed_batch_async(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text, computed off the event loop; see :meth:`embed_batch`."""
        return await asyncio.wrap_future(self._submit(self.embed_batch, texts))

    def close(self) -> None:
        """Finish running calls, then release the thread and the model. The next use loads the model again."""
        with self._submitting:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()
        with self._loading:
            self._backend = None

    def _loaded(self) -> EmbeddingBackend:
        # Read without the lock, so that threads do not queue once the model is loaded.
        backend = self._backend
        if backend is not None:
            return backend
        with self._loading:
            if self._backend is None:
                began_s = time.perf_counter()
                self._backend = load_backend(self._options)
                _log.info(
                    "loaded embedding model %s, version %s, on %s in %.2f s",
                    self._backend.model_name,
                    self._backend.model_version,
                    self._options.backend,
                    time.perf_counter() - began_s,
                )
            return self._backend

    def _submit(self, function: Callable[..., _T], *arguments: object) -> Future[_T]:
        with self._submitting:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="commonplace-embedding")
            return self._executor.submit(function, *arguments)

    async def _embed_single(self, text: str | None, waiting: "_Waiting") -> list[float]:
        future = waiting.add(text)
        self._submit(waiting.embed_some)
        return await asyncio.wrap_future(future)

    def _embed_queries(self, texts: Sequence[str | None]) -> list[list[float]]:
        vectors: list[list[float]] = self._loaded().encode_queries(_cleaned(texts)).tolist()
        return vectors


class _Waiting:
    """Single texts that wait for the thread of an engine, to be embedded together.

    Args:
        embed: Returns one vector per text.
    """

    def __init__(self, embed: Callable[[Sequence[str | None]], list[list[float]]]) -> None:
        self._embed = embed
        self._waiting: deque[tuple[str | None, Future[list[float]]]] = deque()

    def add(self, text: str | None) -> Future[list[float]]:
        """Add a text, and return the future with its vector. Call :meth:`embed_some` once for each text."""
        future: Future[list[float]] = Future()
        self._waiting.append((text, future))
        return future

    def embed_some(self) -> None:
        """Embed the texts that wait, as many as one run of the network takes."""
        taken = [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]
        wanted = [each for each in taken if each[1].set_running_or_notify_cancel()]
        if wanted:
            self._settle(wanted)

    def _settle(self, asked: Sequence[tuple[str | None, Future[list[float]]]]) -> None:
        try:
            vectors = self._embed([text for text, _ in asked])
        except Exception as error:  # noqa: BLE001 - each caller gets the error of its own text
            if len(asked) == 1:
                asked[0][1].set_exception(error)
                return
            for each in asked:
                self._settle([each])
        else:
            for (_, future), vector in zip(asked, vectors, strict=True):
                future.set_result(vector)


def _cleaned(texts: Sequence[str | None]) -> list[str]:
    return [clean_text(text or "") or " " for text in texts]


_creating = threading.Lock()
_engine: EmbeddingEngine | None = None


def get_embedding_engine(options: EmbeddingOptions | None = None) -> EmbeddingEngine:
    """Return the engine that the process shares; the first call creates it.

    Args:
        options: The options of the first call. A later call with other options logs a warning and ignores them.

    Source: KNW-10.3.
    """
    global _engine  # noqa: PLW0603  the specification asks for a singleton of the module
    with _creating:
        if _engine is None:
            _engine = EmbeddingEngine(options or DEFAULT_OPTIONS)
        elif options is not None and options != _engine.options:
            _log.warning("the embedding engine already runs with %s; %s is ignored", _engine.options, options)
        return _engine
