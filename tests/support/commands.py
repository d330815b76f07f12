"""The ``commonplace`` command as a process of its own, in a home of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("commonplace")


def clean_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return this process's environment with an empty home and no setting of commonplace but these."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "CLAUDEOPS_"))
    }
    path = f"{COMMAND.parent}{os.pathsep}{inherited.get('PATH', '')}"
    return inherited | {"COMMONPLACE_HOME": str(home), "HOME": str(home), "PATH": path} | variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        """The one JSON document on standard output."""
        return json.loads(self.out)


class CommandLine:
    """Runs commands in a directory and a home."""

    def __init__(self, directory: Path, home: Path) -> None:
        self.directory = directory
        self.home = home

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        """Run a command to its end, whatever its status."""
        done = subprocess.run(
            [COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.directory,
            env=clean_environment(self.home, **variables),
            timeout=60,
            check=False,
        )
        return Done(status=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())
