"""Readings of a word that is spelt wrong."""

import pytest

from commonplace.knowledge.search.spelling import readings_of


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("eror", "error"), ("typsecript", "typescript"), ("kubernettes", "kubernetes"), ("posgres", "postgres")],
)
def test_one_slip_inside_a_word_is_read_as_the_word(slip: str, meant: str) -> None:
    """A letter too few, two in the wrong order, or one too many."""
    assert meant in readings_of(slip)


@pytest.mark.parametrize(
    ("word", "other"), [("mango", "mongo"), ("plan", "plant"), ("lant", "plant"), ("form", "for")]
)
def test_another_word_is_not_a_slip(word: str, other: str) -> None:
    """Another letter, and letters added at the ends, make other words."""
    assert other not in readings_of(word)
