"""Clues that two directories hold the same project, such as two clones. A person decides."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.urls import mask_url

_REMOTE: Final = re.compile(r"\[remote \"origin\"\][^\[]*?^\s*url\s*=\s*(\S+)", re.MULTILINE)
_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """The remote and the first commit of a Git repository; ``None`` if missing.

    Attributes:
        remote: The URL of ``origin`` without a password.
        root_commit: The id of the first commit.
    """

    remote: str | None = None
    root_commit: str | None = None

    @classmethod
    def of(cls, directory: Path) -> "Clues":
        """Return the clues in Git's common directory; empty clues for any other directory."""
        try:
            found = _REMOTE.search((directory / "config").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return cls()
        return cls(remote=mask_url(found[1]) if found else None, root_commit=_root_commit(directory))

    def agree(self, other: "Clues") -> bool:
        """Return whether both have the same remote or the same first commit."""
        return (self.remote is not None and self.remote == other.remote) or (
            self.root_commit is not None and self.root_commit == other.root_commit
        )


def _root_commit(directory: Path) -> str | None:
    command = ["git", f"--git-dir={directory}", "rev-list", "--max-parents=0", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return None
    commits = done.stdout.split()
    return min(commits) if done.returncode == 0 and commits else None
