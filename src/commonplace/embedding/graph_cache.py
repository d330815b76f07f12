"""Cache of built graphs on disk: written atomically, by one process at a time, and rebuilt when damaged."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import FileLock

from commonplace.core.atomic_write import PRIVATE, private_opener
from commonplace.core.directories import make_directories
from commonplace.core.progress import begin_step

_log = logging.getLogger(__name__)

_LOCK_TIMEOUT_S: Final = 60.0
"""A graph is built in about a second; a process that has waited longer builds its own graph in memory."""


def cached_graph(path: Path, build: Callable[[], bytes], *, rebuild: bool = False) -> Path | bytes:
    """Return the file of a graph, built if it does not exist; if it cannot be written, return the graph itself.

    Of several processes, one builds the graph and the others wait.

    Args:
        path: The file of the graph. Its name includes the hash of the weights, so the file is never stale.
        build: Returns the bytes of the file; its errors are raised. It must not raise ``OSError``.
        rebuild: Replace an existing file, because it is damaged.
    """
    if path.exists() and not rebuild:
        return path
    try:
        make_directories(path.parent)
        with FileLock(path.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S, mode=PRIVATE):
            if rebuild or not path.exists():
                begin_step("Preparing a part of the embedding model, once for this home")
                _write(path, build())
    except OSError as error:
        _log.warning("the embedding graph cannot be cached, so it is built at each start: %s", error)
        return build()
    return path


def _write(path: Path, graph: bytes) -> None:
    # The lock admits only one writer, so the leftovers of a killed writer can be overwritten.
    partial = path.with_suffix(".partial")
    try:
        with open(partial, "wb", opener=private_opener) as file:
            file.write(graph)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        # The last space on a disk is reserved for memories.
        partial.unlink(missing_ok=True)
        raise
