"""Disks without room."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_disk(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
