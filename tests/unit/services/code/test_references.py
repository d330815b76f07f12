"""References to code: what a line says of files and commands that are gone."""

import subprocess
from datetime import date
from pathlib import Path

import pytest

from commonplace.services.code.project_code import MOST_SEARCHED_BYTES
from commonplace.services.code.references import CodeReferences
from commonplace.services.code.sights import confirm_references, record_file

pytestmark = pytest.mark.requirement("FOL-03.1")

LIMITS = "- Rate limits are in `src/api/limits.py` (confidence: 0.9) [f:3k7q2]"
OTHER = "- Ask Ada first"


class Project:
    """A project with a home beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.home = folder / "home"
        self.folder.mkdir()
        self.write("src/api/limits.py", "LIMIT = 3\n" * 40)

    def write(self, name: str, text: str = "") -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words: str) -> None:
        """Run a Git command."""
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)

    def checked(self, *lines: str, day: int = 3) -> list[str]:
        """Check lines on a day of November."""
        references = CodeReferences(self.folder, self.home, today=date(2026, 11, day))
        return references.checked("\n".join(["## Key Facts", *lines])).split("\n")[1:]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one file."""
    return Project(tmp_path)


def test_a_file_that_went_is_said_in_the_line_and_the_line_comes_last(project: Project) -> None:
    """With the last day on which it was there; when it is back, nothing is said."""
    assert project.checked(LIMITS, OTHER) == [LIMITS, OTHER]
    (project.folder / "src/api/limits.py").unlink()
    gone = f"{LIMITS} (src/api/limits.py was there on 3 Nov 2026, and is not now)"
    assert project.checked(LIMITS, OTHER, day=9) == [OTHER, gone]
    project.write("src/api/limits.py")
    assert project.checked(LIMITS, OTHER, day=10) == [LIMITS, OTHER]


def test_what_never_was_there_is_not_mentioned(project: Project) -> None:
    """It may be a file of another project, an address or a fraction; nothing outside of the project is looked at."""
    lines = [
        "- The board is at https://grafana.example/d/lat",
        "- Half (1/2) and/or v1.2 of other/thing.py",
        "- Secrets are in ../../etc/passwd.txt",
        "- `make deploy` ships it",
    ]
    assert project.checked(*lines) == lines
    assert not project.home.exists()


def test_a_file_that_git_knows_to_have_moved_is_followed(project: Project) -> None:
    """The line says where it is now."""
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    project.checked(LIMITS)
    project.git("mv", "src/api/limits.py", "src/rates.py")
    project.git("commit", "-qm", "two")
    assert project.checked(LIMITS) == [f"{LIMITS} (src/api/limits.py is now src/rates.py)"]


def test_a_command_that_went_is_said(project: Project) -> None:
    """Targets of a Makefile and scripts of package.json."""
    lines = ["- Ship it with `make deploy`", "- Test with npm run e2e"]
    project.write("Makefile", ".PHONY: deploy\ndeploy: build\n\techo\nX := 1\n")
    project.write("package.json", '{"scripts": {"e2e": "playwright test"}}')
    assert project.checked(*lines) == lines
    project.write("Makefile", "ship:\n")
    project.write("package.json", "[broken")
    assert project.checked(*lines) == [
        f"{lines[0]} (make deploy was there on 3 Nov 2026, and is not now)",
        f"{lines[1]} (npm run e2e was there on 3 Nov 2026, and is not now)",
    ]


def test_a_word_that_went_from_a_file_is_said(project: Project) -> None:
    """A symbol in backticks and a port, in the file that the line names; of a file that is gone, the file is enough."""
    lines = [
        "- `api.LIMIT` in src/api/limits.py caps the rate, not `burst`",
        "- Staging listens on port 5433, see `compose.yaml`",
        "- `LIMIT` is read from the environment",
    ]
    project.write("compose.yaml", 'ports: ["5433:5432"]\n')
    assert project.checked(*lines) == lines
    project.write("src/api/limits.py", "RATE = 3\n")
    project.write("compose.yaml", 'ports: ["6000:5432"]\n')
    assert project.checked(*lines) == [
        lines[2],
        f"{lines[0]} (LIMIT in src/api/limits.py was there on 3 Nov 2026, and is not now)",
        f"{lines[1]} (5433 in compose.yaml was there on 3 Nov 2026, and is not now)",
    ]
    project.write("src/api/limits.py", "x\n" * MOST_SEARCHED_BYTES + "LIMIT = 3\n")
    assert project.checked(lines[0]) == [lines[0]], "nobody looked at the end of the file"
    (project.folder / "compose.yaml").unlink()
    assert project.checked(lines[1]) == [f"{lines[1]} (compose.yaml was there on 3 Nov 2026, and is not now)"]


def test_a_damaged_record_is_begun_anew(project: Project) -> None:
    """A session must start whatever is in the home."""
    project.checked(LIMITS)
    (record,) = (project.home / "code").iterdir()
    record.write_text("{")
    assert project.checked(LIMITS) == [LIMITS]
    assert "2026-11-03" in record.read_text()


