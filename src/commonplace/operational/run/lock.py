"""One session at a time on one machine, also when a process that ran one was killed and left its agent behind."""

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

from commonplace.core.errors import StorageUnavailableError
from commonplace.operational.run.processes import SeenProcess, end_processes
from commonplace.storage.file_locks import FileLock

FILE: Final = "ops-run.lock"
_MOST_TOOLS: Final = 1_000
_MAX_BYTES: Final = 1 << 17
_LONG_AGO_S: Final = 0.0
"""A start that no process has."""

log = logging.getLogger(__name__)


class RunLock:
    """Held while a session runs; the file says which agent that is, and what it started.

    Args:
        home: The directory of commonplace; made where there is none.

    Raises:
        StorageUnavailableError: There is no writing in the directory.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
        self._held: _Held | None = None
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FileLock(self.path)
        except OSError as error:
            raise StorageUnavailableError(f"{self.path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def acquire(self) -> bool:
        """Take the lock if no session runs, ending what an agent left behind; return whether it was taken."""
        if not self._lock.acquire():
            return False
        self._end_left_behind()
        return True

    def name_agent(self, pid: int, mark: str) -> None:
        """Note which agent runs under the lock, for whoever takes it after this process was killed.

        Args:
            pid: Of the agent.
            mark: What its processes carry; see :mod:`commonplace.operational.run.processes`.
        """
        try:
            started = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            # It has ended already, and what it started may not have: the mark still finds that.
            started = _LONG_AGO_S
        self._held = _Held(agent=SeenProcess(pid=pid, started=started), mark=mark)
        self._note(self._held)

    def name_tools(self, tools: Sequence[SeenProcess]) -> None:
        """Note what the agent has started, instead of what was noted before."""
        if self._held is not None:
            self._held = replace(self._held, tools=tuple(tools[:_MOST_TOOLS]))
            self._note(self._held)

    def forget_agent(self) -> None:
        """Note that the agent has ended."""
        self._held = None
        self._note(None)

    def _end_left_behind(self) -> None:
        """End what is left of a run whose commonplace was killed: its agent, and what that had started."""
        held = self._read()
        if held is None:
            return
        agent = held.agent.find()
        if agent is not None:
            log.warning("ending the agent (process %d) whose commonplace was killed", agent.pid)
        known = [agent, *(tool.find() for tool in held.tools)]
        ended = end_processes(held.mark, [process for process in known if process is not None])
        if others := [str(pid) for pid in ended if agent is None or pid != agent.pid]:
            log.warning("ended what a lost session had left running: processes %s", ", ".join(others))
        self.forget_agent()

    def _read(self) -> "_Held | None":
        text = os.pread(self._lock.fileno(), _MAX_BYTES, 0).decode("utf-8", "replace")
        try:
            return _Held.from_document(json.JSONDecoder().raw_decode(text)[0])
        except (ValueError, KeyError, TypeError):
            return None

    def _note(self, held: "_Held | None") -> None:
        data = json.dumps({} if held is None else held.document()).encode()
        try:
            # In this order it is never empty in between; what is behind the document does not count.
            os.pwrite(self._lock.fileno(), data, 0)
            os.ftruncate(self._lock.fileno(), len(data))
        except OSError as error:
            log.warning("%s: an agent that is left behind could not be found again: %s", self.path, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What the file says: an agent, its mark, and what it has started."""

    agent: SeenProcess
    mark: str
    tools: tuple[SeenProcess, ...] = ()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Read what :meth:`document` gives."""
        tools = [SeenProcess(pid=int(pid), started=float(started)) for pid, started in document["tools"]]
        agent = SeenProcess(pid=int(document["pid"]), started=float(document["started"]))
        return cls(agent=agent, mark=str(document["mark"]), tools=tuple(tools))

    def document(self) -> dict[str, Any]:
        """Return what is written."""
        tools = [[tool.pid, tool.started] for tool in self.tools]
        return {"pid": self.agent.pid, "started": self.agent.started, "mark": self.mark, "tools": tools}
