"""The class through which every call of a language model goes."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, overload

from pydantic import BaseModel

from commonplace.core.errors import (
    ModelCannotError,
    ModelError,
    ModelOutputError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from commonplace.core.quoting import quoted
from commonplace.llm.answers import AnswerError, ask_again, read_answer
from commonplace.llm.backend import DEFAULT_OUTPUT_TOKENS, ModelBackend, Reply, Request, Usage
from commonplace.llm.ledger import Ledger
from commonplace.llm.retries import Retries

_log = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 60.0

T = TypeVar("T", bound=BaseModel)
V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Generic[V_co]):
    """The answer of a model.

    Args:
        text: The answer as text without surrounding whitespace; may be empty.
        value: The validated object; ``None`` if the call has no output.
        model: The name of the model, as the model reports it.
        usage: The usage, including a second attempt for a valid object.
        extractive: Whether the text was picked from the data, not written.
    """

    text: str
    value: V_co
    model: str
    usage: Usage
    extractive: bool


@dataclass(slots=True, kw_only=True)
class _Call:
    """A running call: its purpose, its deadline on the event loop's clock, and the failure of its last attempt."""

    purpose: str
    ends_at: float
    failure: ModelUnavailableError | None = None


class Model:
    """A language model with a time limit, retries, validated output, and usage counts.

    The first call connects and imports libraries.

    Args:
        name: The name in the settings, for example ``"anthropic:claude-haiku-4-5"``.
        connect: Makes the backend at the first call.
        extractive: Whether the model only picks sentences from the fenced data of the prompt.
        ledger: Counts usage and holds the budget; ``None`` for a ledger without a limit.
        timeout_s: The default time limit of a call.
        retries: The number of retries and their pauses; ``None`` for the defaults of :class:`.Retries`.
        sleep: Waits for a number of seconds.
        chance: Returns numbers from 0 to 1 for the jitter of the pauses.
    """

    def __init__(
        self,
        *,
        name: str,
        connect: Callable[[], Awaitable[ModelBackend]],
        extractive: bool = False,
        ledger: Ledger | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        retries: Retries | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.extractive = extractive
        self.ledger = ledger or Ledger()
        self._connect = connect
        self._timeout_s = timeout_s
        self._retries = retries or Retries()
        self._sleep = sleep
        self._chance = chance
        self._connecting = asyncio.Lock()
        self._backend: ModelBackend | None = None

    @property
    def address(self) -> str:
        """The URL or program of the model, without a password; empty before the first call."""
        return "" if self._backend is None else self._backend.address

    @overload
    async def complete(
        self,
        prompt: str,
        *,
        purpose: str,
        system: str | None = None,
        output: None = None,
        form: type[BaseModel] | None = None,
        timeout_s: float | None = None,
        max_output_tokens: int = DEFAULT_OUTPUT_TOKENS,
        max_chars: int | None = None,
    ) -> Completion[None]: ...

    @overload
    async def complete(
        self,
        prompt: str,
        *,
        purpose: str,
        system: str | None = None,
        output: type[T],
        timeout_s: float | None = None,
        max_output_tokens: int = DEFAULT_OUTPUT_TOKENS,
        max_chars: int | None = None,
    ) -> Completion[T]: ...

    async def complete(
        self,
        prompt: str,
        *,
        purpose: str,
        system: str | None = None,
        output: type[BaseModel] | None = None,
        form: type[BaseModel] | None = None,
        timeout_s: float | None = None,
        max_output_tokens: int = DEFAULT_OUTPUT_TOKENS,
        max_chars: int | None = None,
    ) -> Completion[BaseModel | None]:
        """Return a model's answer to a prompt, as text or as a validated object.

        An invalid object is sent back once with its fault. A model that cannot answer now is asked again after a pause,
        as long as time is left. Cancelling the call stops everything that it started. Do not hold a database connection
        during the call.

        Args:
            prompt: The task; text by others is inside fences.
            purpose: The name under which the ledger counts the call, for example ``"app.digest"``.
            system: The system prompt.
            output: The schema of the answer; ``None`` for plain text.
            form: The schema of an answer that the caller reads from the text; it is not checked here.
            timeout_s: The time limit in seconds, including retries; ``None`` for the model's default.
            max_output_tokens: Longer answers are cut off and raise an error.
            max_chars: The longest usable text, for the extractive model.

        Raises:
            ModelBudgetError: The tokens of the day are spent.
            ModelCannotError: The extractive model was asked for an object.
            ModelTimeoutError: The time limit has passed.
            ModelUnavailableError: The model could not answer at any attempt.
            ModelRefusedError: The model refuses this request.
            ModelAccessError: The key, the account or the model's name is wrong.
            ModelOutputError: The answer was cut off, or was invalid twice.
        """
        if output is not None and self.extractive:
            raise ModelCannotError(
                f"the model {quoted(self.name)} only picks sentences and cannot decide ({purpose}): "
                "set COMMONPLACE_MODEL to a language model"
            )
        request = Request(
            prompt=prompt,
            system=system,
            output=output or form,
            max_output_tokens=max_output_tokens,
            max_chars=max_chars,
        )
        allowed_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            return await self._within(allowed_s, request, purpose, output)
        except ModelError:
            self.ledger.add_failure(purpose)
            raise

    async def aclose(self) -> None:
        """Close the connections of the backend. A later call connects again."""
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.aclose()

    async def _within(
        self, allowed_s: float, request: Request, purpose: str, output: type[BaseModel] | None
    ) -> Completion[BaseModel | None]:
        ends_at = asyncio.get_running_loop().time() + allowed_s
        scope = asyncio.timeout_at(ends_at)
        call = _Call(purpose=purpose, ends_at=ends_at)
        try:
            async with scope:
                return await self._answer(request, output, call)
        except TimeoutError:
            if not scope.expired():
                raise
            if call.failure:
                # The last failure says more than the elapsed time: the address that does not answer, or the server's
                # error.
                raise call.failure from None
            message = f"the model {quoted(self.name)} gave no answer within {allowed_s:g} s ({purpose})"
            raise ModelTimeoutError(message) from None

    async def _answer(
        self, request: Request, output: type[BaseModel] | None, call: _Call
    ) -> Completion[BaseModel | None]:
        reply = await self._send(request, call)
        if output is None:
            return self._completion(reply, None, reply.usage)
        try:
            return self._completion(reply, read_answer(reply.text, output), reply.usage)
        except AnswerError as error:
            fault = str(error)
        _log.info("%s gave an invalid answer to %s; asking again: %s", self.name, call.purpose, fault)
        again = replace(request, prompt=ask_again(request.prompt, answer=reply.text, fault=fault))
        second = await self._send(again, call)
        try:
            value = read_answer(second.text, output)
        except AnswerError as error:
            raise ModelOutputError(
                f"the model {quoted(self.name)} at {self.address} answered twice, but not in the form of "
                f"{output.__name__} ({call.purpose}): {error}"
            ) from None
        return self._completion(second, value, reply.usage + second.usage)

    async def _send(self, request: Request, call: _Call) -> Reply:
        """Ask until the model answers, no time is left for a pause, or all attempts are used up."""
        pauses = self._retries.pauses(self._chance)
        while True:
            self.ledger.require_budget()
            try:
                reply = await (await self._connected()).send(request)
                break
            except ModelUnavailableError as error:
                call.failure = error
                self.ledger.add_unavailable(call.purpose)
                await self._pause(next(pauses, None), error, call)
        call.failure = None
        self.ledger.add_answer(call.purpose, reply.usage)
        if reply.cut_off:
            raise ModelOutputError(
                f"the answer of the model {quoted(self.name)} ({call.purpose}) was cut off at "
                f"max_output_tokens={request.max_output_tokens}"
            )
        return reply

    async def _pause(self, pause_s: float | None, error: ModelUnavailableError, call: _Call) -> None:
        """Wait before the next attempt, at least as long as the server asks.

        Raises:
            ModelUnavailableError: There is no next attempt; the raised error is ``error`` itself.
        """
        if pause_s is None:
            raise error
        wait_s = max(pause_s, error.retry_after_s or 0.0)
        if asyncio.get_running_loop().time() + wait_s >= call.ends_at:
            raise error
        _log.info("%s (%s): retrying in %.1f s: %s", self.name, call.purpose, wait_s, error)
        await self._sleep(wait_s)

    async def _connected(self) -> ModelBackend:
        async with self._connecting:
            if self._backend is None:
                self._backend = await self._connect()
            return self._backend

    def _completion(
        self, reply: Reply, value: BaseModel | None, usage: Usage
    ) -> Completion[BaseModel | None]:
        return Completion(
            text=reply.text.strip(), value=value, model=reply.model, usage=usage, extractive=self.extractive
        )
