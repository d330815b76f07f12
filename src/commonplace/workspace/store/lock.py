"""A file lock that holds across threads and processes."""

import fcntl
import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageUnavailableError
from commonplace.workspace.store.durable import KeptFile

_FIRST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.02


class LockFile(KeptFile):
    """A lock on a file that excludes other threads and processes; the file is created if it does not exist.

    The file stays open, because opening takes longer than locking. Only one thread at a time may use an object; two
    objects exclude each other, even within one process. If the lock file was removed or replaced, the lock is taken on
    the file that is now at the path. A forked process opens the file itself.

    Args:
        prepare: Called before the file is opened, to create or check its directory.
        timeout_s: How long to wait for another holder.
    """

    def __init__(self, path: Path, *, prepare: Callable[[], None], timeout_s: float) -> None:
        self._path = path
        self._prepare = prepare
        self._timeout_s = timeout_s
        self._identity = (0, 0)
        _every.add(self)

    def __enter__(self) -> int:
        """Take the lock, and return the descriptor of the file, open for reading and writing.

        The system releases the lock when its holder ends for any reason.

        Raises:
            StorageUnavailableError: Another holder kept the lock for too long.
            OSError: The lock file cannot be opened.
        """
        descriptor = self._try_lock()
        return self._wait_for_lock() if descriptor is None else descriptor

    def __exit__(self, *_: object) -> None:
        """Release the lock explicitly, because a child forked in the meantime shares the descriptor."""
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _wait_for_lock(self) -> int:
        deadline = time.monotonic() + self._timeout_s
        pause_s = _FIRST_PAUSE_S
        while (descriptor := self._try_lock()) is None:
            if time.monotonic() >= deadline:
                raise StorageUnavailableError(
                    f"{self._path} has been locked by another process for {self._timeout_s:g} s: "
                    "try again, or stop the process that holds the lock"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return descriptor

    def _try_lock(self) -> int | None:
        """Lock the file at the path; return ``None`` if another holder has the lock, or the file was replaced."""
        descriptor = self._open() if self._descriptor is None else self._descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        # Every store runs this line, and pathlib would take as long as the system call itself.
        try:
            standing = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116
            if (standing.st_dev, standing.st_ino) == self._identity:
                return descriptor
        except (FileNotFoundError, NotADirectoryError):
            pass
        self.close()
        return None

    def _open(self) -> int:
        self._prepare()
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)
        return self._descriptor


_every: "weakref.WeakSet[LockFile]" = weakref.WeakSet()


def _close_in_child() -> None:
    """Close the descriptors that a fork copied, because they would keep the lock of a killed holder."""
    for lock in list(_every):
        lock.close()


os.register_at_fork(after_in_child=_close_in_child)
