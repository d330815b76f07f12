"""The processes of a run, found again after the agent that started them has died.

The claude CLI starts its tools in sessions of their own. Once it has ended they belong to init, and no group and no
parent tells whose they were. Two things do: the mark of the run in the environment, which each process inherits from
its parent, and the list of those that were seen while the CLI lived, for tools that clear their environment.
"""

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import psutil

from commonplace.llm.process_tree import kill_found

MARK_VARIABLE: Final = "CLAUDEOPS_RUN"
"""Names the run in the environment of its agent. A process that drops it and leaves its parent is on its own."""

_SAME_START_S: Final = 2.0
"""Start times are counted from the machine's boot, whose time moves a little with the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProcess:
    """A process that was seen: its id, and when it started in seconds since the epoch, because ids are used again."""

    pid: int
    started: float

    def find(self) -> psutil.Process | None:
        """Return the process if it is still there; ``None`` where its id is another's by now."""
        try:
            process = psutil.Process(self.pid)
            return process if abs(process.create_time() - self.started) <= _SAME_START_S else None
        except psutil.NoSuchProcess:
            return None


def new_mark() -> str:
    """Return the mark of a new run."""
    return uuid4().hex


def seen(processes: Iterable[psutil.Process]) -> list[SeenProcess]:
    """Return what finds these processes again, in the order of their ids; those that have ended are left out."""
    found: list[SeenProcess] = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running():
                found.append(SeenProcess(pid=process.pid, started=process.create_time()))
    return sorted(found, key=lambda each: each.pid)


def end_processes(mark: str, known: Collection[psutil.Process]) -> list[int]:
    """Kill all that is left of a run, and return their ids.

    This process, and those that it descends from, are spared: it may itself be a tool of a run that was lost.

    Args:
        mark: The value of ``CLAUDEOPS_RUN`` in the environment of the run.
        known: Those that were seen; one whose id was given to another process is left alone.
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
