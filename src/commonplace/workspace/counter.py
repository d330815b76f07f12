"""The highest number that an id ever had, kept beside the memories.

The memory file itself shows the highest id as long as that memory stands. The mark matters once it was deleted,
or the whole file was. It is kept twice, in the lock file and in a file of its own, so that whoever clears away
one of them does not bring ids back.
"""

import os
import re
from pathlib import Path

_MARK = re.compile(rb"([0-9]{1,15})\n")
_LONGEST_MARK = 16


def read_mark(lock: int, path: Path) -> int:
    """Return the larger of the two marks; one that is missing or damaged counts as 0.

    Args:
        lock: The descriptor of the lock file, which holds one copy.
        path: The file that holds the other.

    Raises:
        OSError: A mark is there and cannot be read.
    """
    marks = [os.pread(lock, _LONGEST_MARK, 0)]
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        pass
    else:
        try:
            marks.append(os.read(descriptor, _LONGEST_MARK))
        finally:
            os.close(descriptor)
    return max(int(found[1]) if (found := _MARK.match(mark)) else 0 for mark in marks)


def note_mark(lock: int, number: int) -> None:
    """Write the mark into the lock file, without waiting for the disk.

    That is enough while the memory file shows the number itself: it survives the end of the process. Where the mark
    cannot be written, what the memory file shows has to do.
    """
    try:  # noqa: SIM105 - on the path of every store, where the other way takes as long as the write
        os.pwrite(lock, b"%d\n" % number, 0)
    except OSError:
        pass


def keep_mark(lock: int, path: Path, number: int) -> None:
    """Write the mark to both places and wait for the disk.

    Owed before the highest id leaves the memory file. Marks only grow, so overwriting leaves nothing behind.

    Raises:
        OSError: It cannot be written.
    """
    os.pwrite(lock, b"%d\n" % number, 0)
    os.fsync(lock)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.pwrite(descriptor, b"%d\n" % number, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
