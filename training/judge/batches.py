"""Tokens of pairs in batches of one length each, for which JAX compiles the network once."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from network import CLS, SEP

LENGTHS: Final = (24, 32, 40, 48, 64, 96, 160)
"""The lengths of batches, in tokens; longer pairs lose the end of the longer text."""

Array = NDArray[Any]


class PairTokens:
    """The tokenizer of the shipped weights, for two texts at once."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Return the ids and segments of each pair of an old and a new text."""
        olds = self._tokenizer.encode_batch([old for old, _ in pairs], add_special_tokens=False)
        news = self._tokenizer.encode_batch([new for _, new in pairs], add_special_tokens=False)
        return [_joined(list(old.ids), list(new.ids)) for old, new in zip(olds, news, strict=True)]


def _joined(old: list[int], new: list[int]) -> tuple[list[int], list[int]]:
    while len(old) + len(new) > LENGTHS[-1] - 3:
        (old if len(old) > len(new) else new).pop()
    return [CLS, *old, SEP, *new, SEP], [0] * (len(old) + 2) + [1] * (len(new) + 1)


def batches(encoded: Sequence[tuple[list[int], list[int]]], size: int, chance: random.Random | None = None) -> Iterator[tuple[list[int], dict[str, Array]]]:
    """Yield the places of the pairs of a batch, and its arrays; the last batches of a length repeat their first pair.

    Args:
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


def _arrays(encoded: Sequence[tuple[list[int], list[int]]], length: int) -> dict[str, Array]:
    shape = (len(encoded), length)
    arrays = {name: np.zeros(shape, np.int32) for name in ("ids", "segments", "mask")}
    for row, (ids, segments) in enumerate(encoded):
        arrays["ids"][row, : len(ids)] = ids
        arrays["segments"][row, : len(segments)] = segments
        arrays["mask"][row, : len(ids)] = 1
    return arrays
