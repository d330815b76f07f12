"""Not a language model: it picks sentences out of the data in a prompt, and never writes one.

It needs no network and no key, only the embedding engine.
"""

import asyncio
from typing import Final

import numpy as np

from commonplace.core.budgets import budget_chars
from commonplace.core.errors import EmbeddingError, ModelRefusedError
from commonplace.core.text import trim_to
from commonplace.embedding import EmbeddingEngine
from commonplace.llm.backend import Reply, Request
from commonplace.llm.fence import fenced_texts
from commonplace.llm.options import EXTRACTIVE
from commonplace.llm.sentences import Limits, pick, split_sentences, worth_picking

MOST_SENTENCES: Final = 4
"""Source: APP-02.3 asks for two to four."""


async def connect(engine: EmbeddingEngine) -> "ExtractiveBackend":
    """Return the model; the engine loads at its first use."""
    return ExtractiveBackend(engine)


class ExtractiveBackend:
    """Picks up to four sentences that are central to the fenced data and unlike each other.

    Its text keeps to ``max_chars`` of the request and to four characters a token of ``max_output_tokens``. When
    no sentence is that short, the beginning of the first one stands for it. Data without words gives an empty
    text. A prompt without fences is data as a whole.
    """

    def __init__(self, engine: EmbeddingEngine) -> None:
        self._engine = engine

    async def send(self, request: Request) -> Reply:
        """Pick sentences; takes no tokens.

        Raises:
            ModelRefusedError: The embedding engine cannot work.
        """
        chars = budget_chars(request.max_output_tokens)
        if request.max_chars is not None:
            chars = min(chars, request.max_chars)
        data = fenced_texts(request.prompt) or [request.prompt]
        sentences = split_sentences("\n".join(data))
        usable = worth_picking([sentence for sentence in sentences if len(sentence) <= chars])
        if not usable:
            return Reply(text=trim_to(sentences[0], chars) if sentences else "", model=EXTRACTIVE)
        try:
            vectors = await self._engine.embed_batch_async(usable)
        except EmbeddingError as error:
            raise ModelRefusedError(
                f"the extractive model has no embeddings to work with: {error}"
            ) from error
        limits = Limits(sentences=MOST_SENTENCES, chars=chars)
        picked = await asyncio.to_thread(pick, usable, np.array(vectors, dtype=np.float32), limits)
        return Reply(text=" ".join(picked), model=EXTRACTIVE)

    async def aclose(self) -> None:
        """Do nothing: the engine belongs to who made it."""
