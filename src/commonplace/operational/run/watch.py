"""A schedule of sessions: one after the other, at fixed times, whatever became of the last."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.clock import Clock
from commonplace.core.errors import CommonplaceError
from commonplace.operational.run.stop import Stop

MAX_WAIT_S: Final = 60.0
"""The longest wait in one piece: a machine that slept, or whose clock was set, is noticed so late at most."""

Wait = Callable[[float], Awaitable[bool]]
"""Waits so many seconds, or until asked to stop; returns whether it was."""

log = logging.getLogger(__name__)


def first_due(last_started_at: datetime | None, every: timedelta, now: datetime) -> datetime:
    """Return when the first session is due: an interval after the last one of its kind, else at once.

    A service that is restarted again and again must not start a session each time.
    """
    if last_started_at is None:
        return now
    return min(max(last_started_at + every, now), now + every)


def next_due(due: datetime, every: timedelta, now: datetime) -> datetime:
    """Return the first time after now that is whole intervals from a due one.

    However long sessions take, times do not drift; those that were missed are not made up for.
    """
    if due > now:
        return min(due, now + every)
    return due + every * ((now - due) // every + 1)


async def watch(
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
        run: Runs one to its end. Its errors are logged and end nothing.
        every: From one due time to the next.
        due: When the first is.
        clock: Gives the present.
        stop: Ends the schedule; a session that runs ends by itself when it is asked.
        wait: In place of waiting on ``stop``.
        on_wait: Called with each due time that is waited for.
    """
    wait = wait or stop.wait
    while True:
        if on_wait is not None and due > clock():
            on_wait(due)
        while (left_s := (due - clock()).total_seconds()) > 0:
            if await wait(min(left_s, MAX_WAIT_S)):
                return
            due = min(due, clock() + every)  # the clock may have been set back
        if stop.asked.is_set():
            return
        try:
            await run()
        except CommonplaceError as error:
            log.error("the session did not run: %s", error)  # noqa: TRY400 - expected, its words say it all
        except Exception:
            log.exception("the session did not run")
        if stop.asked.is_set():
            return
        due = next_due(due, every, clock())
