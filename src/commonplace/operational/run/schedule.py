"""Schedule of sessions, and requests to stop it or a session."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from commonplace.core.clock import Clock
from commonplace.core.errors import CommonplaceError

MAX_WAIT_S: Final = 60.0
"""The longest single wait, so that a changed clock or a suspended machine is noticed within a minute."""

Wait = Callable[[float], Awaitable[bool]]
"""Waits a number of seconds, or until asked to stop; returns whether a stop was requested."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class Stop:
    """A request to stop, set by a signal handler; create it inside the event loop.

    Attributes:
        asked: Set by the first signal: end gracefully.
        insisted: Set by the second signal: end at once.
        signal: The number of the first signal.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self.signal: int | None = None

    def ask(self, signal: int | None = None) -> None:
        """Ask to stop; a second call insists."""
        if self.asked.is_set():
            self.insisted.set()
        else:
            self.signal = signal
            self.asked.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait until asked to stop, or until the timeout; return whether a stop was requested."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.asked.wait()
        except TimeoutError:
            return False
        return True

    async def interrupts(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Await some work, and cancel it when asked to stop; return its result, or ``None`` if it was cancelled."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.wait({working, stopping})


def first_due(last_started_at: datetime | None, every: timedelta, now: datetime) -> datetime:
    """Return when the first session is due: an interval after the last scheduled one, or now.

    A service that restarts often must not start a session at each restart.
    """
    if last_started_at is None:
        return now
    return min(max(last_started_at + every, now), now + every)


def next_due(due: datetime, every: timedelta, now: datetime) -> datetime:
    """Return the first time after now that is a whole number of intervals after a due time.

    This keeps the schedule from drifting; missed sessions are skipped.
    """
    if due > now:
        return min(due, now + every)
    return due + every * ((now - due) // every + 1)


async def run_schedule(
    run: Callable[[], Awaitable[object]],
    *,
    every: timedelta,
    due: datetime,
    clock: Clock,
    stop: Stop,
    wait: Wait | None = None,
    on_wait: Callable[[datetime], None] | None = None,
) -> None:
    """Run sessions at their times until asked to stop.

    Args:
        run: Runs one session; its errors are logged and do not end the schedule.
        every: The interval between due times.
        due: The first due time.
        clock: Returns the current time.
        stop: Ends the schedule; a running session watches it too and ends itself.
        wait: Replaces the wait on ``stop``.
        on_wait: Called with each due time before waiting for it.
    """
    wait = wait or stop.wait
    while not stop.asked.is_set():
        if on_wait is not None and due > clock():
            on_wait(due)
        while (left_s := (due - clock()).total_seconds()) > 0:
            if await wait(min(left_s, MAX_WAIT_S)):
                return
            due = min(due, clock() + every)  # The clock may have been set back.
        try:
            await run()
        except CommonplaceError as error:
            log.error("the session did not run: %s", error)  # noqa: TRY400 - an expected error needs no traceback
        except Exception:
            log.exception("the session did not run")
        due = next_due(due, every, clock())
