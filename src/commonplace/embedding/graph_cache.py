"""Built graphs on disk: written whole or not at all, by one process at a time, rebuilt when damaged."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import FileLock

_log = logging.getLogger(__name__)

_LOCK_TIMEOUT_S: Final = 60.0
"""A graph is built in about a second; whoever waits longer builds its own in memory."""


def cached_graph(path: Path, build: Callable[[], bytes], *, rebuild: bool = False) -> Path | bytes:
    """Return the file of a graph, built when it is not there; the graph itself when it cannot be written.

    Processes that come at the same time build it once: the others wait.

    Args:
        path: Where the graph is kept. Its name holds the hash of the weights, so that it never goes stale.
        build: Makes the bytes of the file; what it raises goes through. It must not raise ``OSError``.
        rebuild: Whether to replace a file that is there, because it is damaged.
    """
    if path.exists() and not rebuild:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):
            if rebuild or not path.exists():
                _write(path, build())
    except OSError as error:
        _log.warning("the embedding graph cannot be kept, and is built at each start: %s", error)
        return build()
    return path


def _write(path: Path, graph: bytes) -> None:
    # Under the lock there is one writer, so that what a killed one left behind is simply written over.
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            file.write(graph)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        # The last room on a disk is for memories.
        partial.unlink(missing_ok=True)
        raise
