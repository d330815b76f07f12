"""Nouns as they are read from rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pytest

from commonplace.storage.nouns import Noun, read_row

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class State(StrEnum):
    """Two states."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp(Noun):
    """A noun with every kind of column."""

    name: str
    state: State
    before: State | None
    tags: tuple[str, ...]
    broken: bool
    made_at: datetime
    sold_at: datetime | None


ROW = {
    "name": "desk",
    "state": "on",
    "before": None,
    "tags": ["a", "b"],
    "broken": 0,
    "made_at": "2026-03-01T12:00:00.000000Z",
    "sold_at": None,
    "further": "column",
}
LAMP = Lamp(
    name="desk", state=State.ON, before=None, tags=("a", "b"), broken=False, made_at=NOON, sold_at=None
)


def test_columns_get_the_types_of_the_fields() -> None:
    """A row of SQLite has texts and numbers; a row of PostgreSQL has moments. Further columns are ignored."""
    assert Lamp.from_row(ROW) == LAMP
    assert Lamp.from_row(ROW | {"made_at": NOON, "sold_at": NOON, "before": "off"}) == Lamp(
        name="desk",
        state=State.ON,
        before=State.OFF,
        tags=("a", "b"),
        broken=False,
        made_at=NOON,
        sold_at=NOON,
    )
    assert type(Lamp.from_row(ROW).state) is State


def test_a_field_may_be_given_in_place_of_its_column() -> None:
    """The column is not needed then."""
    row = {name: value for name, value in ROW.items() if name != "tags"}
    assert read_row(Lamp, row, tags=("a", "b")) == LAMP
    with pytest.raises(KeyError, match="tags"):
        Lamp.from_row(row)
    with pytest.raises(ValueError, match="dim"):
        Lamp.from_row(ROW | {"state": "dim"})
