"""Output of the command line: narrow terminals, pipes and other encodings; and arguments that are no text."""

import json
import os
import pty
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from commonplace.cli.frame.output import console, print_lines, table
from support.commands import COMMAND, clean_environment

TEXT = "Coffee ☕ “break” — for Zoë"
LONG = "https://example.org/a/path/that/is/longer/than/the/line/of/this/terminal/is/wide"


def run(home: Path, *arguments: str | bytes, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, with the bytes that it prints."""
    environment = clean_environment(home, COMMONPLACE_WORKSPACE=str(home), **variables)
    return subprocess.run([COMMAND, *arguments], capture_output=True, env=environment, check=False)


def printed_at(width: int, rows: Sequence[Sequence[object]], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a table and lines as a terminal of some width gets them."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        out = console()
        out.print(table("id", "text", "stored", rows=rows))
        print_lines(out, [f"note {row[0]} {row[1]}" for row in rows])
    with os.fdopen(master, "rb") as screen:
        parts: list[bytes] = []
        try:
            while part := screen.read1(65_536):
                parts.append(part)
        except OSError:  # The terminal is closed.
            pass
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(parts).decode())


@pytest.mark.requirement("ONE-03.3")
@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_no_word_and_no_id_is_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a table has no room, each row is a list; only a word longer than the line reaches over its end."""
    identity = "1806739c-e16d-4ec6-928d-0827ed06cf57"
    rows = [(identity, f"The nightly backup failed because the disk was full: {LONG}", "2026-11-27")]
    out = printed_at(width, rows, monkeypatch)
    for word in (identity, LONG, *["nightly", "backup", "failed", "because"]):
        assert out.count(word) == 2, word
    for line in out.splitlines():
        assert len(line) <= width or identity in line or LONG in line
    assert ("text: " in out) == (width < 200)


@pytest.mark.requirement("ONE-03.3")
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", TEXT),
        ("latin-1", 'Coffee \\u2615 "break" - for Zoë'),
        ("cp1252", "Coffee \\u2615 “break” — for Zoë"),
        ("ascii", 'Coffee \\u2615 "break" - for Zo\\xeb'),
    ],
)
def test_every_encoding_gets_all_text(tmp_path: Path, encoding: str, shown: str) -> None:
    """What an encoding lacks is a plain sign or an escape; JSON stays JSON."""
    assert run(tmp_path, "workspace", "store", TEXT).returncode == 0
    done = run(tmp_path, "workspace", "search", PYTHONIOENCODING=encoding)
    assert shown in done.stdout.decode(encoding)
    assert b"Traceback" not in done.stderr
    done = run(tmp_path, "workspace", "search", "--json", PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout.decode(encoding))["memories"][0]["text"] == TEXT


@pytest.mark.requirement("ONE-03.3")
def test_arguments_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Instead of being stored with replacement characters; a name of a file may have any bytes."""
    for command in (
        ["workspace", "store", b"caf\xe9"],
        ["workspace", "store", "x", "--tag", b"caf\xe9"],
        ["ops", "add", b"caf\xe9", "--category", "timing"],
        ["knowledge", "store-fact", "a", b"caf\xe9", "c"],
        ["apps", "register", "cal", "--name", b"caf\xe9"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode == 2
        assert b"expected text in UTF-8, got b'caf\\xe9'" in done.stderr
    file = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    Path(os.fsdecode(file)).write_text('{"type":"result","subtype":"success","is_error":false}\n')
    assert b"expected text" not in run(tmp_path, "ops", "ingest", file).stderr
    done = run(
        tmp_path, "workspace", "store", "café".encode(), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert done.returncode == 0
    assert "café" in run(tmp_path, "workspace", "search").stdout.decode()
