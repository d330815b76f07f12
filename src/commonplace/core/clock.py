"""Time: aware UTC datetimes inside, ISO 8601 with ``Z`` in text columns and files."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from commonplace.core.errors import InvalidInputError

Clock = Callable[[], datetime]
"""Gives the present as an aware UTC datetime; a parameter wherever time matters, so that tests set it."""

CLOCKS_DIFFER_BY: Final = timedelta(hours=1)
"""What one machine wrote down may be this far ahead of another's present. What is further ahead comes from a clock that
was wrong, and must not keep work from happening until then."""


def utc_now() -> datetime:
    """Return the present as an aware UTC datetime; the clock of everything that is not given another."""
    return datetime.now(UTC)


class ManualClock:
    """A clock that stands where it is put: for tests, simulations and the tour.

    Args:
        now: An aware datetime.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the moment at which it stands."""
        return self.now

    def advance(self, **span: float) -> None:
        """Move it on, or back, by the keywords of :class:`~datetime.timedelta`."""
        self.now += timedelta(**span)


def format_timestamp(
    moment: datetime, *, precision: Literal["seconds", "microseconds"] = "microseconds"
) -> str:
    """Write a moment as ISO 8601 in UTC with ``Z``, of one fixed width, so that text sorts as time does.

    Args:
        moment: An aware datetime of any zone.
        precision: ``"microseconds"`` for database columns, ``"seconds"`` for files that people read.

    Raises:
        InvalidInputError: The datetime is naive; guessing its zone would be off by up to a day.
    """
    if moment.tzinfo is None:
        raise InvalidInputError("moment", "a datetime with a time zone", moment)
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def parse_timestamp(text: str, *, field: str = "timestamp") -> datetime:
    """Read an ISO 8601 timestamp as an aware UTC datetime.

    Any offset is accepted and turned into UTC.

    Args:
        text: For example ``2026-02-26T12:00:00Z`` or ``2026-02-26T14:00:00+02:00``.
        field: Named in the error.

    Raises:
        InvalidInputError: It is not ISO 8601, or has no offset.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(field, "an ISO 8601 timestamp such as 2026-02-26T12:00:00Z", text) from None
    if moment.tzinfo is None:
        raise InvalidInputError(field, "a timestamp with an offset or Z", text)
    return moment.astimezone(UTC)
