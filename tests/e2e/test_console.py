"""The outputs that the README shows are those of the commands beside them.

With ``WRITE_CONSOLE=1`` in the environment, the test writes the present outputs into the pages.
"""

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace.storage.embedded import remove_cluster
from support.commands import CommandServer, clean_environment
from support.console import has_console, replayed
from support.deadlines import DEADLINE_S

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if has_console(page)]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_outputs_of_a_page_are_made(page: Path, tmp_path: Path, command_server: CommandServer) -> None:
    """In order, in one directory and an empty home; ids and dates may differ."""
    workspace = tmp_path / "shop"
    shutil.copytree(ROOT / "examples", workspace / "examples")
    environment = clean_environment(tmp_path / "home", COLUMNS="100")
    environment["PATH"] = f"{command_server.programs}{os.pathsep}{environment['PATH']}"

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-uc", command],
            cwd=workspace,
            env=environment,
            capture_output=True,
            text=True,
            timeout=9 * DEADLINE_S,
            check=True,
        )
        return done.stdout

    old = page.read_text(encoding="utf-8")
    try:
        new = replayed(old, run)
    finally:
        remove_cluster(tmp_path / "home" / "postgres")
    if os.environ.get("WRITE_CONSOLE"):
        page.write_text(new, encoding="utf-8")
    else:
        assert new == old, "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm=""))
