"""A cross-encoder of the hub as an ONNX graph: BERT over a prompt and a memory, with one score.

It computes the same as ``BertForSequenceClassification``: the state of the first token, a dense layer with tanh, and a
linear map to one number.

Source: SHW-09.
"""

from pathlib import Path
from typing import ClassVar, Final, Literal

import numpy as np
from pydantic import Field

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.onnx_graph import (
    ATTENTION_MASK,
    INPUT_IDS,
    BertConfig,
    BertGraph,
    read_weights,
)
from commonplace.judge.pair_graph import OUTPUTS, ROLE_IDS

SEGMENTS: Final = 2
"""The kinds of a token: of the prompt (0) or of the memory (1)."""

_BODY: Final = "bert."
"""The start of the names of all tensors but those of the classifier."""

_CLASSIFIER: Final = "classifier"


class CrossEncoderConfig(BertConfig):
    """The network in ``config.json`` of a cross-encoder."""

    kind: ClassVar[str] = "a BERT cross-encoder (BertForSequenceClassification)"

    architectures: list[Literal["BertForSequenceClassification"]] = Field(min_length=1)
    type_vocab_size: Literal[2] = SEGMENTS


def build_cross_graph(weights: Path, config: CrossEncoderConfig, *, int8: bool = True) -> bytes:
    """Return the graph of a cross-encoder, as the bytes of its file.

    Inputs are ``input_ids``, ``roles`` (the segment of each token) and ``attention_mask``, int64 of shape
    ``(pairs, tokens)``. The output is ``outputs``, float32 of shape ``(pairs, 1)``: the score before any activation.

    Args:
        weights: The safetensors file.
        config: The network that ``config.json`` beside the weights describes.
        int8: Round the matrices of the layers to 8 bits, like those of the learned network.

    Raises:
        ModelDamagedError: The file cannot be read, lacks a tensor, or has a tensor of another shape or several outputs.
    """
    tensors = {name.removeprefix(_BODY): tensor for name, tensor in read_weights(weights).items()}
    classifier = tensors.get(f"{_CLASSIFIER}.weight")
    if classifier is not None and len(classifier) != 1:
        raise ModelDamagedError(
            f"{weights}: expected a cross-encoder with one output, found {len(classifier)} outputs; name another model"
        )
    return _CrossGraph(config, tensors, str(weights), int8=int8).serialize()


class _CrossGraph(BertGraph):
    """The scores of pairs."""

    def serialize(self) -> bytes:
        size = self.config.hidden_size
        table = self.weight("embeddings.word_embeddings.weight", self.config.vocab_size, size)
        words = self.node("Gather", self.constant(table), INPUT_IDS)
        hidden = self.layers(self.pair_embeddings(words, SEGMENTS, ROLE_IDS))
        first = self.node("Gather", hidden, self.constant(np.array(0)), axis=1)
        pooled = self.node("Tanh", self.linear(first, "pooler.dense", size, size))
        score = self.linear(pooled, _CLASSIFIER, size, 1)
        return self.finished(OUTPUTS, (INPUT_IDS, ROLE_IDS, ATTENTION_MASK), score, ["batch", 1])
