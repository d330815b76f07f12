"""Git repositories for tests of projects."""

import subprocess
from pathlib import Path


def git(directory: Path, *arguments: str) -> None:
    """Run Git in a directory."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def repository(path: Path, *, remote: str | None = None) -> Path:
    """Make a Git repository with one commit of its own."""
    path.mkdir(parents=True)
    git(path, "init")
    git(path, "commit", "--allow-empty", "-m", f"begin {path}")
    if remote is not None:
        git(path, "remote", "add", "origin", remote)
    return path


def clone(source: Path, path: Path, *, remote: str | None = None) -> Path:
    """Clone a repository, as if from a remote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    git(path.parent, "clone", str(source), path.name)
    if remote is not None:
        git(path, "remote", "set-url", "origin", remote)
    return path
