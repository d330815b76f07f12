"""The port behind :class:`~commonplace.llm.model.Model`: one request to one model, and what comes back."""

from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import BaseModel

DEFAULT_OUTPUT_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer took.

    Args:
        input_tokens: Tokens read, those from a cache included.
        output_tokens: Tokens written.
        cost_usd: The price by list, in US dollars; ``None`` where it is not known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
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
    """What a model is asked.

    Args:
        prompt: The task, with its data fenced (see :func:`~commonplace.llm.fence.fence`).
        system: Instructions that stand above the task.
        output: The form of the answer; ``None`` for plain text.
        max_output_tokens: Longer answers are cut off, and then refused.
        max_chars: The longest text that the caller can use. A model that picks sentences keeps to it; one that
            writes has to be told in the prompt.
    """

    prompt: str
    system: str | None = None
    output: type[BaseModel] | None = None
    max_output_tokens: int = DEFAULT_OUTPUT_TOKENS
    max_chars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: text, which is JSON where an output was asked for, not yet validated."""

    text: str
    model: str
    usage: Usage = Usage()
    cut_off: bool = False


class ModelBackend(Protocol):
    """One model. It makes one attempt a request; retries, validation and counting are not its business."""

    async def send(self, request: Request) -> Reply:
        """Ask once. Cancelling the call ends all that it started.

        Raises:
            ModelUnavailableError: Asking again later can help.
            ModelRefusedError: It cannot.
            ModelOutputError: What came is not an answer.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
