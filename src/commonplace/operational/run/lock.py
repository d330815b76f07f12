"""Lock that allows one session at a time per machine, and ends an agent whose commonplace process was killed."""

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.operational.run.processes import end_processes
from commonplace.operational.transcript.recording_process import SeenProcess
from commonplace.storage.file_locks import FileLock

FILE: Final = "ops-run.lock"
_MOST_TOOLS: Final = 1_000
_MAX_BYTES: Final = 1 << 17
_LONG_AGO_S: Final = 0.0
"""A start time that no process has."""

log = logging.getLogger(__name__)


class RunLock:
    """A lock held while a session runs; its file names the agent and the agent's tools.

    Args:
        home: The home of commonplace; created if it does not exist.

    Raises:
        StorageUnavailableError: The directory cannot be written.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
        self._held: _Held | None = None
        try:
            make_directories(home)
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
        """Take the lock if no session runs, and end processes of a lost session; return whether the lock was taken."""
        if not self._lock.acquire():
            return False
        self._end_left_behind()
        return True

    def name_agent(self, pid: int, mark: str) -> None:
        """Write the agent to the file, in case this process is killed and the next holder must end the agent."""
        try:
            started = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            # The agent has ended, but its tools may still run; the mark finds them.
            started = _LONG_AGO_S
        self._held = _Held(agent=SeenProcess(pid=pid, started=started), mark=mark)
        self._note(self._held)

    def name_helper(self, mark: str) -> None:
        """Write the mark of a CLI that is asked after the session, in case this process is killed meanwhile."""
        self._held = _Held(agent=SeenProcess(pid=os.getpid(), started=_LONG_AGO_S), mark=mark)
        self._note(self._held)

    def name_tools(self, tools: Sequence[SeenProcess]) -> None:
        """Replace the agent's tools in the file."""
        if self._held is not None:
            self._held = replace(self._held, tools=tuple(tools[:_MOST_TOOLS]))
            self._note(self._held)

    def forget_agent(self) -> None:
        """Remove the agent from the file."""
        self._held = None
        self._note(None)

    def _end_left_behind(self) -> None:
        """End the agent and the tools of a run whose commonplace was killed."""
        held = self._read()
        if held is None:
            return
        agent = held.agent.find()
        if agent is not None:
            log.warning(
                "ending the agent (process %d), because its commonplace process was killed", agent.pid
            )
        known = [agent, *(tool.find() for tool in held.tools)]
        ended = end_processes(held.mark, [process for process in known if process is not None])
        if others := [str(pid) for pid in ended if agent is None or pid != agent.pid]:
            log.warning("ended processes left running by a lost session: %s", ", ".join(others))
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
            # In this order the file is never empty; text after the document is ignored.
            os.pwrite(self._lock.fileno(), data, 0)
            os.ftruncate(self._lock.fileno(), len(data))
        except OSError as error:
            log.warning(
                "%s: cannot be written, so a lost agent could not be found later: %s", self.path, error
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """The content of the file: an agent, its mark, and its tools."""

    agent: SeenProcess
    mark: str
    tools: tuple[SeenProcess, ...] = ()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Read a document."""
        tools = [SeenProcess(pid=int(pid), started=float(started)) for pid, started in document["tools"]]
        agent = SeenProcess(pid=int(document["pid"]), started=float(document["started"]))
        return cls(agent=agent, mark=str(document["mark"]), tools=tuple(tools))

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        tools = [[tool.pid, tool.started] for tool in self.tools]
        return {"pid": self.agent.pid, "started": self.agent.started, "mark": self.mark, "tools": tools}
