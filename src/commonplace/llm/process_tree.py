"""Killing of a process with all its descendants, including those in other sessions."""

import contextlib
import os
import signal
from collections.abc import Callable

import psutil


def kill_tree(pid: int) -> None:
    """Kill the leader of a process group, its descendants, and the rest of its group.

    The claude CLI starts its shells in sessions of their own, which a signal to the group does not reach. A descendant
    whose parent has died can no longer be found.

    The process must have been started with ``start_new_session=True`` and not have been waited for.
    """
    kill_found(lambda: _tree(pid))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_found(look: Callable[[], set[psutil.Process]]) -> set[psutil.Process]:
    """Kill the processes that ``look`` finds, and return them.

    Processes are suspended until ``look`` finds no new ones, and then killed: a running process could start others
    meanwhile, and children of a killed process could no longer be found.
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
