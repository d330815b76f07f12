"""Locks between processes that the kernel releases when their last holder dies for any reason.

A lock belongs to the open file, not to the process: a child that inherits the file descriptor also holds the lock, and
keeps it after its parent is gone.
"""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.core.errors import StorageUnavailableError

POLL_S = 0.01


class FileLock:
    """A ``flock`` on one file, which is created if it does not exist and never deleted.

    Two instances on the same path are independent holders, even within one process.

    Args:
        path: The file, in an existing directory. A symbolic link is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def fileno(self) -> int:
        """Return the file descriptor, for passing the lock to a child process."""
        return self._fd

    def acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free, and return whether it was taken."""
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, *, shared: bool = False, deadline: float) -> bool:
        """Try to take the lock until ``deadline`` (by ``time.monotonic``), and return whether it was taken."""
        while not self.acquire(shared=shared):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def require(self, *, shared: bool = False, timeout_s: float) -> None:
        """Take the lock within a number of seconds.

        Raises:
            StorageUnavailableError: Another process held the lock the whole time.
        """
        if not self.wait(shared=shared, deadline=time.monotonic() + timeout_s):
            raise StorageUnavailableError(f"{self._path} has been locked for {timeout_s:g} s: try again")

    def close(self) -> None:
        """Close the file; the lock is free once no child holds it either. A second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
