"""Processes that a test watches come and go."""

import time
from collections.abc import Collection
from pathlib import Path

import psutil

from support.deadlines import DEADLINE_S


def ids_when_written(path: Path, count: int = 1) -> list[psutil.Process]:
    """Block until so many lines, each a process id, are in a file, and return the processes.

    Call it off the event loop.
    """
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= count:
            return [psutil.Process(int(line)) for line in lines]
        time.sleep(0.01)
    raise AssertionError(f"{path} never held {count} ids")


def is_running(pid: int) -> bool:
    """Tell whether a process runs at this moment."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def survivors(processes: Collection[psutil.Process]) -> list[psutil.Process]:
    """Return those that have not ended within the deadline; blocks until all have."""
    _, alive = psutil.wait_procs(list(processes), timeout=DEADLINE_S)
    return alive


def is_alive(pid: int) -> bool:
    """Tell whether a process still runs when the deadline is over; blocks until it has ended."""
    try:
        return bool(survivors([psutil.Process(pid)]))
    except psutil.NoSuchProcess:
        return False
