"""A Git remote that hangs when a test wants it to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.git_repositories import git

_SSH = """#!/bin/sh
echo >> {folder}/calls
while [ -e {folder}/hangs ] || [ -e "{folder}/hangs-$(wc -l < {folder}/calls)" ]; do sleep 0.05; done
for word; do :; done
eval "$word"
"""


class SlowRemote:
    """A Git remote over a command in the place of ssh.

    Args:
        folder: For the repository and the command.

    Attributes:
        address: Its address.
        variables: Has git call the command.
    """

    def __init__(self, folder: Path) -> None:
        git(folder, "init", "--bare", "slow.git")
        self.address = f"ssh://example.invalid{folder}/slow.git"
        self._folder = folder
        (folder / "calls").touch()
        command = folder / "ssh"
        command.write_text(_SSH.format(folder=folder))
        command.chmod(0o755)
        self.variables = {"GIT_SSH_COMMAND": str(command)}

    @property
    def calls(self) -> int:
        """How often git called it."""
        return len((self._folder / "calls").read_text().splitlines())

    @contextmanager
    def hanging(self, *, at: int | None = None) -> Iterator[None]:
        """Hang inside the block, at every call or at the one of a number."""
        flag = self._folder / ("hangs" if at is None else f"hangs-{at}")
        flag.touch()
        try:
            yield
        finally:
            flag.unlink()
