"""Processes of a session: the recording process, the agent, and tools that outlive the agent.

The claude CLI starts its tools in separate sessions. After the CLI ends, the tools belong to init, and neither their
group nor their parent shows their origin. Two things do: the mark of the run in the environment, which each process
inherits, and the list of descendants seen while the CLI was alive, for tools that clear their environment.
"""

import contextlib
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final
from uuid import uuid4

import psutil

from commonplace.llm.process_tree import kill_found

MARK_VARIABLE: Final = "CLAUDEOPS_RUN"
"""The variable with the mark of the run. A process that clears it and leaves its parent is not found."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingProcess:
    """The process that records a session: its machine, its id there, and its start."""

    host: str
    pid: int
    started_at: datetime


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


def new_mark() -> str:
    """Return the mark of a new run."""
    return uuid4().hex


def seen(processes: Iterable[psutil.Process]) -> list[SeenProcess]:
    """Return the ids and starts of processes that still run, by id."""
    found: list[SeenProcess] = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running():
                found.append(SeenProcess(pid=process.pid, started=process.create_time()))
    return sorted(found, key=lambda each: each.pid)


def end_processes(mark: str, known: Collection[psutil.Process]) -> list[int]:
    """Kill all remaining processes of a run, and return their ids.

    This process and its ancestors are not killed, because this process may itself be a tool of a lost run.

    Args:
        mark: The value of ``CLAUDEOPS_RUN`` in the environment of the run.
        known: Processes seen before; a process whose id was reused is not killed.
    """
    spared = {psutil.Process(), *psutil.Process().parents()}
    killed = kill_found(lambda: (_with_descendants(known) | _marked(mark)) - spared)
    return sorted(process.pid for process in killed)


def _with_descendants(known: Collection[psutil.Process]) -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    for process in known:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found |= {process, *process.children(recursive=True)}
    return found


def _marked(mark: str) -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        # The environment of other users' processes cannot be read.
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK_VARIABLE) == mark:
                found.add(process)
    return found


def _host() -> str:
    """Return the name of this machine and, on Linux, of its PID namespace, because containers may share the name."""
    try:
        return f"{socket.gethostname()} {PID_SPACE.readlink()}"
    except OSError:
        return socket.gethostname()
