"""What the README and the guides say works: every command in them is run, every link leads somewhere."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.storage.embedded import remove_cluster
from support.commands import CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.homes import UsedHome

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.md"),
    ]
)
BLOCK = re.compile(
    r"(?P<note><!-- not run: [^>]+ -->\n)?```(?P<language>sh|python)\n(?P<code>.*?)```", re.DOTALL
)
LINK = re.compile(r"\]\((?!https?://)([^)#]+)")


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield language and code of each block that is meant to be run."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if not found["note"]:
            yield found["language"], found["code"]


PAGES_WITH_CODE = [page for page in PAGES if any(blocks(page))]


def name(page: Path) -> str:
    """Return a page's path in the checkout."""
    return str(page.relative_to(ROOT))


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=name)
def test_every_command_of_a_page_works(
    page: Path, tmp_path: Path, knowledge_url: str, used_home: UsedHome, command_server: CommandServer
) -> None:
    """In order, in one directory and one home, as a reader would type them.

    The README has nothing but an empty home; guides have a home that was used before and a server that runs, which
    saves each of their commands a start. Commands and Python code run in forks.
    """
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environment = clean_environment(tmp_path / "home")
    environment["PATH"] = f"{command_server.programs}{os.pathsep}{environment['PATH']}"
    if page.name != "README.md":
        used_home.lend(tmp_path / "home")
        environment |= {"COMMONPLACE_POSTGRES_URL": knowledge_url}
    try:
        for language, code in blocks(page):
            shell = ["bash", "-euo", "pipefail", "-c", code]
            command = shell if language == "sh" else [command_server.programs / "python", "-c", code]
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=9 * DEADLINE_S,
                check=False,
            )
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    finally:
        remove_cluster(tmp_path / "home" / "postgres")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """Within the checkout."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.long
def test_the_tour_runs_and_leaves_nothing(tmp_path: Path, command_server: CommandServer) -> None:
    """It exits 0 and shows each of its steps."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [command_server.program, "demo"],
        cwd=tmp_path,
        env=clean_environment(tmp_path / "home", TMPDIR=str(temporary)),
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for shown in (
        "memories for app: Calendar",
        "# Memory Context",
        "reinforced",
        "Contradicted",
        "## Operational Memory (",
        "lower the confidence",
        "refused",
        "[Memories]",
        "pgvector",
    ):
        assert shown in done.stdout
    assert done.stderr == ""
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "home").exists()
