"""The narrowing of a read is checked when it is made."""

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source
from commonplace.knowledge import EVERYTHING, Narrowing


def test_values_are_cleaned_and_moments_are_in_utc() -> None:
    """A date of knowledge or truth is the end of the day; a date of storing is its beginning."""
    narrowing = Narrowing(
        scope=" ops ",
        as_of="2026-05-01",
        since="2026-05-01",
        until="2026-05-01T12:00:00+02:00",
        min_trust="agent",
        tags=["a", "a", "b"],
        entity_id=str(UUID(int=7)),
    )
    assert (narrowing.scope, narrowing.tags, narrowing.entity_id) == ("ops", ("a", "b"), UUID(int=7))
    assert narrowing.as_of == datetime(2026, 5, 1, 23, 59, 59, 999_999, UTC)
    assert narrowing.since == datetime(2026, 5, 1, tzinfo=UTC)
    assert narrowing.until == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert narrowing.trusts == (Source.PERSON, Source.AGENT)
    assert narrowing.is_past
    assert narrowing.has_filters
    assert replace(narrowing, scope="web").until == narrowing.until


def test_nothing_narrows_everything() -> None:
    """The default considers all memories of the present."""
    assert Narrowing() == EVERYTHING
    assert EVERYTHING.trusts == tuple(Source)
    assert not EVERYTHING.is_past
    assert not EVERYTHING.has_filters
    with pytest.raises(FrozenInstanceError):
        EVERYTHING.scope = "ops"  # type: ignore[misc]


@pytest.mark.parametrize(
    "values",
    [
        {"scope": ""},
        {"scope": "s" * 101},
        {"learned_by": "s" * 101},
        {"tags": ["t"] * 51},
        {"tags": "kitchen"},
        {"as_of": "yesterday"},
        {"since": datetime(2026, 1, 1)},  # noqa: DTZ001 - without a zone
        {"min_trust": "god"},
        {"entity_id": "x"},
    ],
    ids=str,
)
def test_a_value_that_makes_no_sense_is_refused_by_name(values: dict[str, Any]) -> None:
    """The error names the field."""
    (field,) = values
    with pytest.raises(InvalidInputError, match=f"^{field}: expected"):
        Narrowing(**values)
    with pytest.raises(InvalidInputError, match="until: expected a moment after since"):
        Narrowing(since="2026-05-02", until="2026-05-01")
