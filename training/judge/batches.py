"""Tokens of pairs in batches of one length each, for which JAX compiles the network once."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from commonplace.judge.inputs import MOST_TOKENS, PairInput, pair_input, with_amounts

LENGTHS: Final = (24, 32, 40, 48, 64, 96, MOST_TOKENS)
"""The lengths of batches, in tokens; longer pairs lose the end of the longer text."""

Array = NDArray[Any]


class PairTokens:
    """The tokenizer of the shipped weights, for two texts at once."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[PairInput]:
        """Return the tokens of each pair of an old and a new text, and their roles."""
        texts = [text for pair in pairs for text in with_amounts(*pair)]
        tokens = [each.ids for each in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        return [pair_input(old, new) for old, new in zip(tokens[::2], tokens[1::2], strict=True)]


def batches(
    encoded: Sequence[PairInput], size: int, chance: random.Random | None = None
) -> Iterator[tuple[list[int], dict[str, Array]]]:
    """Yield the places of the pairs of a batch, and its arrays; the last batches of a length repeat their first pair.

    Args:
        encoded: From :meth:`PairTokens.encode`.
        size: Pairs of a batch.
        chance: Mixes pairs and batches; without it they come by length.
    """
    by_length: dict[int, list[int]] = {length: [] for length in LENGTHS}
    for place, (ids, _) in enumerate(encoded):
        by_length[next(length for length in LENGTHS if len(ids) <= length)].append(place)
    groups: list[tuple[int, list[int]]] = []
    for length, places in by_length.items():
        if chance is not None:
            chance.shuffle(places)
        groups += [(length, places[at : at + size]) for at in range(0, len(places), size)]
    if chance is not None:
        chance.shuffle(groups)
    for length, places in groups:
        filled = places + [places[0]] * (size - len(places))
        yield places, _arrays([encoded[place] for place in filled], length)


def _arrays(encoded: Sequence[PairInput], length: int) -> dict[str, Array]:
    shape = (len(encoded), length)
    arrays = {name: np.zeros(shape, np.int32) for name in ("ids", "roles", "mask")}
    for row, (ids, roles) in enumerate(encoded):
        arrays["ids"][row, : len(ids)] = ids
        arrays["roles"][row, : len(roles)] = roles
        arrays["mask"][row, : len(ids)] = 1
    return arrays
