"""The judge's network: how a newer text relates to an older one, as four probabilities, in a few milliseconds.

The same texts always have the same probabilities on one machine. The session has one thread, so that it runs in forks
of a process that opened it.

Source: JDG-06.
"""

# The types of ONNX Runtime are partly open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from commonplace.core.errors import ModelDamagedError
from commonplace.core.settings import load_settings
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import find_model
from commonplace.embedding.onnx_graph import ATTENTION_MASK, INPUT_IDS
from commonplace.embedding.quiet_runtime import onnxruntime
from commonplace.judge.inputs import pair_input, with_amounts
from commonplace.judge.pair_graph import CHANCES, CLASSES, ROLE_IDS, build_pair_graph

NETWORK: Final = Path(__file__).with_name("network.safetensors")
BATCH: Final = 16
"""Pairs in one run: more take no less time each (``benchmarks/judge.py``)."""

MOST_KNOWN: Final = 8_192
"""Pairs whose probabilities are kept: a block is made for every model call, mostly of the same texts."""


class PairNetwork:
    """A session of the network, with its tokenizer."""

    def __init__(self, graph: bytes, tokenizer: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # The runtime's errors share no base class except Exception.
            raise ModelDamagedError(f"the judge's network cannot be opened: {error}") from error
        self._known: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the probabilities of same, refine, correct and distinct, shape ``(len(pairs), 4)``.

        Args:
            pairs: Older and newer texts.
        """
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        for rows in _groups([len(old) + len(new) for old, new in fresh]):
            group = [fresh[row] for row in rows]
            self._known |= zip(group, self._run(group), strict=True)
        rows = [self._known[pair] for pair in pairs]
        if len(self._known) > MOST_KNOWN:
            self._known = {}
        return np.array(rows, dtype=np.float32).reshape(-1, CLASSES)

    def pieces(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the pieces of words of each text, as the network reads them."""
        return [
            frozenset(each.ids)
            for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]

    def _run(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        texts = [text for pair in pairs for text in with_amounts(*pair)]
        tokens = [each.ids for each in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        inputs = [pair_input(old, new) for old, new in zip(tokens[::2], tokens[1::2], strict=True)]
        shape = (len(pairs), max(len(each.ids) for each in inputs))
        arrays = {name: np.zeros(shape, dtype=np.int64) for name in (INPUT_IDS, ROLE_IDS, ATTENTION_MASK)}
        for row, (ids, roles) in enumerate(inputs):
            arrays[INPUT_IDS][row, : len(ids)] = ids
            arrays[ROLE_IDS][row, : len(roles)] = roles
            arrays[ATTENTION_MASK][row, : len(ids)] = 1
        output: Any = self._session.run([CHANCES], arrays)[0]
        return output


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of pairs of similar length, so that runs have little padding."""
    places = sorted(range(len(lengths)), key=lengths.__getitem__)
    for at in range(0, len(places), BATCH):
        yield places[at : at + BATCH]


_opening: Final = threading.Lock()
_open: Final[list[PairNetwork]] = []


def open_network() -> PairNetwork:
    """Return the network, which is opened once in a process; this takes a third of a second.

    Raises:
        ModelMissingError: The weights of the default embedding model are not on this machine.
        ModelDamagedError: The weights cannot be used.
    """
    with _opening:
        if not _open:
            home = load_settings(read_current_directory=False).settings.home
            files = find_model(EmbeddingOptions(cache_dir=home / "models"))
            _open.append(PairNetwork(build_pair_graph(files.weights, NETWORK), files.tokenizer))
        return _open[0]
