"""Messages for errors of SQLite."""

import shutil
from pathlib import Path

import pytest

from commonplace.core.errors import StorageUnavailableError
from commonplace.storage.sqlite import LEAST_FREE_BYTES, connect


@pytest.mark.parametrize(
    ("free", "advice"),
    [(LEAST_FREE_BYTES, ""), (512, "; the disk is full (512 bytes free): free some space, and try again")],
)
def test_a_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, advice: str
) -> None:
    """SQLite itself says only that a file cannot be opened, read or written."""
    path = tmp_path / "commonplace.db"
    path.mkdir()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    with pytest.raises(StorageUnavailableError) as caught:
        connect(path)
    assert str(caught.value) == f"{path}: unable to open database file{advice}"
