"""The highest id number that was ever used, stored beside the memory file.

The memory file shows the highest id until that memory, or the whole file, is deleted. From then on, the mark prevents
ids from being reused. It is stored twice, in the lock file and in its own file, so that deleting one of them does not
make ids reusable. A merge in Git may leave the marks of both branches in a file; the largest counts.
"""

import os
import re
from pathlib import Path

_MARK = re.compile(rb"^([0-9]{1,15})$", re.MULTILINE)
_LONGEST_FILE = 4096


def read_mark(lock: int, path: Path) -> int:
    """Return the larger of the two marks; a missing or damaged mark counts as 0.

    Args:
        lock: The descriptor of the lock file, which holds one copy.
        path: The file that holds the other copy.

    Raises:
        OSError: An existing mark cannot be read.
    """
    marks = [os.pread(lock, _LONGEST_FILE, 0)]
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        pass
    else:
        try:
            marks.append(os.read(descriptor, _LONGEST_FILE))
        finally:
            os.close(descriptor)
    return max((int(number) for mark in marks for number in _MARK.findall(mark)), default=0)


def note_mark(lock: int, number: int) -> None:
    """Write the mark into the lock file, without waiting for the disk.

    This is enough while the memory file contains the number, and it survives the end of the process. An error is
    ignored, because the memory file still has the number.
    """
    try:  # noqa: SIM105 - every store runs this, and suppress() takes as long as the write
        os.pwrite(lock, b"%d\n" % number, 0)
    except OSError:
        pass


def keep_mark(lock: int, path: Path, number: int) -> None:
    """Write the mark to both places and wait for the disk.

    Call this before the highest id is removed from the memory file. Marks only grow, so overwriting leaves no old
    digits.

    Raises:
        OSError: The mark cannot be written.
    """
    os.pwrite(lock, b"%d\n" % number, 0)
    os.fsync(lock)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.pwrite(descriptor, b"%d\n" % number, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
