"""The port behind :class:`~commonplace.llm.model.Model`: one request to one model, and its reply."""

from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import BaseModel

DEFAULT_OUTPUT_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens and the price of an answer.

    Args:
        input_tokens: Tokens read, including cached tokens.
        cost_usd: The list price in US dollars; ``None`` if it is unknown.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The sum of tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        costs = (self.cost_usd, other.cost_usd)
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a model.

    Args:
        prompt: The task, with its data fenced (see :func:`~commonplace.prompts.fence.fence`).
        output: The schema of the answer; ``None`` for plain text.
        max_output_tokens: Longer answers are cut off, and then refused.
        max_chars: The longest text that the caller can use. The extractive model respects it; for a language model, put
            the limit into the prompt.
    """

    prompt: str
    system: str | None = None
    output: type[BaseModel] | None = None
    max_output_tokens: int = DEFAULT_OUTPUT_TOKENS
    max_chars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply: text, or unvalidated JSON if the request has an output."""

    text: str
    model: str
    usage: Usage = Usage()
    cut_off: bool = False


class ModelBackend(Protocol):
    """One model. It sends each request once; :class:`~commonplace.llm.model.Model` retries, validates and counts."""

    address: str
    """The URL or program of the model, without a password; empty for a model inside this process."""

    async def send(self, request: Request) -> Reply:
        """Send a request once. Cancelling the call stops everything that it started.

        Raises:
            ModelUnavailableError: A later attempt can succeed.
            ModelRefusedError: A later attempt cannot succeed.
            ModelOutputError: The reply is not an answer.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
