"""Claims of requests, so that a request with a key takes effect once, whichever process it reaches.

A transaction of a request marks the claim, so that a process that lost its claim cannot change anything. The
transaction stays open until the response is known and is committed together with it. If the request uses a database
again before that, the transaction is committed without a response. Source: docs/adr/0011-the-service.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from commonplace.storage.rows import Noun


class RequestConflict(StrEnum):
    """Reasons why a request with a key is not run."""

    RUNNING = "running"
    """The request is running, or its process died a moment ago."""
    REUSED = "reused"
    """The key belongs to another request."""
    LOST = "lost"
    """The request changed something, and its process died before it stored the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer(Noun):
    """The answer of a request.

    Attributes:
        status: The HTTP status.
        media_type: The media type of the body; empty without a body.
        location: The header ``Location``, or an empty text.
        body: The body.
    """

    status: int
    media_type: str
    location: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTransaction:
    """A transaction that waits for the answer of its request.

    Attributes:
        stack: Commits the transaction when it is closed.
        place: The database.
        keep: Stores the answer in the transaction.
    """

    stack: AsyncExitStack
    place: str
    keep: Callable[[KeptAnswer], Awaitable[object]]


class _RolledBackError(Exception):
    """Rolls a transaction back; never raised outside this module."""


@dataclass(slots=True, kw_only=True)
class RequestClaim:
    """The right of a process to run a request.

    Attributes:
        tenant_id: The tenant of the request.
        key: The key that the client chose.
        fingerprint: A hash of the whole request and of its caller.
        id: An id that differs for each attempt.
    """

    tenant_id: str
    key: str
    fingerprint: str
    id: UUID = field(default_factory=uuid4)
    _places: set[str] = field(default_factory=set[str], init=False)
    _held: HeldTransaction | None = field(default=None, init=False)
    _error: Exception | None = field(default=None, init=False)
    _tasks: set[asyncio.Task[Any] | None] = field(default_factory=set["asyncio.Task[Any] | None"], init=False)
    _ending: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def is_applied(self) -> bool:
        """Whether a transaction of the request was committed."""
        return bool(self._places)

    @contextmanager
    def running(self) -> Generator[None]:
        """Run a request under this claim inside the block; work that outlives the block does not mark the claim."""
        token = _current.set(self)
        self._tasks.add(asyncio.current_task())
        try:
            yield
        finally:
            _current.reset(token)
            self._tasks.clear()

    @property
    def is_running(self) -> bool:
        """Whether the request still runs."""
        return bool(self._tasks)

    def must_mark(self, place: str) -> bool:
        """Return whether the next transaction of a database must mark the claim."""
        return place not in self._places

    def include(self, task: asyncio.Task[Any]) -> None:
        """Count a task as part of the request, which waits for it."""
        self._tasks.add(task)

    async def hold(self, transaction: HeldTransaction) -> None:
        """Hold a transaction for the answer; commit one of a task that the request may not wait for."""
        await self.commit()
        if asyncio.current_task() in self._tasks:
            self._held = transaction
        else:
            await transaction.stack.aclose()
            self.mark(transaction.place)

    def mark(self, place: str) -> None:
        """Remember that a transaction of a database was committed."""
        self._places.add(place)

    async def commit(self, answer: KeptAnswer | None = None) -> None:
        """Commit the transaction that waits for the answer, if any, together with the answer.

        Raises:
            StorageUnavailableError: The database cannot be reached, now or when the request used it again.
        """
        async with self._ending:
            if self._error is not None:
                raise self._error
            held, self._held = self._held, None
            if held is None:
                return
            try:
                async with held.stack:
                    if answer is not None:
                        await held.keep(answer)
            except Exception as error:
                self._error = error
                raise
            self.mark(held.place)

    async def roll_back(self) -> None:
        """Roll the transaction back that waits for the answer, if any."""
        async with self._ending:
            held, self._held = self._held, None
            if held is not None:
                with suppress(_RolledBackError):
                    async with held.stack:
                        raise _RolledBackError


_current: ContextVar[RequestClaim | None] = ContextVar("commonplace_claim", default=None)


def include_in_request(task: asyncio.Task[Any]) -> None:
    """Count a task as part of the current request, if one runs under a claim; the request waits for the task."""
    claim = _current.get()
    if claim is not None and claim.is_running:
        claim.include(task)


async def claim_of_request() -> RequestClaim | None:
    """Return the claim of the current request, if any, and commit the transaction that waits for its answer.

    Every transaction and view begins with this call, so that it sees what the request has changed and does not wait
    for a lock of the request itself.
    """
    claim = _current.get()
    if claim is None or not claim.is_running:
        return None
    await claim.commit()
    return claim
