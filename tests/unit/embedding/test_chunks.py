"""How a batch is split into runs of the network."""

from hypothesis import given
from hypothesis import strategies as st

from commonplace.embedding.onnx_backend import CHUNK_CHARS, CHUNK_TEXTS, chunk_rows


@given(st.lists(st.integers(min_value=1, max_value=5_000), max_size=200))
def test_every_text_runs_once_beside_texts_of_its_length(lengths: list[int]) -> None:
    """The groups hold all rows, shortest first; rows of equal length keep their order."""
    rows = [row for chunk in chunk_rows(lengths) for row in chunk]
    assert rows == sorted(range(len(lengths)), key=lambda row: (lengths[row], row))


@given(st.lists(st.integers(min_value=1, max_value=5_000), max_size=200))
def test_a_run_is_never_too_large(lengths: list[int]) -> None:
    """Texts, and characters with padding, stay within the limits; what is cut off of a long text does not count."""
    for chunk in chunk_rows(lengths):
        longest = min(max(lengths[row] for row in chunk), 1_024)
        assert len(chunk) <= CHUNK_TEXTS
        assert len(chunk) * longest <= CHUNK_CHARS


def test_short_texts_fill_a_run() -> None:
    """Sixty-four short texts take two runs, not sixty-four."""
    assert [len(chunk) for chunk in chunk_rows([20] * 64)] == [32, 32]
