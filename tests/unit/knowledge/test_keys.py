"""Keys in the form that ignores their spelling."""

import pytest

from commonplace.knowledge.model.keys import kin_key, plain_key

ALIKE = [
    ("The staging DB", "staging db", "staging-db", " Staging_DB ", "the Staging Database"),
    ("db-1", "Database 1"),
    ("uses_port", "uses port", "usesPort", "Uses-Port"),
    ("Acme Inc.", "acme inc"),
    ("an office", "Office"),
    ("release 3.1", "release_3.1", "Release-3.1"),
]
APART = [
    ("Python 3.1", "Python 31"),
    ("db 1-2", "db 12"),
    ("db 1 - 2", "db 12"),
    ("theme", "me"),
    ("staging", "staging DB"),
    ("mariadb", "maria database"),
    ("the", ""),
    ("uses_port", "uses_ports"),
]


@pytest.mark.parametrize("spellings", ALIKE)
def test_spellings_of_a_key_are_alike(spellings: tuple[str, ...]) -> None:
    """Case, separators and a leading article say nothing."""
    assert len({plain_key(each) for each in spellings}) == 1


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_keys_are_apart(one: str, other: str) -> None:
    """Separators between digits, and whole words, say something."""
    assert plain_key(one) != plain_key(other)


@pytest.mark.requirement("TRU-04.5")
def test_a_database_is_kin_of_what_it_belongs_to() -> None:
    """The word alone is a subject of its own."""
    assert len({kin_key(each) for each in ("staging", "Staging DB", "the staging database")}) == 1
    assert kin_key("DB") == "database"
