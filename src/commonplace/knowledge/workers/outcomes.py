"""What becomes of each job: written down, tried again, handed back; and jobs whose worker died are taken back."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import asyncpg
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.job_context import AbortReason, JobContext
from procrastinate.worker import Worker

from commonplace.core.errors import CommonplaceError, StorageUnavailableError, UpkeepError
from commonplace.core.text import clean_text
from commonplace.knowledge.workers.queue_work import queue_work

RETRY_AFTER_S: Final = (60, 600)
"""Waits before a job is tried again that failed so often in a row, and does not know when its work is due; after the
last it waits for its schedule."""

AGAIN_IN_S: Final = "again_in_s"
"""The key of a result that asks for the job to be done again after so many seconds. There is no limit to how often:
what waits may wait for long, and one queueing lock keeps it to one job at a time."""

SILENT_S: Final = 30.0
"""A worker that was not heard of for so long is dead; it makes itself heard every ten seconds."""

FORGET_S: Final = 300.0
"""What ended longer ago was looked at often enough."""

MOST_ATTEMPTS: Final = 3
"""A job whose worker died so often may be what kills them."""

LONGEST_WAIT_S: Final = 2 * 3_600.0
"""Twice as long as any job waits to be tried again; one that waits for longer was put off by a clock that was wrong."""

DIED: Final = "the worker that did it died, or lost the database"
HANDED_BACK: Final = "the worker was stopped, and handed the job back"
MAX_ERROR_CHARS: Final = 2_000

_log = logging.getLogger(__name__)


class Outcomes:
    """Wraps every job of a worker: writes down its result or error, and decides whether it is tried again.

    Retrying makes a new job. Procrastinate's own retry puts the old one back, which fails where its successor waits
    already, and then holds the lock for ever.

    Args:
        pool: Of the database.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._ended_at_s: dict[int, float] = {}

    async def wrap(self, call: Callable[[], Awaitable[Any]], context: JobContext, worker: Worker) -> object:
        """Do a job; what it returns must be fit for JSON."""
        del worker
        # A job that was taken back from this very worker is under way again.
        self._ended_at_s.pop(context.job.id or 0, None)
        try:
            result = await call()
        except asyncio.CancelledError:
            await asyncio.shield(self._handed_back(context))
            raise
        except Exception as error:
            await self._failed(context, error)
            raise
        else:
            await self._note(context, result=result)
            await self._granted(context, result)
            return result
        finally:
            if context.job.id is not None:
                self._ended_at_s[context.job.id] = time.monotonic()

    def ended_long_ago(self) -> list[int]:
        """Return jobs that ended so long ago that the queue must know by now, and forget those of long before."""
        now_s = time.monotonic()
        kept = {job: at_s for job, at_s in self._ended_at_s.items() if now_s - at_s < FORGET_S}
        self._ended_at_s = kept
        return [job for job, at_s in kept.items() if now_s - at_s > SILENT_S]

    async def _handed_back(self, context: JobContext) -> None:
        await self._note(context, error=HANDED_BACK)
        if context.abort_reason() is AbortReason.SHUTDOWN:
            await self._defer_again(context, wait_s=0)

    async def _failed(self, context: JobContext, error: Exception) -> None:
        await self._note(context, error=clean_text(f"{type(error).__name__}: {error}")[:MAX_ERROR_CHARS])
        attempt = cast("int", context.job.task_kwargs.get("attempt", 0))
        if isinstance(error, UpkeepError) and error.again_in_s is not None:
            await self._defer_again(context, wait_s=error.again_in_s, attempt=0)
        elif attempt < len(RETRY_AFTER_S):
            await self._defer_again(context, wait_s=RETRY_AFTER_S[attempt], attempt=attempt + 1)

    async def _granted(self, context: JobContext, result: object) -> None:
        if not isinstance(result, dict) or AGAIN_IN_S not in result:
            return
        wait_s = cast("dict[str, float]", result)[AGAIN_IN_S]
        await self._defer_again(context, wait_s=wait_s, attempt=0)

    async def _defer_again(self, context: JobContext, *, wait_s: float, **changes: int) -> None:
        job = context.job
        try:
            async with queue_work(self._pool) as sql:
                # Rounded up: a job that comes early finds nothing due, and has to come once more.
                due_at = await sql.due_in(wait_s=math.ceil(wait_s))
        except StorageUnavailableError as outage:
            _log.warning("%s: cannot be queued again: %s", job.call_string, outage)
            return
        again = context.app.configure_task(
            job.task_name,
            lock=job.lock,
            queueing_lock=job.queueing_lock,
            task_kwargs={**job.task_kwargs, **changes},
            schedule_at=due_at,
        )
        try:
            await again.defer_async()
        except AlreadyEnqueued:
            _log.info("%s: its successor waits already", job.call_string)
        except ConnectorException as error:
            _log.warning("%s: cannot be queued again: %s", job.call_string, error.__cause__ or error)

    async def _note(self, context: JobContext, *, result: object = None, error: str | None = None) -> None:
        try:
            async with queue_work(self._pool) as sql:
                await sql.note_outcome(job_id=context.job.id, result=result, error=error)
        except StorageUnavailableError as outage:
            _log.warning("%s: its outcome cannot be written down: %s", context.job.call_string, outage)


def in_one_line(record: logging.LogRecord) -> bool:
    """Let a job that failed with an error of ours be logged in one line: a filter of Procrastinate's log."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, CommonplaceError):
        record.msg, record.args, record.exc_info = f"{record.getMessage()}: {error}", (), None
    return True


async def take_back(
    pool: asyncpg.Pool, *, worker_id: int, ended: list[int], silent_s: float = SILENT_S
) -> list[int]:
    """Put jobs that nobody does any more back into the queue, and return their ids; see ``take_back_jobs``.

    Args:
        pool: Of the database.
        worker_id: Who asks.
        ended: Jobs of that worker that have ended; the queue may not know, if it was out of reach.
        silent_s: After how long a silent worker counts as dead.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    async with queue_work(pool) as sql:
        rows = await sql.take_back_jobs(
            worker_id=worker_id, ended=ended, silent_s=silent_s, most_attempts=MOST_ATTEMPTS, died=DIED
        )
    for row in rows:
        _log.warning("job %d (%s): %s; now %s", row["id"], row["task_name"], DIED, row["status"])
    return [row["id"] for row in rows]


async def bring_forward(pool: asyncpg.Pool, *, longest_s: float = LONGEST_WAIT_S) -> None:
    """Make jobs due that wait for longer than any does: the clock by which they were put off was set back since.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    async with queue_work(pool) as sql:
        rows = await sql.bring_forward(longest_s=longest_s)
    for row in rows:
        _log.warning(
            "job %d (%s) was put off by a clock that was wrong, and is due now", row["id"], row["task_name"]
        )
