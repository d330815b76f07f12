"""Names of entities: folding, tiers, trigrams."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.entity_names import (
    NameMatch,
    fold_name,
    fold_names,
    match_name,
    normal_name,
    split_names,
    without_repeats,
)
from commonplace.knowledge.rules.trigrams import (
    THRESHOLD,
    most_similar,
    required_pieces,
    similarity,
    trigrams,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)


@pytest.mark.requirement("KNW-17.1")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ANN", "ann"),
        ("Straße", "STRASSE"),
        ("ΟΔΥΣΣΕΥΣ", "Οδυσσευς"),
        ("Café", "CAFE\N{COMBINING ACUTE ACCENT}"),
        ("Ann  \t Smith ", "ann smith"),
    ],
)
def test_names_that_are_the_same(one: str, other: str) -> None:
    """Case of any script, the encoding of an accent and whitespace do not count."""
    assert fold_name(one) == fold_name(other)


@pytest.mark.requirement("KNW-17.1")
def test_an_accent_counts() -> None:
    """Accents tell names apart; only how they are encoded does not."""
    assert fold_name("José") != fold_name("Jose")


@given(name=NAMES)
def test_folding_twice_changes_nothing(name: str) -> None:
    """A stored key compares equal to a key made of it, and holds no separator."""
    folded = fold_name(name)
    assert fold_name(folded) == folded
    assert fold_name(normal_name(name)) == folded
    assert "\n" not in folded
    assert fold_name(unicodedata.normalize("NFD", name)) == folded


@given(canonical=NAMES, aliases=st.lists(NAMES, max_size=5))
def test_every_name_of_an_entity_is_found(canonical: str, aliases: list[str]) -> None:
    """The canonical name is exact, an alias an alias, unless it is also the canonical name."""
    keys = fold_names(canonical, aliases)
    assert split_names(keys) == [fold_name(name) for name in (canonical, *aliases)]
    assert match_name(fold_name(canonical), keys) is NameMatch.EXACT
    for alias in aliases:
        expected = NameMatch.EXACT if fold_name(alias) == fold_name(canonical) else NameMatch.ALIAS
        assert match_name(fold_name(alias), keys) is expected


@pytest.mark.requirement("KNW-17.3", "R-KNW-10")
@pytest.mark.parametrize(
    ("searched", "expected"),
    [
        ("ann", NameMatch.PREFIX),
        ("SMITH", NameMatch.PREFIX),
        ("the b", NameMatch.PREFIX),
        ("%", None),
        ("_nn", None),
        ("smith the", None),
        ("bob", None),
    ],
)
def test_parts_of_names(searched: str, expected: NameMatch | None) -> None:
    """The beginning or another part of one name; no wildcards, and never across two names."""
    assert match_name(fold_name(searched), fold_names("Ann Smith", ["The Boss"])) is expected


@pytest.mark.requirement("KNW-18.3")
def test_repeats_in_any_case_are_left_out() -> None:
    """The first of each stays as it was written, and none that is known already."""
    assert without_repeats(["Bob", "BOB", "Robert", "bobby"], known=["robert"]) == ["Bob", "bobby"]


@pytest.mark.requirement("KNW-17.4", "R-KNW-10")
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("word", "two words", 0.363636),
        ("acme corporation", "acme corp", 0.5),
        ("jon smith", "john smith", 0.615385),
        ("john smith", "smith, john", 1.0),
        ("müller", "mueller", 0.363636),
        ("o'neil_x", "oneil x", 0.545455),
        ("田中さん", "田中さま", 0.428571),
        ("cat", "dog", 0.0),
        ("???", "cat", 0.0),
    ],
)
def test_similarity_is_that_of_pg_trgm(one: str, other: str, expected: float) -> None:
    """The values that PostgreSQL 15 with ``pg_trgm`` reports for the same texts."""
    assert similarity(one, other) == pytest.approx(expected, abs=1e-6)


@pytest.mark.requirement("KNW-17.4")
@given(one=NAMES, other=NAMES)
def test_similarity_is_the_jaccard_coefficient_of_trigrams(one: str, other: str) -> None:
    """What is computed over sorted lists equals what sets say."""
    first, second = set(trigrams(one)), set(trigrams(other))
    expected = len(first & second) / len(first | second) if first | second else 0.0
    assert similarity(one, other) == pytest.approx(expected)


@pytest.mark.requirement("KNW-17.4")
@given(key=NAMES, names=st.lists(NAMES, max_size=10))
def test_the_similar_ones_are_those_over_the_threshold(key: str, names: list[str]) -> None:
    """None is missed and none is added, whatever the batch."""
    numbered = dict(enumerate(names))
    found = most_similar(key, numbered)
    clear = {number for number, name in numbered.items() if similarity(key, name) > THRESHOLD + 1e-6}
    possible = {number for number, name in numbered.items() if similarity(key, name) > THRESHOLD - 1e-6}
    assert clear <= found.keys() <= possible


@pytest.mark.requirement("KNW-17.4")
@given(key=NAMES, name=NAMES)
def test_no_similar_name_lacks_the_required_pieces(key: str, name: str) -> None:
    """What the database leaves out is never similar enough."""
    pieces, least = required_pieces(fold_name(key))
    held = sum(piece in fold_name(name) for piece in pieces)
    assert held >= least or similarity(fold_name(key), fold_name(name)) < THRESHOLD
