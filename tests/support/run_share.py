"""What the processes of one run of tests share: servers and files that each of them would make for itself.

The first process that needs a thing makes it, and the last process that ends deletes all of them.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from commonplace.storage.embedded import remove_cluster
from support.pooler import MODE

WORKER: Final = os.environ.get("PYTEST_XDIST_WORKER")
"""The name of this process of tests, such as ``gw3``; unset where there is only one."""

RUN: Final = os.getpid() if WORKER is None else os.getppid()
"""The process that began the run."""

GROUP: Final = 0 if WORKER is None else int(WORKER.removeprefix("gw")) // (4 if MODE is None else 1)
"""The processes that use one database server: at most four, because it allows 100 connections."""

DELETE: Final = "delete"


class RunShare:
    """A directory in which the processes of a run note what they have made.

    Attributes:
        directory: A directory for what is made.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self._notes = directory / "made.json"
        self._lock = FileLock(directory / "lock")
        self._users = (directory / "users").open("w")
        with self._lock:
            fcntl.flock(self._users, fcntl.LOCK_SH)

    def once(
        self, name: str, make: Callable[[], Any], *, holds: Callable[[Any], bool] = lambda _: True
    ) -> Any:  # noqa: ANN401 - JSON
        """Return what the first call with this name in any process made, which JSON can hold.

        If what was made does not hold any more, it is made again.
        """
        with self._lock:
            notes = self._read()
            if name not in notes or not holds(notes[name]):
                notes[name] = make()
                self._write(notes)
            return notes[name]

    def delete_at_end(self, directory: Path) -> None:
        """Let the last process delete a directory, with the database server in it, if any."""
        with self._lock:
            self._write(self._read() | {str(directory): DELETE})

    def leave(self) -> None:
        """Leave; the last process deletes what was made. The next one that joins makes it again."""
        with self._lock, self._users:
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            for name, value in self._read().items():
                if value == DELETE:
                    _delete(Path(name))
            self._write({})

    def _read(self) -> dict[str, Any]:
        return json.loads(self._notes.read_text()) if self._notes.exists() else {}

    def _write(self, notes: dict[str, Any]) -> None:
        self._notes.write_text(json.dumps(notes))


def _delete(directory: Path) -> None:
    if (directory / "data").is_dir():
        remove_cluster(directory)
    shutil.rmtree(directory, ignore_errors=True)
