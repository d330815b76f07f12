"""What a session must not wait for: a database that is gone, or that does not answer.

Source: KNW-24. Memory failing never stops the agent; what breaks an invariant is raised all the same.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import asyncpg

from commonplace.core.errors import EmbeddingError, StorageError, StorageUnavailableError
from commonplace.knowledge.database import KnowledgeDatabase
from commonplace.knowledge.unit_of_work import unit_of_work

PATIENCE_S: Final = 1.5
"""After this long without a result, the database is asked whether it is there."""

ANSWER_S: Final = 1.0
"""How soon it must say so."""

WAITS: Final = 10
"""Time is waited for in so many parts. While a model is loaded this process itself may stand still for a second, which
is then one part of them, and does not look as if the database had been silent for all of it."""

FIRST_OPENING_S: Final = 20.0
"""A first start sets up a server and loads a model; it is under way, and worth waiting for."""

OUTAGES: Final = (StorageError, EmbeddingError)
"""What a session goes on without."""

_T = TypeVar("_T")
_given_up: set[asyncio.Task[Any]] = set()


async def open_soon(database: KnowledgeDatabase) -> asyncpg.Pool:
    """Return the pool; wait long for a first opening, and not for one that follows a failure.

    Raises:
        StorageError: It cannot be opened, or not soon enough.
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
    """Do some work on the database for as long as the database answers, however long the work takes.

    Work that is slow for other reasons, such as a queue before the embedding model, is not given up. Who asks for an
    answer may have to queue for a connection, so work of others that ended meanwhile is an answer too. To cancel a
    statement on a server that hangs may hang as well, so the work is left behind, not waited for.

    Raises:
        StorageUnavailableError: The server does not answer; whether the work was done is not known.
    """
    loop, task = asyncio.get_running_loop(), asyncio.create_task(work)

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
        """Its tenant was set: the server answers."""


async def _one_ends_within(seconds: float, *tasks: asyncio.Task[Any]) -> bool:
    for _ in range(WAITS):
        if (await asyncio.wait(tasks, timeout=seconds / WAITS, return_when=asyncio.FIRST_COMPLETED))[0]:
            return True
    return False


def _ended_well(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _leave(task: asyncio.Task[Any]) -> None:
    """End a task without waiting for its end; one that has ended stays as it is."""
    if not task.done():
        _given_up.add(task)
        task.add_done_callback(_forget)
        task.cancel()


def _forget(task: asyncio.Task[Any]) -> None:
    _given_up.discard(task)
    if not task.cancelled():
        task.exception()
