"""Train the reranker's network on worlds of prompts, and write it into the package.

``python training/reranker/fit_reranker.py`` trains on the worlds that are neither set aside nor kept, and writes
``network.safetensors`` with its recipe and its figures on the kept worlds. It takes half an hour on two cores, and
needs the packages of ``pip install -e '.[train]'``. The same worlds and code give the same file on one machine.

``--odds FILE`` writes the odds of the worlds in ``--leave`` instead, for experiments.
"""

import argparse
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "judge"))

import network
from batches import LENGTHS
from commonplace.reranker.inputs import reading
from commonplace.reranker.network import NETWORK
from fit import MODEL, optimizer
from pack import write_network
from prompts import NEAREST, Asked, asked, figures
from reranker_recipe import EPOCHS, LAYERS, RATE, SEED, recipe
from worlds import KEPT, learned_worlds, read_worlds

PROMPTS: Final = 2
"""Prompts of a batch."""

MEMORIES: Final = 16
"""Memories that are read for a prompt in an epoch."""

NEAR: Final = 24
"""The memories nearest to a prompt by their vectors; most of those that do not help are taken from these."""

FAR: Final = 3
"""Memories of a prompt in an epoch that are taken from all others."""

DROPOUT: Final = 0.1
SMOOTHING: Final = 0.02
LISTWISE: Final = 0.5
"""How much the order of a prompt's memories counts beside the odds of each."""


