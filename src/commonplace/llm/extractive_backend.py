"""The extractive model: a rule that picks clauses from the data in a prompt.

The rule adds no words except "The user:", and needs neither network access nor a key.
"""

import asyncio

from commonplace.core.budgets import budget_chars
from commonplace.llm.backend import Reply, Request
from commonplace.llm.extractive import read_turns, take_notes
from commonplace.llm.options import EXTRACTIVE
from commonplace.prompts.fence import fenced_texts


async def connect(_: None) -> "ExtractiveBackend":
    """Return the backend."""
    return ExtractiveBackend()


class ExtractiveBackend:
    """Picks clauses from the fenced data; see :mod:`commonplace.llm.extractive`.

    The text is at most ``max_chars`` long, and at most four characters for each of ``max_output_tokens``. It is empty
    if nothing is worth keeping. A prompt without fences counts as data.
    """

    address = ""

    async def send(self, request: Request) -> Reply:
        """Pick clauses without using tokens."""
        chars = budget_chars(request.max_output_tokens)
        if request.max_chars is not None:
            chars = min(chars, request.max_chars)
        data = fenced_texts(request.prompt) or [request.prompt]
        turns = [turn for text in data for turn in read_turns(text)]
        return Reply(text=await asyncio.to_thread(take_notes, turns, chars), model=EXTRACTIVE)

    async def aclose(self) -> None:
        """Do nothing, because there is no connection."""
