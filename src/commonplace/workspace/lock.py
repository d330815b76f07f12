"""A lock on a file that holds across threads and processes."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageUnavailableError

_FIRST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.02


@contextmanager
def exclusive(path: Path, *, timeout_s: float) -> Generator[int]:
    """Hold the lock for the ``with`` block; gives the descriptor of the lock file, open for reading and writing.

    The system drops the lock when its holder ends, however it ends. Each call opens the file anew, so two
    threads of one process exclude each other as two processes do. A lock file that was removed or replaced
    meanwhile does not count: the lock is taken again on the one that stands there now.

    Raises:
        StorageUnavailableError: Somebody else held it for ``timeout_s`` seconds.
        OSError: The lock file cannot be opened.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while (descriptor := _try_lock(path)) is None:
        if time.monotonic() >= deadline:
            raise StorageUnavailableError(
                f"{path} has been locked by another process for {timeout_s:g} s: see which one holds it, "
                "or try again"
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    try:
        yield descriptor
    finally:
        # A child that was forked meanwhile shares the descriptor: closing alone would leave the lock with it.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # On the path of every store, where pathlib would take as long as the system call itself.
        standing = os.stat(path, follow_symlinks=False)  # noqa: PTH116
        if os.path.samestat(os.fstat(descriptor), standing):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
