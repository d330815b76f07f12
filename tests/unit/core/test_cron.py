"""Cron expressions, read in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.cron import check_cron, next_tick, previous_tick

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENTS = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds


@pytest.mark.parametrize(
    "expression", ["0 3 * * *", "*/5 * * * *", "0 0 29 2 *", "0 9 * * mon-fri", "@daily"]
)
def test_expressions_that_are_taken(expression: str) -> None:
    """Five fields, names of days, and aliases."""
    assert check_cron(expression) == expression


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "daily",
        "@never",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "0 0 31 2 *",
        "0 3 * * * ; rm",
        "H * * * *",
    ],
)
def test_expressions_that_are_refused(expression: str) -> None:
    """Seconds, nonsense, and days that never come; the error says what is expected."""
    with pytest.raises(ValueError, match="expected five fields"):
        check_cron(expression)


@pytest.mark.parametrize(
    ("moment", "previous", "following"),
    [
        (NOON, NOON, NOON + timedelta(hours=1)),
        (NOON - timedelta(microseconds=1), NOON - timedelta(hours=1), NOON),
        (NOON + timedelta(seconds=59, microseconds=7), NOON, NOON + timedelta(hours=1)),
        (datetime(2026, 3, 1, 13, 30, tzinfo=timezone(timedelta(hours=1))), NOON, NOON + timedelta(hours=1)),
    ],
    ids=["at a tick", "just before", "just after", "another zone"],
)
def test_ticks_before_and_after(moment: datetime, previous: datetime, following: datetime) -> None:
    """A tick counts from its very moment on."""
    assert previous_tick("0 * * * *", moment) == previous
    assert next_tick("0 * * * *", moment) == following


@given(moment=MOMENTS, expression=st.sampled_from(["0 3 * * *", "*/7 * * * *", "0 0 29 2 *", "30 4 1 * *"]))
def test_ticks_are_neighbours(moment: datetime, expression: str) -> None:
    """The tick before and the tick after have none between them."""
    previous, following = previous_tick(expression, moment), next_tick(expression, moment)
    assert previous <= moment < following
    assert next_tick(expression, previous) == following
