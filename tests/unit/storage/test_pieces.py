"""Recipes of incremental backups give the same bytes back, and hold little that is not new."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import StorageError
from commonplace.storage.backup.chunking import NEW, Recipe, assembled, keep_new_bytes

LINES = [f"{number}\t{number * 7919 % 10_007:x}\n".encode() * 20 for number in range(2_000)]


def reduced(directory: Path, earlier: bytes, later: bytes) -> tuple[int, bytes]:
    """Return how many bytes of the later version are new, and the version that the recipe gives."""
    (directory / "earlier").write_bytes(earlier)
    (directory / "later").write_bytes(later)
    recipe = keep_new_bytes(directory / "later", directory / "earlier")
    with (directory / "later").open("rb") as new:
        content = b"".join(assembled(new, recipe, directory / "earlier"))
    return (directory / "later").stat().st_size, content


@given(
    st.lists(st.sampled_from(LINES) | st.binary(max_size=40_000), max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=100)), max_size=4),
)
def test_a_recipe_gives_the_file_back(parts: list[bytes], changes: list[tuple[int, bytes]]) -> None:
    """Whatever was inserted or replaced."""
    later = list(parts)
    for place, content in changes:
        later[place : place + 1] = [content]
    with TemporaryDirectory() as directory:
        assert reduced(Path(directory), b"".join(parts), b"".join(later))[1] == b"".join(later)


def test_a_row_in_the_middle_costs_a_few_pieces(tmp_path: Path) -> None:
    """The rows after it are found although they have moved."""
    earlier, later = b"".join(LINES), b"".join([*LINES[:900], b"a new row\n", *LINES[900:]])
    size, content = reduced(tmp_path, earlier, later)
    assert content == later
    assert 0 < size < len(later) // 10


@pytest.mark.parametrize("recipe", [[(NEW, 9)], [(3, 9)], [(900, 1)]])
def test_a_recipe_that_does_not_fit_is_refused(tmp_path: Path, recipe: Recipe) -> None:
    """A damaged manifest is an error, not a shorter file."""
    (tmp_path / "earlier").write_bytes(b"1234")
    with (tmp_path / "earlier").open("rb") as new, pytest.raises(StorageError, match="fewer bytes"):
        list(assembled(new, recipe, tmp_path / "earlier"))
