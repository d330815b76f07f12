"""The extractive model: no language model, but a rule that picks clauses out of the data in a prompt.

It never writes a word of its own but "The user:", and needs neither a network nor a key.
"""

import asyncio

from commonplace.core.budgets import budget_chars
from commonplace.llm.backend import Reply, Request
from commonplace.llm.fence import fenced_texts
from commonplace.llm.options import EXTRACTIVE
from commonplace.llm.secretary import read_turns, take_notes


async def connect(_: None) -> "ExtractiveBackend":
    """Return the model."""
    return ExtractiveBackend()


class ExtractiveBackend:
    """Picks what is worth keeping of the fenced data: see :mod:`commonplace.llm.secretary`.

    Its text keeps to ``max_chars`` of the request and to four characters a token of ``max_output_tokens``. It is
    empty where nothing is worth keeping. A prompt without fences is data as a whole.
    """

    async def send(self, request: Request) -> Reply:
        """Pick clauses; takes no tokens."""
        chars = budget_chars(request.max_output_tokens)
        if request.max_chars is not None:
            chars = min(chars, request.max_chars)
        data = fenced_texts(request.prompt) or [request.prompt]
        turns = [turn for text in data for turn in read_turns(text)]
        return Reply(text=await asyncio.to_thread(take_notes, turns, chars), model=EXTRACTIVE)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to give back."""
