"""When the items of other programs were said, in the forms in which programs write times. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, tzinfo
from typing import Final

from commonplace.knowledge import FactDraft, RuleDraft
from commonplace.language.relative_days import with_dates
from commonplace.services.transfer.items import Item, PastItem, Read, Unreadable

_FIRST: Final = datetime(1990, 1, 1, tzinfo=UTC)
"""An earlier time stands for an unknown one: programs write 0 or -1."""
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)
_LEAST_MS: Final = 100_000_000_000
"""Numbers from here on count milliseconds since 1970, smaller ones seconds."""


def said_at(*values: object) -> datetime | None:
    """Return the first of some values that is a time, in UTC; ``None`` if none is.

    A value is a text in ISO 8601, a number of seconds or milliseconds since 1970 or its text, a date or a datetime. A
    time without offset is in UTC, and a date is its first moment.
    """
    return next(_moments(values), None)


def fact_said_at(fact: FactDraft, moment: datetime | None) -> FactDraft:
    """Return a fact that holds since a moment, and was confirmed then."""
    return replace(fact, valid_from=moment, last_confirmed_at=moment)


def _moments(values: tuple[object, ...]) -> Iterator[datetime]:
    for value in values:
        try:
            moment = _moment(value)
        except (ValueError, OverflowError, OSError):
            continue
        if moment is not None and _FIRST <= moment <= _LAST:
            yield moment


def _moment(value: object) -> datetime | None:
    match value:
        case bool():
            return None
        case int() | float():
            return datetime.fromtimestamp(value / 1000 if value >= _LEAST_MS else value, UTC)
        case str():
            return _of_text(value.strip())
        case datetime():
            return _in_utc(value)
        case date():
            return datetime.combine(value, time(), UTC)
        case _:
            return None


def _of_text(text: str) -> datetime | None:
    try:
        return _in_utc(datetime.fromisoformat(text))
    except ValueError:
        return _moment(float(text))


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def with_said_dates(items: Read, zone: tzinfo, now: datetime) -> Read:
    """Yield items; words such as "tomorrow" in a fact or rule whose time is known get the date that they meant.

    A time after ``now`` is the date of something else, and is left out: otherwise the fact would not hold yet. ``zone``
    is the time zone of the person who said the words.
    """
    for item in items:
        yield _dated(item, zone, now)


def _dated(item: Item | PastItem | Unreadable, zone: tzinfo, now: datetime) -> Item | PastItem | Unreadable:
    if not isinstance(item, FactDraft | RuleDraft) or not isinstance(item.last_confirmed_at, datetime):
        return item
    if item.last_confirmed_at > now:
        return (
            fact_said_at(item, None) if isinstance(item, FactDraft) else replace(item, last_confirmed_at=None)
        )
    return replace(item, content=with_dates(item.content, item.last_confirmed_at.astimezone(zone)))
