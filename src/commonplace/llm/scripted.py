"""A model that answers from a script, for tests and for the tour."""

import asyncio
from collections.abc import Callable
from typing import Final

from pydantic import BaseModel

from commonplace.core.errors import ModelError, ModelRefusedError
from commonplace.llm.backend import Reply, Request, Usage
from commonplace.llm.ledger import Ledger
from commonplace.llm.model import DEFAULT_TIMEOUT_S, Model

SCRIPTED: Final = "scripted"
SCRIPTED_USAGE: Final = Usage(input_tokens=100, output_tokens=20, cost_usd=0.001)
"""The token usage of every text and object in a script."""


class Hang:
    """A step that never answers: the call reaches its time limit, or is cancelled."""


Step = str | BaseModel | Reply | ModelError | Hang | Callable[[Request], str]


class Script:
    """The answers of a model in order, and the requests that it received.

    Args:
        steps: The answers in order. Each is a text, an object (sent as JSON), a whole reply, an error to raise,
            :class:`Hang`, or a function from the request to a text. After the last step the model refuses.
    """

    address = ""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.requests: list[Request] = []

    def model(
        self,
        *,
        extractive: bool = False,
        ledger: Ledger | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Model:
        """Return an ordinary model, but without pauses between attempts."""
        return Model(
            name=SCRIPTED,
            connect=self._connect,
            extractive=extractive,
            ledger=ledger,
            timeout_s=timeout_s,
            sleep=_no_pause,
        )

    async def send(self, request: Request) -> Reply:
        """Take the next step.

        Raises:
            ModelRefusedError: No step is left.
            ModelError: The step is an error.
        """
        self.requests.append(request)
        if not self._steps:
            raise ModelRefusedError(f"the script has no step left for the prompt: {request.prompt}")
        match self._steps.pop(0):
            case ModelError() as error:
                raise error
            case Hang():
                return await asyncio.Future[Reply]()
            case Reply() as reply:
                return reply
            case BaseModel() as value:
                text = value.model_dump_json()
            case str() as text:
                pass
            case answer:
                text = answer(request)
        return Reply(text=text, model=SCRIPTED, usage=SCRIPTED_USAGE)

    async def aclose(self) -> None:
        """Do nothing, because there is no connection."""

    async def _connect(self) -> "Script":
        return self


async def _no_pause(_: float) -> None:
    await asyncio.sleep(0)
