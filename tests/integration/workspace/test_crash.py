"""What is left of a workspace's memory when its writers are killed or the disk is full."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.deadlines import DEADLINE_S

PROGRAM = Path(__file__).with_name("workspace_processes.py")


def run(mode: str, directory: Path, *numbers: int) -> dict[str, Any]:
    """Run the program in one of its modes and return its findings."""
    command = [sys.executable, str(PROGRAM), mode, str(directory), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    return json.loads(done.stdout)


@pytest.mark.requirement("WSP-11", "WSP-11.2", "WSP-02.3", "R-WSP-1", "R-WSP-5")
def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    """Two hundred writers die at random moments; each memory is there, and no id comes back."""
    found = run("kill", tmp_path, 200, 7)
    assert found["wrong"] == []
    assert found["acknowledged"] > 200


@pytest.mark.requirement("WSP-11.2", "WSP-04.1", "WSP-06.1", "R-WSP-1", "R-WSP-5")
def test_a_writer_may_die_before_any_of_its_system_calls(tmp_path: Path) -> None:
    """Stores, prunes and deletes, cut off at every single step, with torn writes too; the next store works."""
    found = run("step", tmp_path)
    assert found["wrong"] == []
    assert found["calls"] > 100


@pytest.mark.requirement("WSP-02.3", "WSP-11.3")
def test_a_full_disk_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """A store with room for part of its line, a delete with room for part of the file; later all goes on."""
    found = run("full", tmp_path)
    assert len(found["errors"]) == 2
    assert all(error.startswith("StorageUnavailableError: cannot write") for error in found["errors"])
    assert found["unchanged"]
    assert found["after"] == "m-4"
