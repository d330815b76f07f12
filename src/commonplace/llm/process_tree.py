"""Ending a process together with everything that it started, sessions of their own included."""

import contextlib
import os
import signal
from collections.abc import Callable

import psutil


def kill_tree(pid: int) -> None:
    """Kill a process that leads its own process group, its descendants, and what is left in its group.

    The claude CLI starts its shells in sessions of their own, out of reach of a signal to the group, and a
    descendant whose parent has died can no longer be found.

    Args:
        pid: A process started with ``start_new_session=True`` that has not been waited for.
    """
    kill_found(lambda: _tree(pid))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_found(look: Callable[[], set[psutil.Process]]) -> set[psutil.Process]:
    """Kill the processes that a look around finds, and return them.

    Everything is stopped first, until a look finds nothing new, and killed then: what runs could start others
    meanwhile, and those whose parents were killed could no longer be found.
    """
    stopped: set[psutil.Process] = set()
    while fresh := look() - stopped:
        for process in fresh:
            with contextlib.suppress(psutil.Error):
                process.suspend()
        stopped |= fresh
    for process in stopped:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return stopped


def _tree(pid: int) -> set[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return {root, *root.children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()
