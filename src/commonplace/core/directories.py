"""Directories of a home; each one is readable by its owner alone, whichever code creates it first."""

import errno
import os
from pathlib import Path


def make_directories(path: Path, *, mode: int = 0o700) -> None:
    """Create a directory and its missing parents, all with one mode; existing directories stay as they are.

    ``Path.mkdir(parents=True)`` gives missing parents the default mode, so a home that is created as the parent of a
    file would be open to other users.

    Raises:
        OSError: A directory cannot be created, or a file is in the way.
    """
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
