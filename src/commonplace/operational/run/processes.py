"""Processes of a run: the agent, and tools that outlive the agent.

The claude CLI starts its tools in separate sessions. After the CLI ends, the tools belong to init, and neither their
group nor their parent shows their origin. Two things do: the mark of the run in the environment, which each process
inherits, and the list of descendants seen while the CLI was alive, for tools that clear their environment.
"""

import contextlib
from collections.abc import Collection, Iterable
from typing import Final
from uuid import uuid4

import psutil

from commonplace.llm.process_tree import kill_found
from commonplace.operational.transcript.recording_process import SeenProcess

MARK_VARIABLE: Final = "CLAUDEOPS_RUN"
"""The variable with the mark of the run. A process that clears it and leaves its parent is not found."""


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
