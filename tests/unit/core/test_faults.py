"""Faults of pydantic, as errors in plain words."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

from commonplace.core.faults import invalid_input


class Colour(StrEnum):
    """A closed set."""

    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    """A nested object."""

    count: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """A nested noun of a memory."""

    x: int


class Form(BaseModel):
    """Fields of many types."""

    model_config = ConfigDict(extra="forbid")

    budget: Annotated[int, Field(ge=0, lt=10)] = 0
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    colour: Colour = Colour.RED
    order: Literal["up", "down"] = "up"
    name: Annotated[str, Field(min_length=2, max_length=3)] = "ab"
    tags: Annotated[list[str], Field(max_length=1)] = []
    at: datetime | None = None
    seen_at: AwareDatetime | None = None
    is_on: bool = False
    id: UUID | None = None
    inner: Inner | None = None
    point: Point | None = None
    zone: str = ""

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str) -> str:
        if value:
            raise ValueError(f"expected the name of a zone, got {value!r}")
        return value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": -1}, "budget: expected a number of at least 0, got -1"),
        ({"budget": 10}, "budget: expected a number less than 10, got 10"),
        ({"budget": "zzz"}, 'budget: expected a whole number, got "zzz"'),
        ({"budget": 1.5}, "budget: expected a whole number, got 1.5"),
        ({"share": "much"}, 'share: expected a number, got "much"'),
        ({"share": 0}, "share: expected a number greater than 0.0, got 0"),
        ({"share": 2}, "share: expected a number of at most 1.0, got 2"),
        ({"colour": "pink"}, 'colour: expected "red" or "blue", got "pink"'),
        ({"order": "left"}, 'order: expected "up" or "down", got "left"'),
        ({"name": "a"}, 'name: expected text of at least 2 characters, got "a"'),
        ({"name": "abcd"}, 'name: expected text of at most 3 characters, got "abcd"'),
        ({"name": 3}, "name: expected text, got 3"),
        ({"tags": ["a", "b"]}, 'tags: expected at most 1 item, got ["a", "b"]'),
        ({"tags": "a"}, 'tags: expected a list, got "a"'),
        ({"at": "soon"}, 'at: expected a time such as 2026-11-22T14:05:00Z, got "soon"'),
        (
            {"seen_at": "2026-11-22T14:05:00"},
            'seen_at: expected a time with its time zone, such as 2026-11-22T14:05:00Z, got "2026-11-22T14:05:00"',
        ),
        ({"is_on": "perhaps"}, 'is_on: expected true or false, got "perhaps"'),
        ({"id": "x"}, 'id: expected a UUID, got "x"'),
        ({"inner": 1}, "inner: expected an object, got 1"),
        ({"inner": {}}, "inner.count: expected a value, got nothing"),
        ({"point": 1}, "point: expected an object, got 1"),
        ({"point": {"x": 1, "y": 2}}, "point.y: expected no value, because this field does not exist, got 2"),
        ({"zone": "Mars"}, 'zone: expected the name of a zone, got "Mars"'),
        ({"other": 1}, "other: expected no value, because this field does not exist, got 1"),
        ([], "form: expected an object, got []"),
    ],
)
def test_faults_name_the_field_the_expected_value_and_the_value_found(given: object, message: str) -> None:
    """Pydantic's own sentences reach nobody."""
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(given)
    assert str(invalid_input(caught.value.errors()[0], whole="form")) == message
