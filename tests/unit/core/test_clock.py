"""Times as text, and back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.clock import format_timestamp, parse_timestamp, utc_now
from commonplace.core.errors import InvalidInputError

MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(9000, 1, 1),  # noqa: DTZ001
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)


@given(MOMENTS)
def test_text_gives_the_moment_back(moment: datetime) -> None:
    """Whatever the zone was."""
    assert parse_timestamp(format_timestamp(moment)) == moment


@given(MOMENTS, MOMENTS)
def test_text_sorts_as_time_does(first: datetime, second: datetime) -> None:
    """One fixed width, one zone."""
    assert (format_timestamp(first) < format_timestamp(second)) == (first < second)


def test_files_show_seconds() -> None:
    """The form that people read."""
    moment = datetime(2026, 2, 26, 12, 0, 0, 999, tzinfo=UTC)
    assert format_timestamp(moment, precision="seconds") == "2026-02-26T12:00:00Z"


@pytest.mark.parametrize(
    "text", ["yesterday", "", "2026-02-26T12:00:00", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59-14:00"]
)
def test_other_text_is_refused_by_field(text: str) -> None:
    """A time without a zone could be off by a day."""
    with pytest.raises(InvalidInputError, match="updated_at"):
        parse_timestamp(text, field="updated_at")


def test_a_naive_moment_is_refused() -> None:
    """Guessing its zone would be off by up to a day."""
    with pytest.raises(InvalidInputError, match="time zone"):
        format_timestamp(datetime(2026, 1, 1))  # noqa: DTZ001


def test_now_is_aware() -> None:
    """The clock that everything uses by default."""
    assert utc_now().utcoffset() == timedelta(0)
