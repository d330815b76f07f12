"""Time: aware UTC datetimes in Python, ISO 8601 with ``Z`` in text columns and files."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from commonplace.core.errors import InvalidInputError

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC datetime; a parameter wherever time matters, so that tests can set it."""

CLOCKS_DIFFER_BY: Final = timedelta(hours=1)
"""Limit on how far ahead another machine's time may be. A time further ahead comes from a wrong clock and must not
delay work."""


def utc_now() -> datetime:
    """Return the current time as an aware UTC datetime; the default clock."""
    return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when told to: for tests, simulations and the tour."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time of the clock."""
        return self.now

    def advance(self, **span: float) -> None:
        """Move the clock forward or back by the keywords of :class:`~datetime.timedelta`."""
        self.now += timedelta(**span)


def format_timestamp(
    moment: datetime, *, precision: Literal["seconds", "microseconds"] = "microseconds"
) -> str:
    """Return a moment as ISO 8601 in UTC with ``Z``, of one fixed width, so that text sorts as time does.

    Args:
        moment: An aware datetime of any zone.
        precision: ``"microseconds"`` for database columns, ``"seconds"`` for files that people read.

    Raises:
        InvalidInputError: The datetime is naive; a guessed zone could be off by up to a day.
    """
    if moment.tzinfo is None:
        raise InvalidInputError("moment", "a datetime with a time zone", moment)
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def in_utc(moment: datetime, *, field: str) -> datetime:
    """Return an aware datetime in UTC.

    ``field`` is the field that the error names.

    Raises:
        InvalidInputError: In UTC, the moment is outside of the years 1 to 9999.
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(field, "a moment of the years 1 to 9999 in UTC", str(moment)) from None


def require_moment(value: object, *, field: str) -> datetime:
    """Return a value that a caller passed as an aware datetime, in UTC.

    Raises:
        InvalidInputError: It is no aware datetime, or is outside of the years 1 to 9999 in UTC.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInputError(field, "an aware datetime", value)
    return in_utc(value, field=field)


def parse_timestamp(text: str, *, field: str = "timestamp") -> datetime:
    """Read an ISO 8601 timestamp as an aware UTC datetime.

    Any offset is accepted and converted to UTC.

    ``field`` is the field that the error names.

    Raises:
        InvalidInputError: The text is not ISO 8601, has no offset, or is outside of the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(field, "an ISO 8601 timestamp such as 2026-02-26T12:00:00Z", text) from None
    if moment.tzinfo is None:
        raise InvalidInputError(field, "a timestamp with an offset or Z", text)
    return in_utc(moment, field=field)
