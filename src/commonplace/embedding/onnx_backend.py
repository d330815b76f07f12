"""The default backend: ONNX Runtime on the processor."""

# onnxruntime ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.backend import EMBEDDING_DIMENSIONS, EmbeddingOptions, Weights
from commonplace.embedding.graph_cache import cached_graph
from commonplace.embedding.model_files import SAFETENSORS, ModelFiles, find_model
from commonplace.embedding.onnx_graph import ATTENTION_MASK, GRAPH_REVISION, INPUT_IDS, build_graph
from commonplace.embedding.quiet_runtime import onnxruntime
from commonplace.embedding.tokens import TokenCutter

_Config = TypeVar("_Config", bound=BaseModel)
_log = logging.getLogger(__name__)

CHUNK_TEXTS: Final = 32
CHUNK_CHARS: Final = 4_096
"""The maximum number of texts, and of characters with padding, in one run of the network.

Source: 32 texts of 19 to 152 words take half the time of a single run; texts of equal length take as long either way
(benchmarks/embedding.py, two cores).
"""

MAX_THREADS: Final = 4
"""On a larger machine, the other processors remain for the database and the agents."""

_READ_CHARS: Final = 1_024
"""The approximate number of English characters that the network reads of one text."""

_SEGMENT_IDS: Final = "token_type_ids"
"""An input of graphs from the hub; graphs built here do not need it."""

SPINNING: Final = {
    "session.intra_op.allow_spinning": "1",
    "session.intra_op.spin_duration_us": "10",
    "session.force_spinning_stop": "1",
}
"""Threads spin 10 µs for each other before they sleep. Waking a thread takes longer, and a run has about sixty such
waits; longer spinning takes processor time from the database. Old releases ignore the duration and spin in each run.

Source: ADR 0010, Speed.
"""

_RUNTIME_ERRORS_ONLY: Final = 3


class _SequenceConfig(BaseModel):
    """``sentence_bert_config.json``."""

    max_seq_length: int = Field(default=256, gt=2)


class _PoolingConfig(BaseModel):
    """``1_Pooling/config.json``."""

    pooling_mode_mean_tokens: bool = True


def load(options: EmbeddingOptions) -> "OnnxBackend":
    """Find the model; the first text and the first query open the weights that they need.

    A model that is a ready graph has no other weights for queries than its own.

    Raises:
        ModelMissingError: The weights are not found.
        ModelDamagedError: The configuration or the tokenizer cannot be used.
    """
    files = find_model(options)
    if not _read(files.directory / "1_Pooling" / "config.json", _PoolingConfig).pooling_mode_mean_tokens:
        raise ModelDamagedError(f"{files.name} does not pool its tokens by their mean")
    max_tokens = _read(files.directory / "sentence_bert_config.json", _SequenceConfig).max_seq_length
    tokens = TokenCutter(files.tokenizer, max_tokens=max_tokens)
    version = files.version()
    return OnnxBackend(
        open_session=partial(_open_session, files, version, options),
        queries=options.queries if files.weights.name == SAFETENSORS else Weights.FLOAT32,
        tokens=tokens,
        model_name=files.name,
        model_version=version,
    )


