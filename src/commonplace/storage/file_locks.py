"""Locks between processes that the kernel releases when their last holder dies, however it dies.

A lock belongs to the open file, not to the process: a child that inherits the file descriptor holds the lock
too, and keeps it when its parent is gone.
"""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

POLL_S = 0.01


class FileLock:
    """A ``flock`` on one file, which is created when missing and never deleted.

    Two instances on the same path are independent holders, also within one process.

    Args:
        path: The file; its directory exists. A symbolic link is refused.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def fileno(self) -> int:
        """Return the file descriptor, to hand the lock to a child process."""
        return self._fd

    def acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if nobody is in the way; return whether it was taken."""
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, *, shared: bool = False, deadline: float) -> bool:
        """Take the lock, polling until ``deadline`` (of ``time.monotonic``); return whether it was taken."""
        while not self.acquire(shared=shared):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def close(self) -> None:
        """Let go of the file; the lock is free once no child holds it either. Repeating does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
