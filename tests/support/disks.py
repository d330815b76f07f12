"""Disks: one without room, and a place on one."""

import fcntl
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

GET_FLAGS: Final = 0x80086601
SET_FLAGS: Final = 0x40086602
"""The operations that ``chattr`` asks Linux for."""

TOP_DIRECTORY: Final = 0x00020000
"""The flag of ``chattr +T``."""


@contextmanager
def small_disk(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def spread(directory: Path) -> None:
    """Let ext4 place each new directory in this one away from the others; other file systems are left alone.

    For a file beside files that were deleted just now, ext4 looks for a place that was not in use for some seconds:
    the copy of a database's 1,300 files takes a second of a processor, and a tenth of one elsewhere on the disk.
    """
    if sys.platform != "linux":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    flags = bytearray(8)
    with suppress(OSError):
        fcntl.ioctl(descriptor, GET_FLAGS, flags)
        flags[:4] = (int.from_bytes(flags[:4], sys.byteorder) | TOP_DIRECTORY).to_bytes(4, sys.byteorder)
        fcntl.ioctl(descriptor, SET_FLAGS, flags)
    os.close(descriptor)
