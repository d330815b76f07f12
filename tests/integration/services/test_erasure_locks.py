"""The search of an erasure for remaining texts, in a process that has databases open."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.services.erasure.files import Texts, remaining
from commonplace.services.erasure.selection import By, Selection
from commonplace.storage import sqlite

pytestmark = pytest.mark.requirement("SYN-07.1")

WRITE = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


def test_the_search_releases_no_lock_of_a_database(tmp_path: Path) -> None:
    """Otherwise another process could write at the same time, which damages the file."""
    path = tmp_path / "commonplace.db"
    texts = Texts(Selection(by=By.SUBJECT, value="third stone"), ["under the third stone"])
    with closing(sqlite.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.execute("INSERT INTO notes VALUES ('under the third stone')")
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            assert any(name.startswith(str(path)) for name in remaining([tmp_path], texts))
        run = subprocess.run(
            [sys.executable, "-c", WRITE, str(path)], capture_output=True, text=True, check=False
        )
        assert "database is locked" in run.stderr
        connection.execute("ROLLBACK")
