"""What release 0.1.0 left behind: a home with all kinds of memories, its backup and its export."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from commonplace.services.transfer.items import TEXT_FIELD
from support.homes import UsedHome
from support.releases import OLDEST, WHEELS, install, unpack

MEMORIES = WHEELS / "memories.jsonl"
"""One memory of each kind, which the command of the release stores."""


@dataclass(frozen=True, slots=True)
class Heritage:
    """A directory with what the release left behind, which no process uses."""

    directory: Path

    @property
    def release(self) -> Path:
        """The release, unpacked."""
        return self.directory / "release"

    @property
    def backup(self) -> Path:
        """A backup of the home."""
        return self.directory / "backup.tar.gz"

    @property
    def export(self) -> Path:
        """An export of the home."""
        return self.directory / "export.jsonl"

    def lend(self, directory: Path) -> Path:
        """Return a copy of the home, whose workspace is beside it."""
        for name in ("home", "workspace"):
            subprocess.run(["cp", "-Rp", self.directory / name, directory / name], check=True)
        return directory / "home"


def make_heritage(directory: Path, used: UsedHome) -> None:
    """Let the release fill a home with its own command; the export comes last."""
    directory.mkdir()
    old = install(directory / "environment", unpack(OLDEST, directory / "release"))
    home = directory / "home"
    home.mkdir(mode=0o700)
    # Graphs of the embedding model are no memories, and take seconds.
    shutil.copytree(used.graphs, home / "models" / "graphs")
    old.do(home, "import", str(MEMORIES), "--from", "jsonl")
    old.do(home, "backup", str(directory / "backup.tar.gz"))
    old.do(home, "export", str(directory / "export.jsonl"))


def items_of(export: Path) -> list[str]:
    """Return the items of an export with their records, in a fixed order."""
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in export.read_text().splitlines())


def texts_of(export: Path) -> set[tuple[str, str]]:
    """Return the kind and the text of each item of an export."""
    items = map(json.loads, export.read_text().splitlines())
    return {(item["kind"], item[TEXT_FIELD[item["kind"]]]) for item in items}
