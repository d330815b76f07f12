"""A network over two texts in JAX, for training: layers of MiniLM over both texts at once, and a head.

The tensors have the names of the shipped weights, so that a trained layer takes the place of a shipped one. Tokens are
``[CLS] old [SEP] new [SEP]``; the head reads the state of ``[CLS]``, the mean states of both texts, their distance and
their product.
"""

import math
from pathlib import Path
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

from commonplace.judge.inputs import CLS, SEP

WIDTH: Final = 384
HEADS: Final = 12
LAYERS: Final = 6
MASK: Final = 103
HIDDEN: Final = 0.08
"""The share of words that are hidden while training."""

_EPSILON: Final = 1e-12
_ROLES: Final = "embeddings.token_type_embeddings.weight"

Tensors: TypeAlias = "dict[str, jax.Array]"
Batch: TypeAlias = "dict[str, Any]"


def shipped(weights: Path, layers: int = LAYERS) -> tuple[Tensors, Tensors]:
    """Return the tables of words and positions, which stay as they are, and the tensors to train.

    Args:
        weights: The shipped weights.
        layers: The number of layers to train, from the lowest.
    """
    tensors = {name: jnp.asarray(value) for name, value in load_file(weights).items()}
    names = ("embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight")
    trained = {
        name: value
        for name, value in tensors.items()
        if name.startswith(("embeddings.token", "embeddings.Layer")) or _layer_of(name) < layers
    }
    # The roles of tokens begin as the segments of the shipped weights.
    trained[_ROLES] = jnp.concatenate([trained[_ROLES], trained[_ROLES]])
    return {name: tensors[name] for name in names}, trained


def _layer_of(name: str) -> float:
    """Return the layer of a tensor; infinity for a tensor of no layer."""
    return float(name.split(".")[2]) if name.startswith("encoder.layer.") else math.inf


def depth(tensors: Tensors) -> int:
    """Return the number of layers of a network."""
    return 1 + int(max(layer for layer in map(_layer_of, tensors) if layer < math.inf))


def new_head(seed: int, outputs: int) -> Tensors:
    """Return a head with random weights."""
    random = np.random.default_rng(seed)
    wide = 5 * WIDTH
    return {
        "head.dense.weight": jnp.asarray(random.normal(size=(WIDTH, wide)) / math.sqrt(wide), jnp.float32),
        "head.dense.bias": jnp.zeros(WIDTH),
        "head.output.weight": jnp.asarray(random.normal(size=(outputs, WIDTH)) * 0.02, jnp.float32),
        "head.output.bias": jnp.zeros(outputs),
    }


def logits(
    tables: Tensors, tensors: Tensors, batch: Batch, *, key: jax.Array | None = None, rate: float = 0.0
) -> jax.Array:
    """Return the scores of each pair of a batch, shape ``(pairs, outputs)``.

    Args:
        tables: The tables of words and positions.
        tensors: The other tensors.
        batch: ``ids``, ``roles`` (:data:`commonplace.judge.inputs.ROLES`) and ``mask``, int32 of shape
            ``(pairs, tokens)``.
        key: Of the random numbers that hide words and drop states; none while judging.
        rate: The share of states that is dropped.
    """
    layers = depth(tensors)
    keys = [None] * (2 * layers + 2) if key is None else list(jax.random.split(key, 2 * layers + 2))
    ids, roles, mask = batch["ids"], batch["roles"], batch["mask"]
    ids = _hidden(ids, keys[-1])
    positions = tables["embeddings.position_embeddings.weight"][: ids.shape[1]]
    words = tables["embeddings.word_embeddings.weight"][ids]
    states = words + positions + tensors[_ROLES][roles]
    states = _norm(tensors, "embeddings.LayerNorm", states)
    bias = jnp.where(mask[:, None, None, :] > 0, 0.0, -1e9)
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        attended = _attention(tensors, name, states, bias)
        states = _norm(
            tensors, f"{name}.attention.output.LayerNorm", states + _drop(attended, keys[2 * layer], rate)
        )
        inner = jax.nn.gelu(_linear(tensors, f"{name}.intermediate.dense", states), approximate=False)
        inner = _linear(tensors, f"{name}.output.dense", inner)
        states = _norm(tensors, f"{name}.output.LayerNorm", states + _drop(inner, keys[2 * layer + 1], rate))
    pooled = _drop(_pooled(states, ids, roles, mask), keys[-2], rate)
    return _linear(tensors, "head.output", jnp.tanh(_linear(tensors, "head.dense", pooled)))


def _hidden(ids: jax.Array, key: jax.Array | None) -> jax.Array:
    """Hide some words while training, so that no single word decides."""
    if key is None:
        return ids
    is_word = (ids != CLS) & (ids != SEP)
    return jnp.where(is_word & jax.random.bernoulli(key, HIDDEN, ids.shape), MASK, ids)


def _pooled(states: jax.Array, ids: jax.Array, roles: jax.Array, mask: jax.Array) -> jax.Array:
    inner = mask * (ids != CLS) * (ids != SEP)

    def mean(chosen: jax.Array) -> jax.Array:
        weights = (inner * chosen)[..., None].astype(states.dtype)
        return (states * weights).sum(1) / jnp.maximum(weights.sum(1), 1)

    old, new = mean(roles % 2 == 0), mean(roles % 2 == 1)
    return jnp.concatenate([states[:, 0], old, new, jnp.abs(old - new), old * new], axis=-1)


def _attention(tensors: Tensors, name: str, states: jax.Array, bias: jax.Array) -> jax.Array:
    pairs, tokens, _ = states.shape

    def split(part: str) -> jax.Array:
        joined = _linear(tensors, f"{name}.attention.self.{part}", states)
        return joined.reshape(pairs, tokens, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    query, key, value = split("query"), split("key"), split("value")
    shares = jax.nn.softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(WIDTH // HEADS) + bias, axis=-1)
    joined = (shares @ value).transpose(0, 2, 1, 3).reshape(pairs, tokens, WIDTH)
    return _linear(tensors, f"{name}.attention.output.dense", joined)


def _linear(tensors: Tensors, name: str, states: jax.Array) -> jax.Array:
    return states @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]


def _norm(tensors: Tensors, name: str, states: jax.Array) -> jax.Array:
    mean = states.mean(-1, keepdims=True)
    variance = ((states - mean) ** 2).mean(-1, keepdims=True)
    return (states - mean) * jax.lax.rsqrt(variance + _EPSILON) * tensors[f"{name}.weight"] + tensors[
        f"{name}.bias"
    ]


def _drop(states: jax.Array, key: jax.Array | None, rate: float) -> jax.Array:
    if key is None:
        return states
    return jnp.where(jax.random.bernoulli(key, 1 - rate, states.shape), states / (1 - rate), 0.0)
