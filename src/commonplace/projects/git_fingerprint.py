"""Clues that two directories hold the same project, such as two clones.

On one device, a person decides. A clone of a project of another device gets the id of that project.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.git import ask_git
from commonplace.core.urls import mask_url
from commonplace.projects.remotes import are_two_of_one_host, canonical_url, shared_url

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

    def completed_by(self, other: "Clues") -> "Clues":
        """Return the clues, and for a missing clue that of the other ones."""
        return Clues(remote=self.remote or other.remote, root_commit=self.root_commit or other.root_commit)

    def shared(self) -> "Clues":
        """Return the clues as other devices may know them: no path of this device, and no password or token."""
        return Clues(remote=shared_url(self.remote) if self.remote else None, root_commit=self.root_commit)

    def agree(self, other: "Clues") -> bool:
        """Return whether both have the same remote or the same first commit."""
        return self._has_remote_of(other) or (
            self.root_commit is not None and self.root_commit == other.root_commit
        )

    def are_of_fork(self, other: "Clues") -> bool:
        """Return whether the remotes are two repositories of one host, whatever their first commits."""
        if self.remote is None or other.remote is None:
            return False
        return are_two_of_one_host(self.remote, other.remote)

    def _has_remote_of(self, other: "Clues") -> bool:
        if self.remote is None or other.remote is None:
            return False
        return canonical_url(self.remote) == canonical_url(other.remote)


def _root_commit(directory: Path) -> str | None:
    commits = ask_git(
        f"--git-dir={directory}", "rev-list", "--max-parents=0", "HEAD", timeout_s=_TIMEOUT_S
    ).split()
    return min(commits, default=None)
