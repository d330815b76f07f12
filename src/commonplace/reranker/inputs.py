"""The input of the reranker's network: the tokens of a prompt and of a memory, and a role for each token. Pure.

Training and ranking read pairs with this module.
"""

from collections.abc import Sequence
from typing import Final

from commonplace.judge.inputs import PairInput, pair_input

PROMPT_TOKENS: Final = 72
"""Tokens of a prompt; a longer one loses its middle, because the task stands at its beginning or at its end."""

MEMORY_TOKENS: Final = 64
"""Tokens of a memory; a longer one loses its end."""


def memory_text(content: str, subject: str = "", predicate: str = "") -> str:
    """Return the text of a memory as the network reads it; a rule has no subject."""
    text = " ".join(content.split())
    return f"{subject} {predicate}: {text}" if subject else f"Rule: {text}"


def reading(prompt: Sequence[int], memory: Sequence[int]) -> PairInput:
    """Return the input of a prompt and a memory from the tokens of both."""
    if len(prompt) > PROMPT_TOKENS:
        half = PROMPT_TOKENS // 2
        prompt = [*prompt[:half], *prompt[-half:]]
    return pair_input(prompt, memory[:MEMORY_TOKENS])
