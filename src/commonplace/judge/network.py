"""The judge's network: how a newer text relates to an older one, as four probabilities, in a few milliseconds.

The same texts always have the same probabilities on one machine. The session has one thread, so that it runs in forks
of a process that opened it.

Source: JDG-06.
"""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.graph_cache import cached_graph
from commonplace.embedding.model_files import find_model
from commonplace.embedding.onnx_graph import ATTENTION_MASK, GRAPH_REVISION, INPUT_IDS
from commonplace.embedding.quiet_runtime import onnxruntime
from commonplace.judge.pair_graph import CHANCES, CLASSES, SEGMENT_IDS, build_pair_graph

NETWORK: Final = Path(__file__).with_name("network.safetensors")
MOST_TOKENS: Final = 160
"""Tokens of both texts that are read; a longer text loses its end. Source: ``training/judge/batches.py``."""

BATCH: Final = 16
"""Pairs in one run: more take no less time each (``benchmarks/judge.py``)."""


class PairNetwork:
    """A session of the network, with its tokenizer."""

    def __init__(self, graph: Path | bytes, tokenizer: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        source = graph if isinstance(graph, bytes) else str(graph)
        try:
            self._session = onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # The runtime's errors share no base class except Exception.
            raise ModelDamagedError(f"the judge's network cannot be opened: {error}") from error
        self._tokenizer.enable_truncation(max_length=MOST_TOKENS)
        self._tokenizer.enable_padding()

    def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the probabilities of same, refine, correct and distinct, shape ``(len(pairs), 4)``.

        Args:
            pairs: Older and newer texts.
        """
        values = np.empty((len(pairs), CLASSES), dtype=np.float32)
        for rows in _groups([len(old) + len(new) for old, new in pairs]):
            values[rows] = self._run([pairs[row] for row in rows])
        return values

    def _run(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
        encodings = self._tokenizer.encode_batch(pairs)
        inputs = {
            INPUT_IDS: [each.ids for each in encodings],
            SEGMENT_IDS: [each.type_ids for each in encodings],
            ATTENTION_MASK: [each.attention_mask for each in encodings],
        }
        arrays = {name: np.array(rows, dtype=np.int64) for name, rows in inputs.items()}
        output: Any = self._session.run([CHANCES], arrays)[0]
        return output


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of pairs of similar length, so that runs have little padding."""
    places = sorted(range(len(lengths)), key=lengths.__getitem__)
    for at in range(0, len(places), BATCH):
        yield places[at : at + BATCH]


_opening: Final = threading.Lock()
_open: Final[dict[Path | None, PairNetwork]] = {}


def open_network(cache_dir: Path | None = None) -> PairNetwork:
    """Return the network, opened once in a process.

    Args:
        cache_dir: Where the built graph is kept; without it, each process builds it in a second.

    Raises:
        ModelMissingError: The weights of the default embedding model are not on this machine.
        ModelDamagedError: The weights cannot be used.
    """
    with _opening:
        if cache_dir not in _open:
            _open[cache_dir] = _opened(cache_dir)
        return _open[cache_dir]


def _opened(cache_dir: Path | None) -> PairNetwork:
    files = find_model(EmbeddingOptions(cache_dir=cache_dir))

    def build() -> bytes:
        return build_pair_graph(files.weights, NETWORK)

    if cache_dir is None:
        return PairNetwork(build(), files.tokenizer)
    name = f"judge-{files.version()}-{_version()}-{GRAPH_REVISION}.onnx"
    path = cache_dir / "graphs" / name
    try:
        return PairNetwork(cached_graph(path, build), files.tokenizer)
    except ModelDamagedError:
        return PairNetwork(cached_graph(path, build, rebuild=True), files.tokenizer)


def _version() -> str:
    import hashlib

    return hashlib.sha256(NETWORK.read_bytes()).hexdigest()[:12]
