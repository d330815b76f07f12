"""The judge's network: how a newer text relates to an older one, as four probabilities, in a few milliseconds.

Source: JDG-06.
"""

# The types of safetensors are partly open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from commonplace.core.errors import ModelDamagedError
from commonplace.core.once import once
from commonplace.core.settings import load_settings
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import find_model
from commonplace.judge.inputs import PairInput, pair_input, with_amounts
from commonplace.judge.pair_graph import build_pair_graph
from commonplace.judge.pair_session import PairSession

NETWORK: Final = Path(__file__).with_name("network.safetensors")
CLASSES: Final = 4

NAME_CHARS: Final = 12
"""The length of a recipe's name."""


class PairNetwork(PairSession):
    """A session of the judge's network."""

    def __init__(self, graph: bytes, tokenizer: Path) -> None:
        super().__init__(graph, tokenizer, outputs=CLASSES)

    def inputs(self, pairs: Sequence[tuple[str, str]]) -> list[PairInput]:
        """Return the tokens of each pair with its amounts."""
        tokens = self.tokens([text for pair in pairs for text in with_amounts(*pair)])
        return [pair_input(old, new) for old, new in zip(tokens[::2], tokens[1::2], strict=True)]

    def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the probabilities of same, refine, correct and distinct, shape ``(len(pairs), 4)``.

        Args:
            pairs: Older and newer texts.
        """
        return self.outputs(pairs)

    def pieces(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the pieces of words of each text, as the network reads them."""
        return [frozenset(ids) for ids in self.tokens(texts)]


@once
def open_network() -> PairNetwork:
    """Return the network, which is opened once in a process; this takes a third of a second.

    Raises:
        ModelMissingError: The weights of the default embedding model are not on this machine.
        ModelDamagedError: The weights cannot be used.
    """
    return read_network(load_settings(read_current_directory=False).settings.home)


def read_network(home: Path) -> PairNetwork:
    """Return the network, opened anew; a home may hold the weights of the embedding model.

    Raises:
        ModelMissingError: The weights of the default embedding model are not on this machine.
        ModelDamagedError: The weights cannot be used.
    """
    files = find_model(EmbeddingOptions(cache_dir=home / "models"))
    return PairNetwork(build_pair_graph(files.weights, NETWORK), files.tokenizer)


def recipe_name() -> str:
    """Return a short name of what the network was made from: the start of the hash of its recipe.

    Raises:
        ModelDamagedError: The file cannot be read or has no recipe.
    """
    try:
        with safe_open(NETWORK, framework="numpy") as file:
            recipe = file.metadata()["recipe"]
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise ModelDamagedError(f"{NETWORK.name} has no recipe: {error!r}; reinstall commonplace") from error
    return hashlib.sha256(recipe.encode()).hexdigest()[:NAME_CHARS]
