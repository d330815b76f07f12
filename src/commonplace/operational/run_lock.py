"""One session at a time on one machine, also when a process that ran one was killed and left its agent behind."""

import json
import logging
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from commonplace.core.errors import StorageUnavailableError
from commonplace.llm.process_tree import kill_tree
from commonplace.storage.file_locks import FileLock

FILE: Final = "ops-run.lock"
_MAX_BYTES: Final = 1_000
_SAME_START_S: Final = 2.0

log = logging.getLogger(__name__)


class RunLock:
    """Held while a session runs; the file says which agent that is.

    Args:
        home: The directory of commonplace; made where there is none.

    Raises:
        StorageUnavailableError: There is no writing in the directory.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
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
        """Take the lock if no session runs, ending an agent that was left behind; return whether it was taken."""
        if not self._lock.acquire():
            return False
        self._end_orphan()
        return True

    def name_agent(self, pid: int) -> None:
        """Note which agent runs under the lock, for whoever takes it after this process was killed."""
        try:
            self._write({"pid": pid, "started": psutil.Process(pid).create_time()})
        except (OSError, psutil.Error) as error:
            log.warning("%s: an agent that is left behind could not be found again: %s", self.path, error)

    def forget_agent(self) -> None:
        """Note that the agent has ended."""
        try:
            self._write({})
        except OSError as error:
            log.warning("%s: %s", self.path, error)

    def _end_orphan(self) -> None:
        try:
            found = json.loads(os.pread(self._lock.fileno(), _MAX_BYTES, 0) or b"{}")
            pid, started = int(found["pid"]), float(found["started"])
            agent = psutil.Process(pid)
            if abs(agent.create_time() - started) > _SAME_START_S:
                return
        except (ValueError, KeyError, TypeError, psutil.NoSuchProcess):
            return
        log.warning("ending the agent (process %d) whose commonplace was killed", pid)
        kill_tree(pid)
        self.forget_agent()

    def _write(self, value: dict[str, float]) -> None:
        data = json.dumps(value).encode()
        os.ftruncate(self._lock.fileno(), 0)
        os.pwrite(self._lock.fileno(), data, 0)
