"""Git in a repository whose settings name programs: none of them runs."""

import subprocess
from pathlib import Path

import pytest

from commonplace.projects.git_fingerprint import Clues
from commonplace.services.code.project_code import ProjectCode
from support.git_repositories import git, repository

pytestmark = pytest.mark.requirement("HRD-08.1")

SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"


def output(directory: Path, *arguments: str, text: str | None = None) -> str:
    """Return what Git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=directory, input=text, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a file beside itself."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    program.chmod(0o755)
    return program


def test_no_program_checks_signatures(tmp_path: Path, program: Path) -> None:
    """The history of a file that was moved comes from commits that may be signed."""
    place = repository(tmp_path / "project")
    (place / "gone.py").write_text("x = 1\n")
    git(place, "add", ".")
    git(place, "commit", "-m", "Add")
    git(place, "mv", "gone.py", "moved.py")
    tree, parent = output(place, "write-tree"), output(place, "rev-parse", "HEAD")
    who = "a <a@example.org> 1 +0000"
    commit = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{SIGNATURE}\nMove\n"
    git(
        place,
        "update-ref",
        "HEAD",
        output(place, "hash-object", "-t", "commit", "-w", "--stdin", text=commit),
    )
    git(place, "config", "gpg.program", str(program))
    git(place, "config", "log.showSignature", "true")
    assert ProjectCode(place).new_place("gone.py") == "moved.py"
    assert not (tmp_path / "ran").exists()


def test_no_program_fetches_what_a_clone_left_out(tmp_path: Path, program: Path) -> None:
    """The first commit of a project may be missing here."""
    place = repository(tmp_path / "project")
    missing = output(place, "rev-parse", "HEAD")
    git(place, "commit", "--allow-empty", "-m", "Go on")
    (place / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("protocol.file.allow", "always"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"file://{tmp_path}"),
        ("remote.origin.uploadpack", str(program)),
    ):
        git(place, "config", name, value)
    assert Clues.of(place / ".git").root_commit is None
    assert not (tmp_path / "ran").exists()
