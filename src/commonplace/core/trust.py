"""Trust in a ``commonplace.toml`` in a working directory.

Such a file may come with a cloned repository. Without trust it can set only workspace settings. Trust applies to
the path and the content of the file, so a changed file is untrusted again, as with direnv. The home keeps one empty
file for each trusted file, named by a hash.
Source: HRD-03.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

from commonplace.core.directories import make_directories

WORKSPACE_KEYS: Final = frozenset({"memory_budget", "search_mode", "min_relevance", "time_zone", "log_level"})
"""Settings that an untrusted file may set: they choose no place, program, server or model."""
DIRECTORY: Final = "trusted"


def is_trusted(path: Path, content: bytes, *, home: Path) -> bool:
    """Return whether the user has trusted a file with this content."""
    return path.resolve().parent == home.resolve() or _mark(path, content, home).is_file()


def trust(path: Path, content: bytes, *, home: Path) -> None:
    """Trust a file as long as its content does not change."""
    mark = _mark(path, content, home)
    make_directories(mark.parent)
    mark.touch(mode=0o600)


def revoke(path: Path, content: bytes, *, home: Path) -> bool:
    """End the trust in a file, and return whether it was trusted."""
    mark = _mark(path, content, home)
    was_trusted = mark.is_file()
    mark.unlink(missing_ok=True)
    return was_trusted


def _mark(path: Path, content: bytes, home: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(path.resolve()) + b"\0" + content).hexdigest()
    return home / DIRECTORY / digest
