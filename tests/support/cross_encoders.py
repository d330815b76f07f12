"""A small cross-encoder with real parts, and its scores computed with numpy alone."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

VOCABULARY: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "queue", "is", "full", "restart", "it", ":")
SIZE: Final = 32
INNER: Final = 64
HEADS: Final = 4
POSITIONS: Final = 24
CONFIG: Final[Mapping[str, Any]] = {
    "architectures": ["BertForSequenceClassification"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": SIZE,
    "id2label": {"0": "LABEL_0"},
    "intermediate_size": INNER,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
    "vocab_size": len(VOCABULARY),
}

Tensors = dict[str, NDArray[np.float32]]


def write_cross_encoder(
    directory: Path, *, score: float | None = None, outputs: int = 1, seed: int = 0
) -> Path:
    """Write a cross-encoder of 2 layers, 32 wide, with random weights, and return its directory.

    Args:
        directory: Its directory.
        score: The score of every pair; ``None`` leaves it to the weights.
        outputs: The number of scores.
        seed: Of the weights.
    """
    directory.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    tensors: dict[str, NDArray[Any]] = {
        name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in _shapes(outputs).items()
    }
    for name in tensors:
        if name.endswith("LayerNorm.weight"):
            tensors[name] += 1
    if score is not None:
        tensors["classifier.weight"] *= 0
        tensors["classifier.bias"] = np.full(outputs, score, np.float32)
    tensors["bert.embeddings.position_ids"] = np.arange(POSITIONS)[None]
    save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(CONFIG))
    save_tokenizer(directory, VOCABULARY)
    return directory


def save_tokenizer(directory: Path, vocabulary: Sequence[str]) -> None:
    """Write a tokenizer of a few words."""
    tokenizer = Tokenizer(WordPiece({word: at for at, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.save(str(directory / "tokenizer.json"))


def _shapes(outputs: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (len(VOCABULARY), SIZE),
        "bert.embeddings.position_embeddings.weight": (POSITIONS, SIZE),
        "bert.embeddings.token_type_embeddings.weight": (2, SIZE),
        "bert.embeddings.LayerNorm.weight": (SIZE,),
        "bert.embeddings.LayerNorm.bias": (SIZE,),
    }
    linears = {"bert.pooler.dense": (SIZE, SIZE), "classifier": (outputs, SIZE)}
    for layer in (f"bert.encoder.layer.{number}" for number in range(2)):
        attention = ("self.query", "self.key", "self.value", "output.dense")
        linears |= {f"{layer}.attention.{name}": (SIZE, SIZE) for name in attention}
        linears |= {f"{layer}.intermediate.dense": (INNER, SIZE), f"{layer}.output.dense": (SIZE, INNER)}
        for norm in (f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
            shapes |= {f"{norm}.weight": (SIZE,), f"{norm}.bias": (SIZE,)}
    for name, shape in linears.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def reference_score(directory: Path, ids: Sequence[int], segments: Sequence[int]) -> float:
    """Return the score of the tokens of one pair, as ``BertForSequenceClassification`` defines it."""
    tensors: Tensors = {
        name.removeprefix("bert."): tensor
        for name, tensor in load_file(directory / "model.safetensors").items()
    }
    states = tensors["embeddings.word_embeddings.weight"][list(ids)]
    states = states + tensors["embeddings.token_type_embeddings.weight"][list(segments)]
    states = states + tensors["embeddings.position_embeddings.weight"][: len(ids)]
    states = _norm(tensors, "embeddings.LayerNorm", states)
    for layer in range(2):
        states = _layer(tensors, f"encoder.layer.{layer}", states)
    pooled = np.tanh(_linear(tensors, "pooler.dense", states[0]))
    return float(_linear(tensors, "classifier", pooled)[0])


def _layer(tensors: Tensors, name: str, states: NDArray[np.float32]) -> NDArray[np.float32]:
    query, key, value = (
        _linear(tensors, f"{name}.attention.self.{part}", states).reshape(len(states), HEADS, -1)
        for part in ("query", "key", "value")
    )
    scores = np.einsum("qhd,khd->hqk", query, key) / math.sqrt(SIZE // HEADS)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    values = np.einsum("hqk,khd->qhd", shares, value).reshape(len(states), SIZE)
    attended = _linear(tensors, f"{name}.attention.output.dense", values)
    states = _norm(tensors, f"{name}.attention.output.LayerNorm", attended + states)
    inner = _linear(tensors, f"{name}.intermediate.dense", states)
    inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
    return _norm(
        tensors, f"{name}.output.LayerNorm", _linear(tensors, f"{name}.output.dense", inner) + states
    )


def _linear(tensors: Tensors, name: str, states: NDArray[Any]) -> NDArray[Any]:
    return states @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]


def _norm(tensors: Tensors, name: str, states: NDArray[Any]) -> NDArray[Any]:
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + CONFIG["layer_norm_eps"])
    return centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
