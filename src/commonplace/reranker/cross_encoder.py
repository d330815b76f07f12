"""A cross-encoder of the hub in place of the learned network.

Its score counts as the logarithm of the odds that the memory helps, as if 0 were even odds: cross-encoders with one
output are trained and used with a sigmoid over it. We have not measured how well such odds fit memories.

Source: SHW-09.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from commonplace.core.errors import ModelDamagedError, ModelMissingError
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import SAFETENSORS, ModelFiles, find_model
from commonplace.embedding.onnx_graph import read_config
from commonplace.judge import PairInput, PairSession
from commonplace.reranker.cross_graph import CrossEncoderConfig, build_cross_graph

ROLE: Final = "reranker"

MOST_TOKENS: Final = 512
"""Tokens of a prompt and a memory together, fewer if the model has fewer positions."""

PROMPT_TOKENS: Final = 128
"""Tokens of a prompt; a longer one loses its middle. A prompt waits for the model, whose time grows with the tokens."""

MOST_ODDS: Final = 30.0
"""Scores are cut to at most this number, and at least its negative, so that their odds can be computed."""

_SPECIAL: Final = 3
"""The tokens around a prompt and a memory."""

_PROBE: Final = ("Restart the server", "The server restarts slowly")


class CrossEncoder(PairSession):
    """A session of a cross-encoder.

    Args:
        files: The files of the model.
        config: The form of the network in these files.

    Raises:
        ModelDamagedError: The weights or the tokenizer cannot be used.
    """

    def __init__(self, files: ModelFiles, config: CrossEncoderConfig) -> None:
        graph = build_cross_graph(files.weights, config)
        try:
            super().__init__(graph, files.tokenizer, outputs=1)
        except ModelDamagedError as error:
            raise ModelDamagedError(f"{files.directory}: {error}; reinstall the model") from error
        self.files = files
        self._most = min(MOST_TOKENS, config.max_position_embeddings)
        self._start, self._end = self._special("[CLS]"), self._special("[SEP]")
        words = self._tokenizer.get_vocab_size()
        if words > config.vocab_size:
            raise ModelDamagedError(
                f"{files.tokenizer}: expected at most {config.vocab_size} tokens as in config.json, found {words}"
            )
        self._check()

    def inputs(self, pairs: Sequence[tuple[str, str]]) -> list[PairInput]:
        """Return the tokens of each prompt and memory."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokens = dict(zip(texts, self.tokens(texts), strict=True))
        return [self._input(tokens[prompt], tokens[memory]) for prompt, memory in pairs]

    def odds(self, prompt: str, memories: Sequence[str]) -> list[float]:
        """Return the score of each memory, which counts as the logarithm of its odds, in their order.

        Args:
            prompt: The request of a person or an agent.
            memories: From :func:`~commonplace.reranker.inputs.memory_text`.
        """
        scores = self.outputs([(prompt, memory) for memory in memories])[:, 0]
        return np.clip(np.nan_to_num(scores, nan=-MOST_ODDS), -MOST_ODDS, MOST_ODDS).tolist()

    def _input(self, prompt: Sequence[int], memory: Sequence[int]) -> PairInput:
        room = self._most - _SPECIAL
        most = min(PROMPT_TOKENS, room // 2)
        if len(prompt) > most:
            head = -(-most // 2)
            prompt = [*prompt[:head], *prompt[len(prompt) - most + head :]]
        memory = memory[: room - len(prompt)]
        ids = [self._start, *prompt, self._end, *memory, self._end]
        return PairInput(ids, [0] * (len(prompt) + 2) + [1] * (len(memory) + 1))

    def _special(self, token: str) -> int:
        number: int | None = self._tokenizer.token_to_id(token)
        if number is None:
            raise ModelDamagedError(
                f"{self.files.tokenizer} is not the tokenizer of a BERT model: it has no token {token}"
            )
        return number

    def _check(self) -> None:
        """Read a pair, to detect weights of the wrong form at once."""
        try:
            score = self.outputs([_PROBE])
        except Exception as error:  # The runtime's errors share no base class except Exception.
            raise ModelDamagedError(f"{self.files.weights} cannot be run: {error}") from error
        if not np.isfinite(score).all():
            raise ModelDamagedError(
                f"{self.files.weights}: expected a number as the score of a pair, got {score[0, 0]}"
            )


def open_cross_encoder(options: EmbeddingOptions) -> CrossEncoder:
    """Find a cross-encoder where embedding models are found, and open it; one of 6 layers takes about a second.

    Raises:
        ModelMissingError: The weights are not found.
        ModelDamagedError: The files cannot be used, or are of another kind of network.
    """
    files = find_model(options, role=ROLE)
    if files.weights.name != SAFETENSORS:
        raise ModelMissingError(
            f"{files.directory} has the reranker's weights as {files.weights.name} only: expected {SAFETENSORS} in it"
        )
    return CrossEncoder(files, read_config(files.weights, CrossEncoderConfig))
