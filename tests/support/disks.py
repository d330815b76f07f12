"""A disk without room, and a disk in memory."""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it is this user's alone
TESTS_BYTES = 8 << 30
"""Directories of all tests together take less than half of it."""


def is_roomy_memory() -> bool:
    """Tell whether tests may have their directories in memory, where files take a quarter less of the system's time.

    Containers often have 64 MB of it, or let no program run there.
    """
    return (
        SHARED_MEMORY.is_dir()
        and not os.statvfs(SHARED_MEMORY).f_flag & os.ST_NOEXEC
        and min(shutil.disk_usage(SHARED_MEMORY).free, psutil.virtual_memory().available) > TESTS_BYTES
    )


@contextmanager
def small_disk(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
