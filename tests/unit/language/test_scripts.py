"""Scripts without spaces, and the folded form of text."""

import re

import pytest

from commonplace.language.scripts import UNSPACED, character_pairs, fold


@pytest.mark.parametrize(("run", "pairs"), [("東京都", ["東京", "京都"]), ("東京", ["東京"]), ("東", ["東"])])
def test_pairs_are_of_neighbouring_characters(run: str, pairs: list[str]) -> None:
    """A single character has no neighbour and stays."""
    assert character_pairs(run) == pairs


@pytest.mark.parametrize("character", "あアー々東한ກกမខ")
def test_scripts_without_spaces_are_known(character: str) -> None:
    """Japanese, Chinese, Korean, Lao, Thai, Burmese, Khmer."""
    assert re.fullmatch(f"[{UNSPACED}]", character)


@pytest.mark.parametrize("character", "aéßЖअ1 ")
def test_scripts_with_spaces_are_not_among_them(character: str) -> None:
    """Neither are digits and blanks."""
    assert not re.fullmatch(f"[{UNSPACED}]", character)


@pytest.mark.parametrize(
    ("text", "folded"),
    [("STRASSE", "strasse"), ("ﬁve", "five"), ("\N{FULLWIDTH LATIN CAPITAL LETTER P}ort", "port")],
)
def test_case_and_width_do_not_count(text: str, folded: str) -> None:
    """Compatibility forms are folded too."""
    assert fold(text) == folded
