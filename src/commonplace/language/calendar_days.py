"""Arithmetic of days: weeks, months, quarters and Easter. Pure."""

from datetime import date, timedelta
from typing import Final

Days = tuple[date, date]
"""The first and the last day."""

_YEARS: Final = range(1000, 9990)
_MONTHS_OF: Final = {"month": 1, "quarter": 3, "year": 12}
_DAYS_OF: Final = {"day": 1, "week": 7, "fortnight": 14}


def real_date(year: int, month: int, day: int) -> date | None:
    """Return a date, or ``None`` if no calendar has it."""
    try:
        return date(year, month, day) if year in _YEARS else None
    except ValueError:
        return None


def one_day(day: date) -> Days:
    """Return the days from a day to itself."""
    return day, day


def months_from(day: date, months: int) -> date:
    """Return the day some months later, or the last day of that month if the month is shorter."""
    month = day.year * 12 + day.month - 1 + months
    first = date(month // 12, month % 12 + 1, 1)
    last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day.day, last.day))


def month_of(day: date) -> Days:
    """Return the month of a day."""
    first = day.replace(day=1)
    return first, months_from(first, 1) - timedelta(days=1)


def quarter_of(day: date) -> Days:
    """Return the quarter of a day."""
    first = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    return first, months_from(first, 3) - timedelta(days=1)


def iso_week(year: int, week: int) -> Days | None:
    """Return an ISO week, or ``None`` if the year has no week of that number."""
    try:
        monday = date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
    return monday, monday + timedelta(days=6)


def stretch_around(day: date, unit: str, steps: int) -> Days:
    """Return the week, month, quarter or year of a day, or one some steps later."""
    if unit == "week":
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=steps)
        return monday, monday + timedelta(days=6)
    if unit == "year":
        return date(day.year + steps, 1, 1), date(day.year + steps, 12, 31)
    if unit == "quarter":
        return quarter_of(months_from(day.replace(day=1), 3 * steps))
    return month_of(months_from(day.replace(day=1), steps))


def add_units(day: date, unit: str, count: int) -> date:
    """Return the day some days, weeks, fortnights, months or years later."""
    if unit in _DAYS_OF:
        return day + timedelta(days=_DAYS_OF[unit] * count)
    return months_from(day, _MONTHS_OF[unit] * count)


def easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar.

    Source: the anonymous algorithm in Meeus, Astronomical Algorithms (1991).
    """
    century, rest = divmod(year, 100)
    golden = year % 19
    leap = (century + 8) // 25
    epact = (19 * golden + century - century // 4 - (century - leap + 1) // 3 + 15) % 30
    shift = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * shift) // 451
    month, day = divmod(epact + shift - 7 * late + 114, 31)
    return date(year, month, day + 1)
