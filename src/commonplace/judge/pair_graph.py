"""A network over two texts at once as an ONNX graph: layers of MiniLM, and a head with some outputs.

The tables of words and positions are those of the shipped embedding model; all other weights are the network's own, in
a file that a script in ``training`` writes. The number of layers and of outputs follows from the file.
"""

# The types of safetensors are partly open.
# pyright: reportUnknownVariableType=false

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.onnx_graph import (
    ATTENTION_MASK,
    INPUT_IDS,
    BertGraph,
    EmbeddingConfig,
    read_config,
    restored_weights,
)
from commonplace.judge.inputs import CLS, ROLES, SEP

ROLE_IDS: Final = "roles"
OUTPUTS: Final = "outputs"
SCALES: Final = ".scales"
"""The end of the name of a matrix's scales in the file of a network."""

_HEAD: Final = "head.output.weight"
_LAYER: Final = re.compile(r"encoder\.layer\.(\d+)\.")
_TABLES: Final = ("embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight")


def build_pair_graph(weights: Path, network: Path, *, as_shares: bool = True) -> bytes:
    """Return the graph of a network, as the bytes of its file.

    Inputs are ``input_ids``, ``roles`` (:data:`~commonplace.judge.inputs.ROLES`) and ``attention_mask``, int64 of shape
    ``(pairs, tokens)``. The output is ``outputs``, float32 of shape ``(pairs, number of outputs)``.

    Args:
        weights: The safetensors file of the embedding model, with ``config.json`` beside it.
        network: The network's own weights.
        as_shares: Whether the outputs are probabilities that sum to 1, not scores.

    Raises:
        ModelDamagedError: A file cannot be read, lacks a tensor, or has a tensor of another shape.
    """
    try:
        shipped = load_file(weights)
        own = restored_weights(load_file(network), SCALES)
    except (OSError, SafetensorError) as error:
        raise ModelDamagedError(f"{network.name} cannot be read: {error}; reinstall commonplace") from error
    if _HEAD not in own:
        raise ModelDamagedError(f"{network}: expected the tensor {_HEAD}, found none")
    config = read_config(weights, EmbeddingConfig).model_copy(update={"num_hidden_layers": _layers(own)})
    tensors = own | {name: shipped[name] for name in _TABLES if name in shipped}
    return _PairGraph(config, tensors, str(network), int8=True).serialize(
        len(own[_HEAD]), as_shares=as_shares
    )


def _layers(names: Iterable[str]) -> int:
    numbers = [int(match[1]) for name in names if (match := _LAYER.match(name))]
    return max(numbers, default=-1) + 1


class _PairGraph(BertGraph):
    """The outputs for pairs of texts."""

    def serialize(self, outputs: int, *, as_shares: bool) -> bytes:
        hidden = self.layers(self._embeddings())
        wide = self._pooled(hidden)
        size = self.config.hidden_size
        inner = self.node("Tanh", self.linear(wide, "head.dense", 5 * size, size))
        scores = self.linear(inner, "head.output", size, outputs)
        if as_shares:
            scores = self.node("Softmax", scores, axis=-1)
        inputs = (INPUT_IDS, ROLE_IDS, ATTENTION_MASK)
        return self.finished(OUTPUTS, inputs, scores, ["batch", outputs])

    def _embeddings(self) -> str:
        words = self.weight(_TABLES[0], self.config.vocab_size, self.config.hidden_size)
        return self.pair_embeddings(self._words(words), ROLES, ROLE_IDS)

    def _words(self, table: NDArray[np.float32]) -> str:
        """Return the words' vectors, from a table of 8 bits with a scale for each word."""
        scales = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, np.finfo(np.float32).tiny)
        levels = np.rint(table / scales).astype(np.int8)
        looked_up = self.as_float(self.node("Gather", self.constant(levels), INPUT_IDS))
        return self.node("Mul", looked_up, self.node("Gather", self.constant(scales), INPUT_IDS))

    def _pooled(self, hidden: str) -> str:
        """Return the state of the first token, the mean states of both texts, their distance and their product."""
        first = self.node("Gather", hidden, self.constant(np.array(0)), axis=1)
        mask = self.as_float(ATTENTION_MASK)
        for special in (CLS, SEP):
            is_special = self.node("Equal", INPUT_IDS, self.constant(np.array(special)))
            mask = self.node("Mul", mask, self.as_float(self.node("Not", is_special)))
        of_new = self.as_float(self.node("Mod", ROLE_IDS, self.constant(np.array(2))))
        of_old = self.node("Sub", self.constant(np.float32(1)), of_new)
        old = self._mean(hidden, self.node("Mul", mask, of_old))
        new = self._mean(hidden, self.node("Mul", mask, of_new))
        distance = self.node("Abs", self.node("Sub", old, new))
        return self.node("Concat", first, old, new, distance, self.node("Mul", old, new), axis=-1)

    def _mean(self, hidden: str, shares: str) -> str:
        sums = self.node("MatMul", self.node("Unsqueeze", shares, self.integers(1)), hidden)
        counts = self.node("ReduceSum", shares, self.integers(1), keepdims=1)
        counts = self.node("Max", counts, self.constant(np.float32(1)))
        return self.node("Div", self.node("Squeeze", sums, self.integers(1)), counts)
