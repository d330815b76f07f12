"""The reranker: the odds that memories help with a prompt."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Final, Protocol, cast

from commonplace.core.errors import EmbeddingError
from commonplace.core.once import once
from commonplace.core.settings import RERANKER_LEARNED, RERANKER_OFF, Settings
from commonplace.core.text import clean_text, collapse_whitespace
from commonplace.embedding.backend import EmbeddingOptions

PATIENCE_S: Final = 2.0
"""Seconds that a prompt waits until a cross-encoder is open; it may have to be downloaded first."""

RETRY_S: Final = 600.0
"""Seconds after which a network that could not be opened is tried again, because prompts wait for each try."""

_log = logging.getLogger(__name__)


class RerankerModel(Protocol):
    """A network that reads prompts and memories together."""

    def odds(self, prompt: str, memories: Sequence[str]) -> list[float]:
        """Return the logarithm of the odds that each memory helps with a prompt, in their order."""
        ...


# Commands that rank nothing must not wait for the import of the networks' runtime.


def _open_learned() -> RerankerModel:
    """Open the learned network."""
    opens = import_module("commonplace.reranker.network").open_network
    return cast("Callable[[], RerankerModel]", opens)()


def _open_cross_encoder(options: EmbeddingOptions) -> RerankerModel:
    opens = import_module("commonplace.reranker.cross_encoder").open_cross_encoder
    return cast("Callable[[EmbeddingOptions], RerankerModel]", opens)(options)


class Reranker:
    """Reads prompts and memories together. It opens its network when it first needs it, once in a process.

    Args:
        opens: Opens the network; further calls return the same network.
        patience_s: Seconds that a prompt waits for the opening; ``None`` waits until it has ended.
        odds_alone: Whether the odds alone decide, because no weights of likeness and importance were fitted to them.
    """

    def __init__(
        self,
        opens: Callable[[], RerankerModel] = _open_learned,
        *,
        patience_s: float | None = None,
        odds_alone: bool = False,
    ) -> None:
        self.opens = opens
        self.patience_s = patience_s
        self.odds_alone = odds_alone
        self._opening = threading.Lock()
        self._fault = ""
        self._retry_at = -math.inf

    def prepare(self) -> bool:
        """Open the network; return whether it is open.

        The result is ``False`` if the weights are missing or damaged, which is logged once, or if another thread is
        still opening the network.
        """
        if not self._opening.acquire(timeout=-1 if self.patience_s is None else self.patience_s):
            return False
        try:
            return time.monotonic() >= self._retry_at and self._is_opened()
        finally:
            self._opening.release()

    def _is_opened(self) -> bool:
        try:
            self.opens()
        except EmbeddingError as error:
            self._retry_at = time.monotonic() + RETRY_S
            if str(error) != self._fault:
                _log.warning("memories are ranked without the reranker: %s", error)
            self._fault = str(error)
            return False
        return True

    def odds(self, prompt: str, memories: Sequence[str]) -> list[float]:
        """Return the logarithm of the odds that each memory helps with a prompt, in their order.

        Args:
            prompt: The request of a person or an agent.
            memories: From :func:`~commonplace.reranker.inputs.memory_text`.

        Raises:
            EmbeddingError: The weights are not on this machine; see :meth:`prepare`.
        """
        return self.opens().odds(collapse_whitespace(clean_text(prompt)), memories) if memories else []


reranker: Final = Reranker()
"""The reranker of this process, with the learned network."""


def reranker_of(settings: Settings) -> Reranker | None:
    """Return the reranker that the settings name, one in a process for each model; ``None`` if it is off."""
    if settings.reranker == RERANKER_OFF:
        return None
    if settings.reranker == RERANKER_LEARNED:
        return reranker
    return _cross_encoder(replace(EmbeddingOptions.from_settings(settings), model=settings.reranker))


@cache
def _cross_encoder(options: EmbeddingOptions) -> Reranker:
    return Reranker(once(partial(_open_cross_encoder, options)), patience_s=PATIENCE_S, odds_alone=True)
