"""Networks that read two texts at once, opened in ONNX Runtime.

The same texts always have the same outputs on one machine. A session has one thread, so that it runs in forks of a
process that opened it.
"""

# The types of ONNX Runtime are partly open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.onnx_graph import ATTENTION_MASK, INPUT_IDS
from commonplace.embedding.quiet_runtime import onnxruntime
from commonplace.judge.inputs import PairInput
from commonplace.judge.pair_graph import OUTPUTS, ROLE_IDS

BATCH: Final = 16
"""Pairs in one run: more take no less time each (``benchmarks/judge.py``)."""

MOST_KNOWN: Final = 8_192
"""Pairs whose outputs are kept: a block is made for every model call, mostly of the same texts."""


class PairSession(ABC):
    """A session of a network over pairs of texts, with its tokenizer.

    Args:
        graph: From :func:`~commonplace.judge.pair_graph.build_pair_graph`.
        tokenizer: The tokenizer of the embedding model.
        outputs: The number of outputs for a pair.
    """

    def __init__(self, graph: bytes, tokenizer: Path, *, outputs: int) -> None:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # The runtime's errors share no base class except Exception.
            raise ModelDamagedError(f"a network over pairs of texts cannot be opened: {error}") from error
        self._number = outputs
        self._known: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @abstractmethod
    def inputs(self, pairs: Sequence[tuple[str, str]]) -> list[PairInput]:
        """Return what the network reads of each pair."""

    def outputs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the outputs of each pair, shape ``(len(pairs), number of outputs)``; several threads may ask."""
        known = self._known
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        for rows in _groups([len(old) + len(new) for old, new in fresh]):
            group = [fresh[row] for row in rows]
            known |= zip(group, self._run(group), strict=True)
        rows = [known[pair] for pair in pairs]
        if len(known) > MOST_KNOWN:
            self._known = {}
        return np.array(rows, dtype=np.float32).reshape(-1, self._number)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the pieces of words of each text, as the network reads them."""
        return [each.ids for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def _run(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        inputs = self.inputs(pairs)
        shape = (len(pairs), max(len(each.ids) for each in inputs))
        arrays = {name: np.zeros(shape, dtype=np.int64) for name in (INPUT_IDS, ROLE_IDS, ATTENTION_MASK)}
        for row, (ids, roles) in enumerate(inputs):
            arrays[INPUT_IDS][row, : len(ids)] = ids
            arrays[ROLE_IDS][row, : len(roles)] = roles
            arrays[ATTENTION_MASK][row, : len(ids)] = 1
        output: Any = self._session.run([OUTPUTS], arrays)[0]
        return output


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of pairs of similar length, so that runs have little padding."""
    places = sorted(range(len(lengths)), key=lengths.__getitem__)
    for at in range(0, len(places), BATCH):
        yield places[at : at + BATCH]
