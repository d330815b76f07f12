"""Nouns are read from rows by the types of their fields."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest

from commonplace.core.errors import NotFoundError
from commonplace.storage.nouns import Noun


class Colour(StrEnum):
    """A closed set."""

    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Apple(Noun):
    """A noun with a field of each kind."""

    id: int
    colour: Colour
    ripe: bool
    picked_at: datetime
    eaten_at: datetime | None
    notes: dict[str, Any] | None


ROW = {
    "id": 7,
    "colour": "red",
    "ripe": 1,
    "picked_at": "2026-03-01T12:00:00.000000Z",
    "eaten_at": None,
    "notes": '{"taste": 5}',
    "of_others": "ignored",
}


def test_each_field_is_read_by_its_type() -> None:
    """Texts become times, enums and objects; what may be missing stays missing."""
    apple = Apple.from_row(ROW)
    assert apple == Apple(
        id=7,
        colour=Colour.RED,
        ripe=True,
        picked_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        eaten_at=None,
        notes={"taste": 5},
    )
    assert isinstance(apple.colour, Colour)
    assert apple.ripe is True


def test_a_time_that_the_database_filled_in_is_utc() -> None:
    """As SQLite writes it for other programs."""
    assert Apple.from_row(ROW | {"picked_at": "2026-03-01 12:00:00"}) == Apple.from_row(ROW)


def test_a_row_that_is_not_there_is_named() -> None:
    """By the noun and the id that was asked for."""
    assert Apple.existing(ROW, 7) == Apple.from_row(ROW)
    with pytest.raises(NotFoundError, match="no apple with id 8"):
        Apple.existing(None, 8)