class OnnxBackend:
    """The tokenizer, and a session for each kind of weights that was used so far.

    A process that only searches never opens the weights for texts, which take more memory and time to open.
    """

    def __init__(
        self,
        *,
        open_session: Callable[[Weights], onnxruntime.InferenceSession],
        queries: Weights,
        tokens: TokenCutter,
        model_name: str,
        model_version: str,
    ) -> None:
        self._open_session = open_session
        self._opening = threading.Lock()
        self._sessions: dict[Weights, onnxruntime.InferenceSession] = {}
        self._queries = queries
        self._tokens = tokens
        self.model_name = model_name
        self.model_version = model_version

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, shape ``(len(texts), 384)``, in the order of the texts.

        A vector depends on the other texts of the batch by at most 1e-6.

        Raises:
            ModelDamagedError: The weights cannot be used.
        """
        return self._encode(self._session(Weights.FLOAT32), texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, computed with the weights for queries; see :meth:`encode`."""
        return self._encode(self._session(self._queries), texts)

    def _session(self, weights: Weights) -> onnxruntime.InferenceSession:
        # Read without the lock, so that threads do not queue once the session is open.
        session = self._sessions.get(weights)
        if session is not None:
            return session
        with self._opening:
            if weights not in self._sessions:
                self._sessions[weights] = self._open_session(weights)
            return self._sessions[weights]

    def _encode(self, session: onnxruntime.InferenceSession, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), EMBEDDING_DIMENSIONS), dtype=np.float32)
        for rows in chunk_rows([len(text) for text in texts]):
            vectors[rows] = self._encode_chunk(session, [texts[row] for row in rows])
        return vectors

    def _encode_chunk(self, session: onnxruntime.InferenceSession, texts: list[str]) -> NDArray[np.float32]:
        encodings = self._tokens.encode(texts)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        inputs = {INPUT_IDS: ids, ATTENTION_MASK: mask}
        if _SEGMENT_IDS in {node.name for node in session.get_inputs()}:
            inputs[_SEGMENT_IDS] = np.zeros_like(ids)
        hidden: Any = session.run(None, inputs)[0]
        # A mean divides each sum by its number of tokens; scaling to length 1 removes that factor.
        sums: NDArray[np.float32] = np.matmul(mask[:, None, :].astype(np.float32), hidden)[:, 0]
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def chunk_rows(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group texts of similar length, shortest first, so that runs have little padding and use little memory.

    Args:
        lengths: The number of characters of each text; only the part that the network reads counts.

    Returns:
        The indexes of the texts in groups of at most ``CHUNK_TEXTS`` texts and, padded to the longest text,
        ``CHUNK_CHARS`` characters. Texts of equal length keep their order.
    """
    chunk: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        padded = (len(chunk) + 1) * min(lengths[row], _READ_CHARS)
        if chunk and (len(chunk) == CHUNK_TEXTS or padded > CHUNK_CHARS):
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk


def _open_session(
    files: ModelFiles, version: str, options: EmbeddingOptions, weights: Weights
) -> onnxruntime.InferenceSession:
    is_int8 = weights is Weights.INT8
    if files.weights.name != SAFETENSORS:
        return _checked_session(files.weights, options)

    def build() -> bytes:
        return build_graph(files.weights, int8=is_int8)

    if options.cache_dir is None:
        return _checked_session(build(), options)
    kind = "-int8" if is_int8 else ""
    path = options.cache_dir / "graphs" / f"bert-{version}-{GRAPH_REVISION}{kind}.onnx"
    try:
        return _checked_session(cached_graph(path, build), options)
    except ModelDamagedError as error:
        _log.warning("the cached embedding graph is damaged and is rebuilt: %s", error)
    return _checked_session(cached_graph(path, build, rebuild=True), options)


def _checked_session(graph: Path | bytes, options: EmbeddingOptions) -> onnxruntime.InferenceSession:
    """Start a session and run two tokens through it, to detect a graph of the wrong form at once."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = _RUNTIME_ERRORS_ONLY
    settings.intra_op_num_threads = options.threads or _usable_threads()
    for name, value in SPINNING.items():
        settings.add_session_config_entry(name, value)
    source = "the built graph" if isinstance(graph, bytes) else str(graph)
    try:
        session = onnxruntime.InferenceSession(
            graph if isinstance(graph, bytes) else str(graph), settings, providers=["CPUExecutionProvider"]
        )
        names = [node.name for node in session.get_inputs()]
        output: Any = session.run(None, dict.fromkeys(names, np.ones((1, 2), dtype=np.int64)))[0]
    except Exception as error:  # The runtime's errors share no base class except Exception.
        raise ModelDamagedError(f"{source} cannot be run: {error}") from error
    expected = (1, 2, EMBEDDING_DIMENSIONS)
    if output.shape != expected:
        raise ModelDamagedError(f"{source}: expected an output of shape {expected}, got {output.shape}")
    return session


def _usable_threads() -> int:
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(MAX_THREADS, usable)


def _read(path: Path, form: type[_Config]) -> _Config:
    if not path.is_file():
        return form()
    try:
        return form.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ModelDamagedError(f"{path} is damaged: {error}") from error