class Reader:
    """The tokenizer of the shipped weights, for prompts and memories."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        """Return the input of each prompt and memory."""
        texts = [text for pair in pairs for text in pair]
        tokens = [each.ids for each in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        return [reading(prompt, memory) for prompt, memory in zip(tokens[::2], tokens[1::2], strict=True)]


def chosen(prompt: Asked, chance: random.Random) -> list[int]:
    """Return the places of the memories of a prompt that are read in an epoch, of which some help."""
    wanted = np.flatnonzero(prompt.helps == 1.0).tolist()
    fine = np.flatnonzero(prompt.helps == 0.5).tolist()
    places = wanted[: MEMORIES - FAR] + chance.sample(fine, min(2, len(fine)))
    others = [place for place in prompt.nearest.tolist() if prompt.helps[place] == 0.0]
    near = others[:NEAR]
    places += chance.sample(near, min(len(near), max(0, MEMORIES - FAR - len(places))))
    rest = [place for place in others if place not in set(places)]
    return (places + chance.sample(rest, MEMORIES - len(places)))[:MEMORIES]


def fit(
    prompts: Sequence[Asked], *, epochs: int, layers: int, seed: int, report: Callable[[str], None] = print
) -> tuple[network.Tensors, network.Tensors]:
    """Return the tables and the trained tensors."""
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")
    chance = random.Random(seed)
    reader = Reader()
    tables, tensors = network.shipped(MODEL / "model.safetensors", layers)
    tensors |= network.new_head(seed, 1)
    steps = epochs * (len(prompts) // PROMPTS)
    optimize = optimizer(tensors, RATE, steps)
    state = optimize.init(tensors)

    def loss(tensors: network.Tensors, batch: dict[str, Any], helps: Any, key: Any) -> Any:
        scores = network.logits(tables, tensors, batch, key=key, rate=DROPOUT)[:, 0].reshape(
            PROMPTS, MEMORIES
        )
        targets = helps * (1 - 2 * SMOOTHING) + SMOOTHING
        single = optax.sigmoid_binary_cross_entropy(scores, targets) * jnp.where(helps == 0.5, 0.3, 1.0)
        shares = jnp.where(helps == 1.0, 1.0, 0.0)
        count = shares.sum(1, keepdims=True)
        order = -(
            shares / jnp.maximum(count, 1) * jax.nn.log_softmax(jnp.where(helps == 0.5, -1e9, scores))
        ).sum(1)
        return single.mean() + LISTWISE * (order * (count[:, 0] > 0)).mean() / 4

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(tensors: network.Tensors, state: Any, batch: dict[str, Any], helps: Any, key: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(tensors, batch, helps, key)
        updates, state = optimize.update(gradient, state, tensors)
        return optax.apply_updates(tensors, updates), state, value

    key, started, losses = jax.random.key(seed), time.monotonic(), list[Any]()
    for turn in range(epochs):
        for group in groups(prompts, chance):
            key, dropped = jax.random.split(key)
            places = [chosen(prompt, chance) for prompt in group]
            pairs = [
                (prompt.text, prompt.memories[place])
                for prompt, several in zip(group, places, strict=True)
                for place in several
            ]
            batch = arrays(reader.encode(pairs))
            helps = np.stack([prompt.helps[several] for prompt, several in zip(group, places, strict=True)])
            tensors, state, value = step(tensors, state, batch, helps, dropped)
            losses.append(value)
            if len(losses) % 100 == 0:
                mean = np.mean([float(each) for each in losses[-100:]])
                report(f"{len(losses)}/{steps} {mean:.3f} {time.monotonic() - started:.0f} s")
        report(f"epoch {turn + 1}")
    return tables, tensors


def groups(prompts: Sequence[Asked], chance: random.Random) -> Iterator[list[Asked]]:
    """Yield the prompts of each batch, mixed, those of about one length together."""
    order = sorted(prompts, key=lambda each: len(each.text) + 40 * chance.random())
    several = [order[at : at + PROMPTS] for at in range(0, len(order) - PROMPTS + 1, PROMPTS)]
    chance.shuffle(several)
    yield from several


def arrays(encoded: Sequence[Any]) -> dict[str, Any]:
    """Return the arrays of a batch, as long as the shortest of :data:`batches.LENGTHS` that holds its pairs."""
    longest = max(len(each.ids) for each in encoded)
    length = next(length for length in LENGTHS if longest <= length)
    filled = {name: np.zeros((len(encoded), length), np.int32) for name in ("ids", "roles", "mask")}
    for row, (ids, roles) in enumerate(encoded):
        filled["ids"][row, : len(ids)] = ids
        filled["roles"][row, : len(roles)] = roles
        filled["mask"][row, : len(ids)] = 1
    return filled


def odds(tables: network.Tensors, tensors: network.Tensors, prompts: Sequence[Asked]) -> list[np.ndarray]:
    """Return the odds of the nearest memories of each prompt, in the order of ``nearest``."""
    reads = jax.jit(partial(network.logits, tables))
    reader = Reader()
    found: list[np.ndarray] = []
    for prompt in prompts:
        places = prompt.nearest[:NEAREST]
        encoded = reader.encode([(prompt.text, prompt.memories[place]) for place in places])
        found.append(np.asarray(reads(tensors, arrays(encoded)))[:, 0])
    return found


def main() -> None:
    """Train, and write the network, or the odds of the worlds that were left out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--odds", type=Path, help="write odds of the worlds left out, and no network")
    parser.add_argument("--leave", nargs="*", default=sorted(KEPT), help="worlds to leave out and to rank")
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    names = {*learned_worlds(), *KEPT} - set(arguments.leave)
    prompts, left = list(asked(read_worlds(names))), list(asked(read_worlds(arguments.leave)))
    report = partial(print, flush=True)
    report(f"{len(prompts)} prompts of {len(names)} worlds")
    tables, tensors = fit(prompts, epochs=arguments.epochs, layers=arguments.layers, seed=SEED, report=report)
    found = odds(tables, tensors, left)
    kept = figures(left, found)
    report(kept)
    trained = {name: np.asarray(value) for name, value in tensors.items()}
    if arguments.odds is None:
        write_network(NETWORK, trained, recipe() | {"kept": kept})
    else:
        arguments.odds.write_bytes(pickle.dumps((left, found, trained)))


if __name__ == "__main__":
    main()
