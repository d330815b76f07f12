"""Barman beside a server of tests, as ``packaging/barman.conf`` configures it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from commonplace.storage.postgres_binaries import bundled_programs
from commonplace.storage.server_account import server_account
from support.replication import Server, account_options, give

BARMAN: Final = shutil.which("barman", path="/usr/bin:/usr/local/bin")
SHIPPED: Final = Path(__file__).parents[2] / "packaging" / "barman.conf"
_INSTALLATION: Final = """[barman]
barman_user = {user}
barman_home = {directory}
configuration_files_directory = {directory}
log_file = {directory}/log
"""


@dataclass(frozen=True, slots=True)
class Barman:
    """Barman with its files in a directory."""

    directory: Path

    def run(self, *words: str) -> None:
        """Run a command to its end.

        Raises:
            AssertionError: The command failed; the message has its output.
        """
        done = subprocess.run(
            self._command(*words), **self._options(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout} {done.stderr}"

    def start(self, *words: str) -> subprocess.Popen[Any]:
        """Start a command that does not end by itself."""
        with (self.directory / "output").open("ab") as output:
            return subprocess.Popen(self._command(*words), **self._options(), stdout=output, stderr=output)

    def _command(self, *words: str) -> list[str]:
        assert BARMAN, "barman is not installed: apt-get install barman"
        return [BARMAN, "-c", str(self.directory / "barman.conf"), *words]

    def _options(self) -> dict[str, Any]:
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(self.directory)}
        return {"cwd": self.directory, "env": environment, **account_options()}


@contextmanager
def receiving(server: Server, directory: Path) -> Iterator[Barman]:
    """Let Barman receive the log of a server during the block; its files are in a new directory."""
    directory.mkdir()
    text = re.sub(r"host=\S+ port=\d+", f"host=127.0.0.1 port={server.port}", SHIPPED.read_text())
    text = re.sub(r"(?<=path_prefix = ).*", str(bundled_programs()), text).replace("replicator", "postgres")
    (directory / "memory.conf").write_text(text)
    installation = _INSTALLATION.format(user=server_account().name, directory=directory)
    (directory / "barman.conf").write_text(installation)
    give(directory)
    barman = Barman(directory)
    barman.run("receive-wal", "--create-slot", "memory")
    process = barman.start("receive-wal", "memory")
    try:
        yield barman
    finally:
        process.terminate()
        process.wait()
