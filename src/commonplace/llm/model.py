"""The one place through which every call of a language model goes."""

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
    """What a model gave.

    Args:
        text: Its answer as text, without blanks at the ends; empty where it had nothing to say.
        value: The validated object, where one was asked for; else ``None``.
        model: The model that answered, as it calls itself.
        usage: What it took, a second attempt at the right form included.
        extractive: Whether the text was picked out of the data, and not written.
    """

    text: str
    value: V_co
    model: str
    usage: Usage
    extractive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call under way: what it is for, and when it must be over by the clock of the event loop."""

    purpose: str
    ends_at: float


class Model:
    """A language model, with a time limit, retries, validated output, and a count of what it takes.

    Nothing is connected or imported before the first call.

    Args:
        name: As the setting names it, for example ``"anthropic:claude-haiku-4-5"``.
        connect: Makes the backend at the first call.
        extractive: Whether it can only pick sentences out of the data that is fenced in the prompt.
        ledger: Counts usage and holds the budget.
        timeout_s: The time limit of calls that name none.
        retries: How often and when to ask again.
        sleep: Waits for so many seconds.
        chance: Gives numbers from 0 to 1, for the jitter of the pauses.
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

    @overload
    async def complete(
        self,
        prompt: str,
        *,
        purpose: str,
        system: str | None = None,
        output: None = None,
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
        timeout_s: float | None = None,
        max_output_tokens: int = DEFAULT_OUTPUT_TOKENS,
        max_chars: int | None = None,
    ) -> Completion[BaseModel | None]:
        """Ask for text, or for an object.

        An answer of the wrong form is sent back once, with what is wrong with it. A model that cannot answer now
        is asked again after a pause, as long as time is left. Cancelling the call ends all that it started.
        Hold no database connection meanwhile.

        Args:
            prompt: The task, with everything that others wrote inside fences.
            purpose: What it is counted under, for example ``"app.digest"``.
            system: Instructions that stand above the task.
            output: The form of the answer; plain text without one.
            timeout_s: Seconds for all of it, retries included.
            max_output_tokens: Longer answers are cut off, and are then an error.
            max_chars: The longest text that can be used, for models that pick sentences.

        Raises:
            ModelBudgetError: The tokens of the day are spent.
            ModelCannotError: An object was asked of a model that only picks sentences.
            ModelTimeoutError: Time was over.
            ModelUnavailableError: It could not answer, to the last attempt.
            ModelRefusedError: It will not answer this.
            ModelAccessError: It will not answer anything: a wrong key, account or name.
            ModelOutputError: Its answer was cut off, or was twice not of the form asked for.
        """
        if output is not None and self.extractive:
            raise ModelCannotError(
                f"the model {self.name!r} picks sentences and cannot decide ({purpose}): "
                "set COMMONPLACE_MODEL to a language model, or fall back on a rule"
            )
        request = Request(
            prompt=prompt,
            system=system,
            output=output,
            max_output_tokens=max_output_tokens,
            max_chars=max_chars,
        )
        allowed_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            return await self._within(allowed_s, request, purpose)
        except ModelError:
            self.ledger.add_failure(purpose)
            raise

    async def aclose(self) -> None:
        """Give back the connections of the backend, if there is one yet. A later call connects again."""
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.aclose()

    async def _within(self, allowed_s: float, request: Request, purpose: str) -> Completion[BaseModel | None]:
        ends_at = asyncio.get_running_loop().time() + allowed_s
        scope = asyncio.timeout_at(ends_at)
        try:
            async with scope:
                return await self._answer(request, _Call(purpose=purpose, ends_at=ends_at))
        except TimeoutError:
            if not scope.expired():
                raise
            message = f"the model {self.name!r} gave no answer within {allowed_s:g} s ({purpose})"
            raise ModelTimeoutError(message) from None

    async def _answer(self, request: Request, call: _Call) -> Completion[BaseModel | None]:
        reply = await self._send(request, call)
        if request.output is None:
            return self._completion(reply, None, reply.usage)
        try:
            return self._completion(reply, read_answer(reply.text, request.output), reply.usage)
        except AnswerError as error:
            fault = str(error)
        _log.info("%s answered %s in a wrong form, asked again: %s", self.name, call.purpose, fault)
        again = replace(request, prompt=ask_again(request.prompt, answer=reply.text, fault=fault))
        second = await self._send(again, call)
        try:
            value = read_answer(second.text, request.output)
        except AnswerError as error:
            raise ModelOutputError(
                f"the model {self.name!r} answered twice without a valid {request.output.__name__} "
                f"({call.purpose}): {error}"
            ) from None
        return self._completion(second, value, reply.usage + second.usage)

    async def _send(self, request: Request, call: _Call) -> Reply:
        """Ask until an answer comes, a pause would outlast the time, or the attempts are used up."""
        pauses = self._retries.pauses(self._chance)
        while True:
            self.ledger.require_budget()
            try:
                reply = await (await self._connected()).send(request)
                break
            except ModelUnavailableError as error:
                self.ledger.add_unavailable(call.purpose)
                await self._pause(next(pauses, None), error, call)
        self.ledger.add_answer(call.purpose, reply.usage)
        if reply.cut_off:
            raise ModelOutputError(
                f"the answer of the model {self.name!r} ({call.purpose}) was cut off at "
                f"max_output_tokens={request.max_output_tokens}"
            )
        return reply

    async def _pause(self, pause_s: float | None, error: ModelUnavailableError, call: _Call) -> None:
        """Wait before the next attempt, at least as long as the server asks.

        Raises:
            ModelUnavailableError: ``error`` itself, when there is no next attempt.
        """
        if pause_s is None:
            raise error
        wait_s = max(pause_s, error.retry_after_s or 0.0)
        if asyncio.get_running_loop().time() + wait_s >= call.ends_at:
            raise error
        _log.info("%s (%s), asked again in %.1f s: %s", self.name, call.purpose, wait_s, error)
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
