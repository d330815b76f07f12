"""Outcomes of jobs: recording, retrying and returning jobs, and taking back the jobs of dead workers."""

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
from commonplace.knowledge.store.queue_work import queue_work

RETRY_AFTER_S: Final = (60, 600)
"""The pauses before a failed job is retried, if its error names no time; after the last pause, the job waits for its
schedule."""

AGAIN_IN_S: Final = "again_in_s"
"""The key of a result that makes the job run again after a number of seconds, any number of times; a queueing lock
limits this to one job at a time."""

SILENT_S: Final = 30.0
"""Seconds without a heartbeat after which a worker counts as dead; workers send one every ten seconds."""

FORGET_S: Final = 300.0
"""Seconds for which an ended job is remembered."""

MOST_ATTEMPTS: Final = 3
"""Number of attempts after which a job whose workers died fails, because the job may be the cause."""

LONGEST_WAIT_S: Final = 2 * 3_600.0
"""Twice the longest wait of a job; a longer wait comes from a wrong clock."""

DIED: Final = "the worker of the job died, or lost the database"
RETURNED: Final = "the worker was stopped and returned the job"
MAX_ERROR_CHARS: Final = 2_000

_log = logging.getLogger(__name__)


class Outcomes:
    """Wrapper of every job of a worker, which records the result or error and decides whether to retry.

    A retry is a new job. Procrastinate's own retry requeues the old job, which fails if its successor already waits and
    then holds the lock forever.

    Args:
        pool: The pool of the knowledge database.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._ended_at_s: dict[int, float] = {}

    async def wrap(self, call: Callable[[], Awaitable[Any]], context: JobContext, worker: Worker) -> object:
        """Run a job; its result must be JSON-safe."""
        del worker
        # A job that was taken from this worker is running here again.
        self._ended_at_s.pop(context.job.id or 0, None)
        try:
            result = await call()
        except asyncio.CancelledError:
            await asyncio.shield(self._returned(context))
            raise
        except Exception as error:
            await self._failed(context, error)
            raise
        else:
            await self._note(context, result=result)
            await self._again_if_asked(context, result)
            return result
        finally:
            if context.job.id is not None:
                self._ended_at_s[context.job.id] = time.monotonic()

    def ended_long_ago(self) -> list[int]:
        """Return ended jobs whose end the queue should know by now, and forget older jobs."""
        now_s = time.monotonic()
        kept = {job: at_s for job, at_s in self._ended_at_s.items() if now_s - at_s < FORGET_S}
        self._ended_at_s = kept
        return [job for job, at_s in kept.items() if now_s - at_s > SILENT_S]

    async def take_back(self, worker_id: int) -> None:
        """Requeue jobs that no worker does any more.

        Raises:
            StorageUnavailableError: The server cannot be reached.
        """
        taken = await take_back(self._pool, worker_id=worker_id, ended=self.ended_long_ago())
        # The worker may soon run these jobs again, so its next query must not name them.
        for job in set(taken).intersection(self.ended_long_ago()):
            del self._ended_at_s[job]

    async def _returned(self, context: JobContext) -> None:
        await self._note(context, error=RETURNED)
        if context.abort_reason() is AbortReason.SHUTDOWN:
            await self._defer_again(context, wait_s=0)

    async def _failed(self, context: JobContext, error: Exception) -> None:
        await self._note(context, error=clean_text(f"{type(error).__name__}: {error}")[:MAX_ERROR_CHARS])
        attempt = cast("int", context.job.task_kwargs.get("attempt", 0))
        if isinstance(error, UpkeepError) and error.again_in_s is not None:
            await self._defer_again(context, wait_s=error.again_in_s, attempt=0)
        elif attempt < len(RETRY_AFTER_S):
            await self._defer_again(context, wait_s=RETRY_AFTER_S[attempt], attempt=attempt + 1)

    async def _again_if_asked(self, context: JobContext, result: object) -> None:
        if not isinstance(result, dict) or AGAIN_IN_S not in result:
            return
        wait_s = cast("dict[str, float]", result)[AGAIN_IN_S]
        await self._defer_again(context, wait_s=wait_s, attempt=0)

    async def _defer_again(self, context: JobContext, *, wait_s: float, **changes: int) -> None:
        job = context.job
        try:
            async with queue_work(self._pool) as sql:
                # Rounded up, because a job that starts early finds nothing due and must run again.
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
            _log.info("%s: its successor already waits", job.call_string)
        except ConnectorException as error:
            _log.warning("%s: cannot be queued again: %s", job.call_string, error.__cause__ or error)

    async def _note(self, context: JobContext, *, result: object = None, error: str | None = None) -> None:
        try:
            async with queue_work(self._pool) as sql:
                await sql.note_outcome(job_id=context.job.id, result=result, error=error)
        except StorageUnavailableError as outage:
            _log.warning("%s: its outcome cannot be recorded: %s", context.job.call_string, outage)


def in_one_line(record: logging.LogRecord) -> bool:
    """Log a job that failed with our own error in one line: a filter for Procrastinate's log."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, CommonplaceError):
        record.msg, record.args, record.exc_info = f"{record.getMessage()}: {error}", (), None
    return True


async def take_back(
    pool: asyncpg.Pool, *, worker_id: int, ended: list[int], silent_s: float = SILENT_S
) -> list[int]:
    """Requeue jobs that no worker does any more, and return their ids; see ``take_back_jobs``.

    Args:
        pool: The pool of the knowledge database.
        worker_id: The worker that asks.
        ended: Ended jobs of that worker; the queue may have missed their end during an outage.
        silent_s: The silence after which a worker counts as dead.

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
    """Make jobs due that wait too long, because a wrong clock postponed them.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    async with queue_work(pool) as sql:
        rows = await sql.bring_forward(longest_s=longest_s)
    for row in rows:
        _log.warning("job %d (%s) was postponed by a wrong clock and is due now", row["id"], row["task_name"])
