"""The reranker's network: the odds that a memory helps with a prompt, in a few milliseconds.

Source: SHW-04.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from commonplace.core.once import once
from commonplace.core.settings import load_settings
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import find_model
from commonplace.judge import PairInput, PairSession, build_pair_graph
from commonplace.reranker.inputs import reading

NETWORK: Final = Path(__file__).with_name("network.safetensors")


class RerankerNetwork(PairSession):
    """A session of the reranker's network."""

    def __init__(self, graph: bytes, tokenizer: Path) -> None:
        super().__init__(graph, tokenizer, outputs=1)

    def inputs(self, pairs: Sequence[tuple[str, str]]) -> list[PairInput]:
        """Return the tokens of each prompt and memory."""
        tokens = self.tokens([text for pair in pairs for text in pair])
        return [reading(prompt, memory) for prompt, memory in zip(tokens[::2], tokens[1::2], strict=True)]

    def odds(self, prompt: str, memories: Sequence[str]) -> list[float]:
        """Return the logarithm of the odds that each memory helps with a prompt, in their order.

        Args:
            prompt: What a person or an agent asked for.
            memories: From :func:`~commonplace.reranker.inputs.memory_text`.
        """
        return self.outputs([(prompt, memory) for memory in memories])[:, 0].tolist()


@once
def open_network() -> RerankerNetwork:
    """Return the network, which is opened once in a process; this takes a third of a second.

    Raises:
        ModelMissingError: The weights of the default embedding model are not on this machine.
        ModelDamagedError: The weights cannot be used.
    """
    home = load_settings(read_current_directory=False).settings.home
    files = find_model(EmbeddingOptions(cache_dir=home / "models"))
    return RerankerNetwork(build_pair_graph(files.weights, NETWORK, as_shares=False), files.tokenizer)
