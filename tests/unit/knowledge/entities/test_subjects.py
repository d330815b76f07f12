"""Which subject names which entity, and when a fact makes one."""

from uuid import UUID

import pytest

from commonplace.knowledge.entities.subjects import chosen, plain_type

FIRST, SECOND = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(
    ("subject", "predicate", "kind"),
    [
        ("Anna", "works_at", "person"),
        ("Anna Smith", "Works at", "person"),
        ("Ludwig van Beethoven", "born_in", "person"),
        ("Mary-Jane O'Neill", "spouse", "person"),
        ("Acme Corp.", "color", "organization"),
        ("NASA", "headquartered_in", "organization"),
        ("Paris", "capital_of", "place"),
        ("Anna", "lives_in", None),
        ("anna", "works_at", None),
        ("NASA", "works_at", None),
        ("Web-01", "works_at", None),
        ("The one who called on Monday", "works_at", None),
        ("Inc", "color", None),
        ("of", "population", None),
    ],
)
def test_only_a_proper_name_and_a_plain_predicate_make_an_entity(
    subject: str, predicate: str, kind: str | None
) -> None:
    """In doubt a person decides."""
    assert plain_type(subject, predicate) == kind


def test_the_canonical_name_comes_before_an_alias() -> None:
    """A name that several entities have decides nothing."""
    rows = [
        {"name_key": "kim", "id": FIRST, "is_canonical": True},
        {"name_key": "kim", "id": SECOND, "is_canonical": False},
        {"name_key": "bo", "id": FIRST, "is_canonical": True},
        {"name_key": "bo", "id": SECOND, "is_canonical": True},
        {"name_key": "al", "id": SECOND, "is_canonical": False},
    ]
    assert chosen(rows) == {"kim": FIRST, "al": SECOND}
