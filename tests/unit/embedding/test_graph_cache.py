"""Graphs on disk."""

import logging
from pathlib import Path

import pytest

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.graph_cache import cached_graph


def _refuse() -> bytes:
    raise AssertionError("built a graph that was there")


def test_a_graph_is_built_once(tmp_path: Path) -> None:
    """The second call finds the file of the first."""
    path = tmp_path / "graphs" / "g.onnx"
    assert cached_graph(path, lambda: b"graph") == path
    assert cached_graph(path, _refuse) == path
    assert path.read_bytes() == b"graph"


def test_what_a_killed_process_left_is_not_taken_for_a_graph(tmp_path: Path) -> None:
    """A file that was never finished is written over, and none remains."""
    path = tmp_path / "g.onnx"
    (tmp_path / "g.partial").write_bytes(b"half")
    assert cached_graph(path, lambda: b"whole") == path
    assert path.read_bytes() == b"whole"
    assert not (tmp_path / "g.partial").exists()


def test_a_damaged_graph_is_replaced(tmp_path: Path) -> None:
    """Asked to rebuild, it writes over what is there."""
    path = tmp_path / "g.onnx"
    path.write_bytes(b"damaged")
    assert cached_graph(path, lambda: b"whole", rebuild=True) == path
    assert path.read_bytes() == b"whole"


def test_a_graph_that_cannot_be_kept_is_given_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No place to write is a warning, not an end: the engine works from memory."""
    caplog.set_level(logging.WARNING)
    (tmp_path / "file").write_text("in the way")
    assert cached_graph(tmp_path / "file" / "g.onnx", lambda: b"graph") == b"graph"
    assert "cannot be cached" in caplog.text


def test_damaged_weights_leave_no_graph_behind(tmp_path: Path) -> None:
    """What the builder raises goes through, and the next call tries again."""

    def damaged() -> bytes:
        raise ModelDamagedError("weights")

    path = tmp_path / "g.onnx"
    with pytest.raises(ModelDamagedError):
        cached_graph(path, damaged)
    assert not path.exists()
    assert cached_graph(path, lambda: b"graph") == path


def test_a_graph_that_cannot_be_kept_takes_no_room(tmp_path: Path) -> None:
    """On a full disk the half of it that was written would keep memories out."""
    path = tmp_path / "g.onnx"
    path.mkdir()
    assert cached_graph(path, lambda: b"graph", rebuild=True) == b"graph"
    assert not (tmp_path / "g.partial").exists()
