"""Cron expressions with five fields, or an alias such as ``@daily``; always in UTC."""

from datetime import UTC, datetime
from typing import Any, Final, cast

from croniter import (
    croniter as _croniter,  # pyright: ignore[reportUnknownVariableType, reportMissingTypeStubs] - it has no types
)

FIELDS: Final = 5
EXPECTED: Final = (
    "five fields (minute hour day month weekday) such as '0 3 * * *', an alias such as @daily, or off"
)

_Cron: Any = _croniter


def check_cron(expression: str) -> str:
    """Return a valid cron expression.

    Raises:
        ValueError: The text is not a cron expression, or it never comes due.
    """
    if not expression.startswith("@") and len(expression.split()) != FIELDS:
        raise ValueError(f"expected {EXPECTED}")
    try:
        _Cron(expression, datetime(2000, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (ValueError, KeyError) as error:
        raise ValueError(f"expected {EXPECTED}: {error}") from None
    return expression


def previous_tick(expression: str, moment: datetime) -> datetime:
    """Return the last due time of an expression at or before a moment, to the second."""
    if _Cron.match(expression, moment) and not moment.second:
        return moment.replace(microsecond=0)
    return cast("datetime", _Cron(expression, moment).get_prev(datetime)).astimezone(UTC)


def next_tick(expression: str, moment: datetime) -> datetime:
    """Return the first due time of an expression after a moment."""
    return cast("datetime", _Cron(expression, moment).get_next(datetime)).astimezone(UTC)
