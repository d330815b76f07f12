"""Train the judge's network on the labelled pairs, and write it into the package.

``python training/judge/fit.py`` trains on the authors that are neither set aside nor kept, with the settings of
:mod:`recipe`, and writes ``network.safetensors`` with its recipe and its figures on the kept authors. It takes half an
hour on two cores, and needs the packages of ``pip install -e '.[train]'``. The same pairs and code give the same file
on one machine.

``--scores FILE`` writes the scores of the pairs of the authors in ``--leave`` instead, for experiments; ``--authors``
trains on some authors alone, and ``--epochs`` for a shorter time.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax

import network
from batches import PairTokens, batches
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import find_model
from commonplace.judge.network import NETWORK
from corpus import KEPT, LABELS, SPECIFIED, Pair, learned_authors, read_pairs
from pack import write_network
from recipe import EPOCHS, RATE, SEED, figures, recipe
from variations import Example, epoch

MODEL: Final = find_model(EmbeddingOptions()).weights.parent
"""The folder with the shipped weights."""

BATCH: Final = 32
LAYER_DECAY: Final = 0.88
"""A layer learns this share as fast as the layer above it."""

REPEATED: Final = 4
"""How often more the pairs that must hold come in an epoch."""

HEAD_RATE: Final = 4.0
DROPOUT: Final = 0.15
SMOOTHING: Final = 0.06
WEIGHT_DECAY: Final = 0.01


def optimizer(tensors: network.Tensors, rate: float, steps: int) -> optax.GradientTransformation:
    """Return AdamW with a warm start, a cosine end, and slower lower layers."""

    def part(name: str) -> str:
        pieces = name.split(".")
        return "head" if pieces[0] == "head" else pieces[2] if pieces[0] == "encoder" else "0"

    def adam(scale: float) -> optax.GradientTransformation:
        schedule = optax.warmup_cosine_decay_schedule(
            0.0, rate * scale, max(steps // 15, 1), steps, rate * scale * 0.02
        )
        return optax.adamw(schedule, b2=0.98, weight_decay=WEIGHT_DECAY)

    depth = network.depth(tensors)
    layers = {str(layer): adam(LAYER_DECAY ** (depth - 1 - layer)) for layer in range(depth)}
    parts = {name: part(name) for name in tensors}
    return optax.chain(
        optax.clip_by_global_norm(1.0), optax.multi_transform(layers | {"head": adam(HEAD_RATE)}, parts)
    )


def fit(
    pairs: Sequence[Pair], *, epochs: int, seed: int, rate: float, report: Callable[[str], None] = print
) -> tuple[network.Tensors, network.Tensors]:
    """Return the tables and the trained tensors."""
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")
    chance = random.Random(seed)
    tokens = PairTokens(MODEL / "tokenizer.json")
    tables, tensors = network.shipped(MODEL / "model.safetensors")
    tensors |= network.new_head(seed, len(LABELS))
    pairs = [*pairs, *REPEATED * [pair for pair in pairs if pair.author == SPECIFIED]]
    first = list(epoch(pairs, random.Random(seed)))
    steps = int(epochs * (len(first) / BATCH + 4))
    optimize = optimizer(tensors, rate, steps)
    state = optimize.init(tensors)

    def loss(tensors: network.Tensors, batch: dict[str, Any], targets: Any, weights: Any, key: Any) -> Any:
        scores = jax.nn.log_softmax(network.logits(tables, tensors, batch, key=key, rate=DROPOUT))
        return -(weights * (targets * scores).sum(-1)).sum() / jnp.maximum(weights.sum(), 1e-3)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(
        tensors: network.Tensors, state: Any, batch: dict[str, Any], targets: Any, weights: Any, key: Any
    ) -> Any:
        value, gradient = jax.value_and_grad(loss)(tensors, batch, targets, weights, key)
        updates, state = optimize.update(gradient, state, tensors)
        return optax.apply_updates(tensors, updates), state, value

    key, started, losses = jax.random.key(seed), time.monotonic(), list[Any]()
    for turn in range(epochs):
        examples = list(epoch(pairs, chance))
        encoded = tokens.encode([(each.old, each.new) for each in examples])
        for places, batch in batches(encoded, BATCH, chance):
            key, dropped = jax.random.split(key)
            targets, weights = _targets([examples[place] for place in places])
            tensors, state, value = step(tensors, state, batch, targets, weights, dropped)
            losses.append(value)
            if len(losses) % 100 == 0:
                mean = np.mean([float(each) for each in losses[-100:]])
                report(f"{len(losses)}/{steps} {mean:.3f} {time.monotonic() - started:.0f} s")
        report(f"epoch {turn + 1}")
    return tables, tensors


def _targets(examples: Sequence[Example]) -> tuple[Any, Any]:
    targets = np.full((BATCH, len(LABELS)), SMOOTHING / len(LABELS), np.float32)
    weights = np.zeros(BATCH, np.float32)
    for row, each in enumerate(examples):
        targets[row, LABELS.index(each.label)] += 1 - SMOOTHING
        weights[row] = each.weight
    return targets, weights


def scores(tables: network.Tensors, tensors: network.Tensors, pairs: Sequence[Pair]) -> np.ndarray:
    """Return the four scores of each pair, shape ``(len(pairs), 4)``."""
    judge = jax.jit(partial(network.logits, tables))
    encoded = PairTokens(MODEL / "tokenizer.json").encode([(pair.old, pair.new) for pair in pairs])
    values = np.zeros((len(pairs), len(LABELS)), np.float32)
    for places, batch in batches(encoded, 64):
        values[places] = np.asarray(judge(tensors, batch))[: len(places)]
    return values


def main() -> None:
    """Train, and write the network, or the scores of the pairs of those who were left out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scores", type=Path, help="write scores of the authors left out, and no network")
    parser.add_argument("--leave", nargs="*", default=sorted(KEPT), help="authors to leave out and to score")
    parser.add_argument("--authors", nargs="*", help="train on these alone")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    names = set(arguments.authors or {*learned_authors(), *KEPT}) - set(arguments.leave)
    pairs, left = read_pairs(names), read_pairs(arguments.leave)
    report = partial(print, flush=True)
    report(f"{len(pairs)} pairs of {len(names)} authors")
    tables, tensors = fit(pairs, epochs=arguments.epochs, seed=SEED, rate=RATE, report=report)
    values = scores(tables, tensors, left)
    kept = figures(values, [pair.label for pair in left])
    report(kept)
    if arguments.scores is None:
        trained = {name: np.asarray(value) for name, value in tensors.items()}
        write_network(NETWORK, trained, recipe() | {"kept": kept})
    else:
        labels, authors = [pair.label for pair in left], [pair.author for pair in left]
        np.savez(arguments.scores, scores=values, labels=labels, authors=authors)


if __name__ == "__main__":
    main()
