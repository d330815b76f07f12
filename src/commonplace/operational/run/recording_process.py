"""Which process records a session, and whether it still does.

A process that is killed leaves its session running in the table. On one machine its id and start time tell that it
is gone; of another machine, or in another container, only the time when it was last seen can.
"""

import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

import psutil

SEEN_EVERY_S: Final = 60.0
"""How often a process notes that it still records a session."""

LOST_AFTER: Final = timedelta(minutes=10)
"""From then on a session of another machine or container that was not seen is taken for lost."""

_SAME_START: Final = timedelta(seconds=2)
"""Start times are counted from the machine's boot, whose time moves a little with the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process: where it runs, its id there, and when it started, because ids are used again."""

    host: str
    pid: int
    started_at: datetime


@cache
def this_process() -> ProcessIdentity:
    """Return the identity of this process."""
    process = psutil.Process()
    return ProcessIdentity(host=_host(), pid=process.pid, started_at=_started_at(process))


def is_gone(recorder: ProcessIdentity, *, seen_at: datetime, now: datetime) -> bool:
    """Tell whether nobody records a session any more.

    Args:
        recorder: The process that began to.
        seen_at: When it last said so.
        now: The present.
    """
    if recorder.host != this_process().host:
        return now - seen_at > LOST_AFTER
    try:
        process = psutil.Process(recorder.pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return ended or abs(_started_at(process) - recorder.started_at) > _SAME_START
    except psutil.NoSuchProcess:
        return True


def _host() -> str:
    """Return the name of this machine, and on Linux what process ids count in: containers may share the name."""
    try:
        return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started_at(process: psutil.Process) -> datetime:
    return datetime.fromtimestamp(process.create_time(), UTC)
