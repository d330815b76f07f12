"""Nouns as they are read from rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest

from commonplace.core.errors import NotFoundError
from commonplace.storage.rows import Noun, read_row

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
    notes: dict[str, Any] | None


ROW = {
    "name": "desk",
    "state": "on",
    "before": None,
    "tags": ["a", "b"],
    "broken": 0,
    "made_at": "2026-03-01T12:00:00.000000Z",
    "sold_at": None,
    "notes": '{"watts": 5}',
    "further": "column",
}
LAMP = Lamp(
    name="desk",
    state=State.ON,
    before=None,
    tags=("a", "b"),
    broken=False,
    made_at=NOON,
    sold_at=None,
    notes={"watts": 5},
)


def test_columns_get_the_types_of_the_fields() -> None:
    """A row of SQLite has texts and numbers; a row of PostgreSQL has moments. Further columns are ignored."""
    assert Lamp.from_row(ROW) == LAMP
    assert Lamp.from_row(ROW | {"made_at": NOON, "sold_at": NOON, "before": "off", "notes": None}) == Lamp(
        name="desk",
        state=State.ON,
        before=State.OFF,
        tags=("a", "b"),
        broken=False,
        made_at=NOON,
        sold_at=NOON,
        notes=None,
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


def test_a_time_that_the_database_filled_in_is_utc() -> None:
    """SQLite writes it so for other programs."""
    assert Lamp.from_row(ROW | {"made_at": "2026-03-01 12:00:00"}) == LAMP


def test_a_row_that_is_not_there_is_named() -> None:
    """The message has the noun and the id that was asked for."""
    assert Lamp.existing(ROW, 7) == LAMP
    with pytest.raises(NotFoundError, match="no lamp with id 8"):
        Lamp.existing(None, 8)
