"""Outages: limits on how long a session waits for a database that is down or does not answer.

A failure of memory never stops the agent; broken invariants are still raised. Source: KNW-24.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import asyncpg

from commonplace.core.errors import EmbeddingError, StorageError, StorageUnavailableError
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.storage.request_claims import include_in_request

PATIENCE_S: Final = 1.5
"""The time without a result after which the database is checked for life."""

ANSWER_S: Final = 1.0
"""Time limit of that check."""

WAITS: Final = 10
"""The number of parts of each wait. This process may itself block for a second while it loads a model; that second
counts as one part, not as silence of the database during the whole wait."""

FIRST_OPENING_S: Final = 20.0
"""Time limit of a first opening, which may set up a server and load a model."""

OUTAGES: Final = (StorageError, EmbeddingError)
"""The errors of an outage, after which a session continues without memory."""

_T = TypeVar("_T")
_given_up: set[asyncio.Task[Any]] = set()


async def open_soon(database: KnowledgeDatabase) -> asyncpg.Pool:
    """Return the pool; wait long for a first opening, but only briefly after a failure.

    Raises:
        StorageError: The database cannot be opened in time.
    """
    patience_s = PATIENCE_S if database.was_tried else FIRST_OPENING_S
    try:
        async with asyncio.timeout(patience_s):
            return await database.pool()
    except TimeoutError:
        raise StorageUnavailableError(f"knowledge memory is not open after {patience_s:g} s") from None


async def while_it_answers(
    database: KnowledgeDatabase, pool: asyncpg.Pool, work: Coroutine[Any, Any, _T]
) -> _T:
    """Wait for some work as long as the database answers, and return the result.

    Slow work is not given up while the database answers. The liveness check may queue for a connection, so other work
    that has ended in the meantime counts as an answer. Cancelling a statement on a hanging server may hang too, so the
    work is abandoned without waiting for its end.

    Raises:
        StorageUnavailableError: The server does not answer; the work may or may not be done.
    """
    loop, task = asyncio.get_running_loop(), asyncio.create_task(work)
    include_in_request(task)

    def note(ended: asyncio.Task[_T]) -> None:
        if _ended_well(ended):
            database.answered_at = loop.time()

    task.add_done_callback(note)
    try:
        while not await _one_ends_within(PATIENCE_S, task):
            asked_at = loop.time()
            probe = asyncio.create_task(_ask(pool))
            await _one_ends_within(ANSWER_S, task, probe)
            answered = _ended_well(probe) or database.answered_at >= asked_at
            _leave(probe)
            if not (task.done() or answered):
                raise StorageUnavailableError("the database of knowledge memory does not answer")
        return task.result()
    finally:
        _leave(task)


async def _ask(pool: asyncpg.Pool) -> None:
    async with unit_of_work(pool, readonly=True):
        """Do nothing, because the server has already answered by setting the tenant."""


async def _one_ends_within(seconds: float, *tasks: asyncio.Task[Any]) -> bool:
    for _ in range(WAITS):
        if (await asyncio.wait(tasks, timeout=seconds / WAITS, return_when=asyncio.FIRST_COMPLETED))[0]:
            return True
    return False


def _ended_well(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _leave(task: asyncio.Task[Any]) -> None:
    """Cancel a task that still runs, without waiting for its end."""
    if not task.done():
        _given_up.add(task)
        task.add_done_callback(_forget)
        task.cancel()


def _forget(task: asyncio.Task[Any]) -> None:
    _given_up.discard(task)
    if not task.cancelled():
        task.exception()