@pytest.mark.requirement("FOL-03.2")
def test_a_symbol_whose_lines_changed_is_said(project: Project) -> None:
    """New uses and another indentation change nothing; a memory of another text begins with the file as it is now."""
    line = "- `LIMIT` in src/api/limits.py caps the rate (confidence: 0.90, as of 2026-11-03) [f:3k7q2]"
    project.write("src/api/limits.py", "LIMIT = 3\nprint(LIMIT)\n")
    assert project.checked(line) == [line]
    project.write("src/api/limits.py", "if FAST:\n    LIMIT = 3\nprint(LIMIT)\nlog(LIMIT)\n")
    assert project.checked(line, OTHER, day=5) == [line, OTHER]
    project.write("src/api/limits.py", "LIMIT = 8\nprint(LIMIT)\n")
    faded = line.replace("0.90", "0.85")
    remark = "(LIMIT in src/api/limits.py has changed since 3 Nov 2026)"
    assert project.checked(faded, OTHER, day=9) == [OTHER, f"{faded} {remark}"]
    assert project.checked(line.replace("caps", "limits"), day=9) == [line.replace("caps", "limits")]


@pytest.mark.requirement("FOL-03.2")
def test_a_file_that_changed_for_the_most_part_is_said(project: Project) -> None:
    """A file that grows, or of which a half was written anew, is the same file."""
    lines = [f"rule {number}\n" for number in range(400)]
    project.write("src/api/limits.py", "".join(lines))
    assert project.checked(LIMITS) == [LIMITS]
    project.write("src/api/limits.py", "".join(lines[100:]) + "new\n" * 900)
    assert project.checked(LIMITS, day=4) == [LIMITS]
    project.write("src/api/limits.py", "".join(lines[:40]) + "new\n" * 360)
    assert project.checked(LIMITS, OTHER, day=5) == [
        OTHER,
        f"{LIMITS} (most of src/api/limits.py has changed since 3 Nov 2026)",
    ]


@pytest.mark.requirement("FOL-03.2")
def test_a_number_that_went_from_a_file_is_said(project: Project) -> None:
    """Dates and years are no numbers, and lines with a number may change: they may be about anything."""
    line = "- Requests wait 90 s since 14 Nov 2026 (2026-11-14), see src/api/limits.py"
    rest = "".join(f"rule: {number}\n" for number in range(9))
    project.write("src/api/limits.py", f"timeout: 90s\nretries: 14\nyear = 2026\n{rest}")
    assert project.checked(line) == [line]
    project.write("src/api/limits.py", f"timeout: 90\nold_timeout: 30\n{rest}")
    assert project.checked(line) == [line]
    project.write("src/api/limits.py", f"timeout: 120s\nold_timeout: 30\n{rest}")
    remark = "90 in src/api/limits.py was there on 3 Nov 2026, and is not now"
    assert project.checked(line) == [f"{line} ({remark})"]


@pytest.mark.requirement("FOL-03.3")
def test_a_confirmed_memory_begins_with_the_code_of_today(project: Project) -> None:
    """In each form of its line; other memories keep their remarks."""
    fact = (
        "- [shop] [limit]: `LIMIT` in src/api/limits.py is 3 (confidence: 1.00, as of 2026-11-03) [f:6dmpj]"
    )
    note = "- (w:1, 2026-11-03) Look at `LIMIT` in src/api/limits.py"
    project.checked(fact, note)
    project.write("src/api/limits.py", "LIMIT = 8\n" * 40)
    confirm_references(project.home, ["`LIMIT` in src/api/limits.py is 3"])
    remark = "LIMIT in src/api/limits.py has changed since 3 Nov 2026"
    assert project.checked(fact, note, day=9) == [fact, f"{note} ({remark})"]


def test_a_record_of_an_earlier_release_is_read(project: Project) -> None:
    """It had no samples."""
    file = record_file(project.home, project.folder)
    file.parent.mkdir(parents=True)
    file.write_text('{"reference": "src/gone.py", "day": "2026-10-30", "moved": null}\n')
    line = "- See src/gone.py"
    assert project.checked(line) == [f"{line} (src/gone.py was there on 30 Oct 2026, and is not now)"]


def test_texts_are_checked_too(project: Project) -> None:
    """As answers hold them: without the frame of a block, and on several lines."""
    references = CodeReferences(project.folder, project.home, today=date(2026, 11, 3))
    texts = ["Limits:\n\n`LIMIT` in src/api/limits.py", "Ask Ada"]
    assert references.remarks(texts) == ["", ""]
    (project.folder / "src/api/limits.py").unlink()
    later = CodeReferences(project.folder, project.home, today=date(2026, 11, 9))
    assert later.remarks(texts) == ["src/api/limits.py was there on 3 Nov 2026, and is not now", ""]
