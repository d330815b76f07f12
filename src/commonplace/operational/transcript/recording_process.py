"""The process that records a session: its identity, and the sessions whose process is gone."""

import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from commonplace.operational.model.processes import RecordingProcess
from commonplace.operational.model.sessions import Session
from commonplace.operational.store import sessions
from commonplace.operational.store.statements import OperationalStatements

SEEN_EVERY_S: Final = 60.0
"""The interval at which a process stores that it is still recording a session."""

LOST_AFTER: Final = timedelta(minutes=10)
"""A session on another machine or container counts as lost if it was not seen for this long."""

PID_SPACE: Final = Path("/proc/self/ns/pid")
"""The link that names the PID namespace on Linux."""

_SAME_START_S: Final = 2.0
"""Tolerance of start times, which are counted from the boot time; the boot time shifts slightly with the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProcess:
    """The id of a process and its start in seconds since the epoch, because process ids are reused."""

    pid: int
    started: float

    def find(self) -> psutil.Process | None:
        """Return the process, or ``None`` if it has ended or its id belongs to another process."""
        try:
            process = psutil.Process(self.pid)
            return process if abs(process.create_time() - self.started) <= _SAME_START_S else None
        except psutil.NoSuchProcess:
            return None


@cache
def this_process() -> RecordingProcess:
    """Return the identity of this process."""
    process = psutil.Process()
    started_at = datetime.fromtimestamp(process.create_time(), UTC)
    return RecordingProcess(host=_host(), pid=process.pid, started_at=started_at)


def is_gone(recorder: RecordingProcess, *, seen_at: datetime, now: datetime) -> bool:
    """Return whether a session is no longer being recorded.

    On this machine the process is looked up; for another machine or container, only the last time that the session was
    seen can tell.
    """
    if recorder.host != this_process().host:
        return now - seen_at > LOST_AFTER
    process = SeenProcess(pid=recorder.pid, started=recorder.started_at.timestamp()).find()
    try:
        return process is None or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _host() -> str:
    """Return the name of this machine and, on Linux, of its PID namespace, because containers may share the name."""
    try:
        return f"{socket.gethostname()} {PID_SPACE.readlink()}"
    except OSError:
        return socket.gethostname()


async def interrupt_lost(sql: OperationalStatements, now: datetime) -> list[Session]:
    """End running sessions whose recording process is gone, and return them, oldest first.

    A session ends at the time when it was last seen. A session that is marked as interrupted by mistake corrects its
    row when it ends.
    """
    lost = [
        session
        for session in await sessions.running(sql)
        if is_gone(session.recorder, seen_at=session.seen_at, now=now)
    ]
    ended = [await sessions.interrupt(sql, session) for session in lost]
    return [session for session in ended if session is not None]
