"""Drafts: a file has its old contents or its new ones, and nothing else is left."""

from pathlib import Path

import pytest

from commonplace.core.atomic_write import write_text
from support.disks import small_disk


def test_an_error_leaves_the_old_contents_and_no_draft(tmp_path: Path) -> None:
    """Also if there was no file before."""
    file = tmp_path / "f"
    write_text(file, "old")
    for path in (file, tmp_path / "new"):
        with small_disk(1), pytest.raises(OSError, match="File too large"):
            write_text(path, "half")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert file.read_text() == "old"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """The file it led to keeps its contents; the new file belongs to its owner alone."""
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("precious")
    link.symlink_to(other)
    write_text(link, "new")
    assert (other.read_text(), link.read_text(), link.is_symlink()) == ("precious", "new", False)
    assert link.stat().st_mode & 0o777 == 0o600
