"""The reranker: the odds that memories help with a prompt."""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from commonplace.core.errors import EmbeddingError
from commonplace.core.text import clean_text, collapse_whitespace

if TYPE_CHECKING:
    from commonplace.reranker.network import RerankerNetwork

_log = logging.getLogger(__name__)


def _opened() -> "RerankerNetwork":
    """Open the network. Its runtime takes longer to import than a command that ranks nothing may take."""
    opens = import_module("commonplace.reranker.network").open_network
    return cast("Callable[[], RerankerNetwork]", opens)()


class Reranker:
    """Reads prompts and memories together. It opens its network when it first needs it, once in a process.

    Args:
        opens: Opens the network.
    """

    def __init__(self, opens: "Callable[[], RerankerNetwork]" = _opened) -> None:
        self.opens = opens

    def prepare(self) -> bool:
        """Open the network; return whether its weights are on this machine."""
        try:
            self.opens()
        except EmbeddingError as error:
            _log.warning("memories are ranked without the reranker: %s", error)
            return False
        return True

    def odds(self, prompt: str, memories: Sequence[str]) -> list[float]:
        """Return the logarithm of the odds that each memory helps with a prompt, in their order.

        Args:
            prompt: What a person or an agent asked for.
            memories: From :func:`~commonplace.reranker.inputs.memory_text`.

        Raises:
            EmbeddingError: The weights are not on this machine; see :meth:`prepare`.
        """
        return self.opens().odds(collapse_whitespace(clean_text(prompt)), memories) if memories else []


reranker: Final = Reranker()
"""The reranker of this process."""
