"""The days that words such as "next Friday" mean. Each function reads one form, given the day it was said on. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from commonplace.language import calendar_words as words
from commonplace.language.calendar_days import (
    Days,
    add_units,
    easter,
    iso_week,
    month_of,
    months_from,
    one_day,
    quarter_of,
    real_date,
    stretch_around,
)

WEEK: Final = timedelta(days=7)


class SpanKind(StrEnum):
    """The kind of time that words name."""

    DAY = "day"
    """A date."""
    NEAR = "near"
    """A day near today, such as "tomorrow"."""
    WEEKDAY = "weekday"
    STRETCH = "stretch"
    """A week, month, quarter, half-year or year."""
    RANGE = "range"
    """Days from one to another, such as "9-20 December"."""
    END = "end"
    """The last day of a stretch."""
    LENGTH = "length"
    """A number of days, weeks, months or years."""
    AHEAD = "ahead"
    """A number of days, weeks, months or years from today."""
    RHYTHM = "rhythm"
    """Days that return, such as "every Friday"."""
    VAGUE = "vague"
    """Days that nobody could tell, such as "mid-March"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpan:
    """Words that name days.

    Attributes:
        kind: What the words name.
        options: The days that may be meant, in order: one if it is certain, else one for each year or week.
        is_relative: Whether the words mean other days on another day.
        unit: The unit of a stretch or a length.
        count: The number of units of a length.
        has_year: Whether the words name the year, or days near today.
        is_dated: Whether brackets after the words name the days.
        remark: What is wrong with the words, if something is.
        start: The place of the first character in the text.
        end: The place after the last character.
    """

    kind: SpanKind
    options: tuple[Days, ...] = ()
    is_relative: bool = False
    unit: str = ""
    count: int = 0
    has_year: bool = True
    is_dated: bool = False
    remark: str | None = None
    start: int = 0
    end: int = 0

    def after(self, first: date) -> date:
        """Return the first day after a length that begins on a day."""
        return add_units(first, self.unit, self.count)


VAGUE: Final = DaySpan(kind=SpanKind.VAGUE)


def place_in(names: tuple[str, ...], word: str) -> int:
    """Return the number, from 1, of the pattern that a word matches; 0 if it matches none."""
    return next(
        (place for place, each in enumerate(names, 1) if each and re.fullmatch(each, word, re.IGNORECASE)), 0
    )


def _years(year: str | None, today: date) -> Iterator[int]:
    yield from (today.year - 1, today.year, today.year + 1) if year is None else (int(year),)


def days_in(year: str | None, month: int, first: int, last: int, today: date) -> tuple[Days, ...]:
    """Return the days from one day of a month to another, one pair for each year that has them."""
    pairs = ((real_date(each, month, first), real_date(each, month, last)) for each in _years(year, today))
    return tuple(
        (begin, end) for begin, end in pairs if begin is not None and end is not None and begin <= end
    )


def _month_number(word: str) -> int | None:
    """Return the number of a month. In English, "May" is capitalised and the verb "may" is not."""
    return None if word == "may" else place_in(words.MONTHS, word.rstrip(".")) or None


def read_dated(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a date in words."""
    month = _month_number(match["month"])
    if month is None:
        return None
    options = days_in(match["year"], month, int(match["day"]), int(match["day"]), today)
    return (
        DaySpan(kind=SpanKind.DAY, options=options, has_year=match["year"] is not None) if options else VAGUE
    )


def read_dated_range(match: re.Match[str], today: date) -> DaySpan | None:
    """Read days of a month, such as "9-20 December"."""
    month = _month_number(match["month"])
    if month is None:
        return None
    is_ordinal = match.end("day") < match.start("to")
    if _LIMITING.fullmatch(match["to"].strip()) and not (
        is_ordinal or _OPENED.search(match.string[: match.start()]) or match.start("month") == match.start()
    ):
        return VAGUE
    options = days_in(match["year"], month, int(match["day"]), int(match["last"]), today)
    is_joint = (
        options
        and re.fullmatch(r"\s(?:and|und|et|y|e)\s|\s?[+&/]\s?", match["to"], re.IGNORECASE)
        and options[0][1] - options[0][0] > timedelta(1)
    )
    unit = "joint" if is_joint else "day"
    return (
        DaySpan(kind=SpanKind.RANGE, options=options, unit=unit, has_year=match["year"] is not None)
        if options
        else VAGUE
    )


_LIMITING: Final = re.compile(r"until|till|through|bis|hasta|até", re.IGNORECASE)
_OPENED: Final = re.compile(
    r"\b(?:from|between|the|vom|von|zwischen|dem|den|du|de|del|desde|el|le|entre|o|dia|día)\s$", re.IGNORECASE
)
"""Words before a number that make it a day; else "Lindenweg 3 until 31 July" may be an address."""


def read_numeric(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a date in digits."""
    options = days_in(match["year"], int(match["month"]), int(match["day"]), int(match["day"]), today)
    return (
        DaySpan(kind=SpanKind.DAY, options=options, has_year=match["year"] is not None) if options else VAGUE
    )


def read_slashed(match: re.Match[str], today: date) -> DaySpan:
    """Read a date with slashes, if it is known which of its numbers is the month."""
    ordered = _day_and_month(match)
    options = () if ordered is None else days_in(match["year"], ordered[1], ordered[0], ordered[0], today)
    return DaySpan(kind=SpanKind.DAY, options=options) if options else VAGUE


def _day_and_month(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the day and the month of two numbers with a slash between them.

    Which number is the month is known if one is above 12, if that is so in the date beside it, or from the language of
    the word before it.
    """
    one, two = int(match["one"]), int(match["two"])
    before, after = _LIMIT.search(match.string[: match.start()]), _TO_DATE.match(match.string, match.end())
    pairs = [
        (one, two),
        *((int(each["one"]), int(each["two"])) for each in (before, after) if each and each["one"]),
    ]
    is_day_first = any(first > _MONTHS for first, _ in pairs) or (
        before is not None and before["own"] is not None
    )
    is_month_first = any(second > _MONTHS for _, second in pairs)
    if is_day_first is is_month_first and one != two:
        return None
    return (two, one) if is_month_first else (one, two)


def read_day_and_month(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a date such as "27/3" between words of a period, where it is no fraction and no "24/7"."""
    is_beside = _LIMIT.search(match.string[: match.start()]) or _TO_DATE.match(match.string, match.end())
    if match[0] == "24/7" or not is_beside:
        return None
    ordered = _day_and_month(match)
    options = () if ordered is None else days_in(None, ordered[1], ordered[0], ordered[0], today)
    return DaySpan(kind=SpanKind.DAY, options=options, has_year=False) if options else VAGUE


_MONTHS: Final = len(words.MONTHS)
_PAIR: Final = r"(?P<one>\d{1,2})/(?P<two>\d{1,2})(?:/\d{4})?"
_LIMIT: Final = re.compile(
    r"(?:\b(?:until|till?|thru|through|from|since)|\b(?P<own>bis|bis\szum|ab|vom|seit|hasta|hasta\sel|desde|desde\sel|del|al"
    r"|até|até\so|até\sao|jusqu['\u2019]au|depuis\sle|du|au)"
    rf"|\b{_PAIR}(?:\s(?:to|a|al|até|au|bis|and|und|et|y|e)|\s?[-\u2013+&]))(?:\s(?:{'|'.join(words.WEEKDAYS)}),?)?\s?$",
    re.IGNORECASE,
)
"""Words before a date; ``own`` are those of languages that write the day first."""
_TO_DATE: Final = re.compile(
    rf"(?:\s(?:to|a|al|até|au|bis|and|und|et|y|e)\s|\s?[-\u2013+&]\s?){_PAIR}\b", re.IGNORECASE
)


def read_month(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a month."""
    month = _month_number(match["month"])
    if month is None:
        return None
    options = tuple(month_of(date(year, month, 1)) for year in _years(match["year"], today))
    return DaySpan(kind=SpanKind.STRETCH, options=options, unit="month", has_year=match["year"] is not None)


def read_year(match: re.Match[str], _today: date) -> DaySpan:
    """Read a year."""
    year = int(match["year"])
    return DaySpan(kind=SpanKind.STRETCH, options=((date(year, 1, 1), date(year, 12, 31)),), unit="year")


def read_quarter(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a quarter of a year."""
    name = match["q"] or match["nth"]
    number = int(name) if name.isdecimal() else place_in(words.ORDINALS, name)
    if not 1 <= number <= len(words.ORDINALS) or name.casefold().startswith(("last", "letzt", "dern", "últ")):
        return None
    options = tuple(quarter_of(date(year, 3 * number, 1)) for year in _years(match["year"], today))
    return DaySpan(kind=SpanKind.STRETCH, options=options, unit="quarter", has_year=match["year"] is not None)


def read_half(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a half of a year."""
    name = match["h"] or match["nth"]
    number = int(name) if name.isdecimal() else place_in(words.ORDINALS, name)
    if number not in {1, 2}:
        return None
    ends = ((1, 6, 30), (7, 12, 31))[number - 1]
    begin, month, day = ends
    years = _years(match["year"], today) if match["year"] or not match["this"] else (today.year,)
    options = tuple((date(year, begin, 1), date(year, month, day)) for year in years)
    has_year = bool(match["year"] or match["this"])
    return DaySpan(kind=SpanKind.STRETCH, options=options, unit="half", has_year=has_year)


def read_week(match: re.Match[str], today: date) -> DaySpan | None:
    """Read an ISO week, or weeks from one to another."""
    first, last = int(match["week"]), int(match["last"] or match["week"])
    between = match.string[match.end("week") : match.start("last")] if match["last"] else ""
    if _JOINT.search(between) and last - first > 1:
        return VAGUE
    options = tuple(
        (begin[0], end[1])
        for year in _years(match["year"], today)
        if (begin := iso_week(year, first)) and (end := iso_week(year, last)) and begin <= end
    )
    kind = SpanKind.RANGE if match["last"] else SpanKind.STRETCH
    return (
        DaySpan(kind=kind, options=options, unit="week", has_year=match["year"] is not None)
        if options
        else VAGUE
    )


_JOINT: Final = re.compile(r"and|und|et|y|e|[+&/,]", re.IGNORECASE)


def read_near(match: re.Match[str], today: date) -> DaySpan | None:
    """Read a word such as "tomorrow"; "mañana" and "Morgen" may mean the morning, and "hier" is German too."""
    before = match.string[: match.start()]
    if match[0].casefold() == "mañana" and _MORNING.search(before):
        return None
    if match[0] == "Morgen" and before and before[-2:-1] not in ".!?:":
        return None
    if match[0].casefold() == "hier" and not _FRENCH.search(match.string):
        return None
    away = words.DAYS_AWAY[match[0].casefold().replace("\u2019", "'")]
    return DaySpan(
        kind=SpanKind.NEAR, options=(one_day(today + timedelta(days=away)),), is_relative=True, unit="day"
    )


_MORNING: Final = re.compile(r"\b(?:la|esta|una|cada|buena)\s$", re.IGNORECASE)
_FRENCH: Final = re.compile(
    r"\b(?:le|la|les|est|sont|a été|ont|nous|je|il|elle|depuis|d'|l'|c'|qu')", re.IGNORECASE
)


def read_weekday(match: re.Match[str], today: date) -> DaySpan:
    """Read a weekday alone: the last one before today, or the first one after today."""
    return weekday_around(place_in(words.WEEKDAYS, match["weekday"]) - 1, today)


def weekday_around(number: int, today: date) -> DaySpan:
    """Return a weekday, by its number from 0 for Monday: the last one before today, or the first one after today."""
    ahead = (number - today.weekday() - 1) % 7 + 1
    day = today + timedelta(days=ahead)
    before = day - WEEK if day - WEEK < today else day - 2 * WEEK
    return DaySpan(
        kind=SpanKind.WEEKDAY,
        options=(one_day(before), one_day(day)),
        is_relative=True,
        unit="day",
        has_year=False,
    )


def read_numbered_weekday(match: re.Match[str], today: date) -> DaySpan:
    """Read "Friday the 18th": the days of that number near today that are such a weekday; "Friday 13" is a saying."""
    number, weekday = int(match["day"] or match["alone"]), place_in(words.WEEKDAYS, match["weekday"]) - 1
    months = (months_from(today.replace(day=1), steps) for steps in (-1, 0, 1, 2))
    days = (real_date(first.year, first.month, number) for first in months)
    options = tuple(one_day(day) for day in days if day is not None and day.weekday() == weekday)
    if not options or number == _UNLUCKY:
        return VAGUE
    return DaySpan(kind=SpanKind.DAY, options=options, has_year=False)


_UNLUCKY: Final = 13


def read_relative_weekday(match: re.Match[str], today: date) -> DaySpan:
    """Read "next Friday": of this week or the next, if it is ahead in this week; else the coming one."""
    number = place_in(words.WEEKDAYS, match["weekday"]) - 1
    which = _which(match)
    in_this_week = today - timedelta(days=today.weekday()) + timedelta(days=number)
    coming = in_this_week if in_this_week > today else in_this_week + WEEK
    if which == "of next week":
        days = (in_this_week + WEEK,)
    elif which == "last":
        days = (in_this_week - WEEK, in_this_week) if in_this_week < today else (in_this_week - WEEK,)
    elif which == "next" and in_this_week > today:
        days = (in_this_week, in_this_week + WEEK)
    elif which == "this" and in_this_week >= today:
        days = (in_this_week,)
    else:
        days = (coming,)
    options = tuple(one_day(each) for each in days)
    return DaySpan(kind=SpanKind.NEAR, options=options, is_relative=True, unit="day")


def read_relative_stretch(match: re.Match[str], today: date) -> DaySpan | None:
    """Read "next week", "this month" and the like."""
    unit = next(
        name
        for name, each in words.UNITS.items()
        if re.fullmatch(each.replace(" ", r"\s"), match["unit"], re.IGNORECASE)
    )
    which = _which(match)
    if unit in {"day", "fortnight", "half"}:
        return None
    if unit == "weekend":
        return _weekend(which, today)
    steps = {"last": -1, "this": 0, "after next": 2}.get(which, 1)
    return DaySpan(
        kind=SpanKind.STRETCH, options=(stretch_around(today, unit, steps),), is_relative=True, unit=unit
    )


def _weekend(which: str, today: date) -> DaySpan:
    saturday = today + timedelta(days=5 - today.weekday())
    if which == "next" and today < saturday:
        return VAGUE
    steps = {"last": -1, "this": 0, "after next": 2}.get(which, 1 if today >= saturday else 0)
    first = saturday + steps * WEEK
    days = (first, first + timedelta(days=1))
    return DaySpan(kind=SpanKind.STRETCH, options=(days,), is_relative=True, unit="weekend")


def _which(match: re.Match[str]) -> str:
    """Return what a word such as "next" says of a weekday or a stretch."""
    names = {"next": "next", "coming": "coming", "this": "this", "last": "last", "skip": "after next"}
    said = {names[name]: text for name, text in match.groupdict().items() if text and name in names}
    if match.groupdict().get("beside"):
        return "of next week"
    return next(iter(said), "coming")


def read_month_in_year(match: re.Match[str], today: date) -> DaySpan | None:
    """Read "next May"."""
    month = _month_number(match["month"])
    if month is None or match["last"]:
        return None
    first = next(
        day for year in (today.year, today.year + 1) if (day := date(year, month, 1)) > today.replace(day=1)
    )
    return DaySpan(kind=SpanKind.STRETCH, options=(month_of(first),), is_relative=True, unit="month")


def unit_of(text: str) -> str:
    """Return the unit that a word means, such as "month" for "Monats"."""
    compounds = {
        "monats": "month",
        "month": "month",
        "jahres": "year",
        "year": "year",
        "quartals": "quarter",
        "eom": "month",
        "eoq": "quarter",
        "eoy": "year",
        "wochen": "week",
    }
    found = next(
        (name for name, each in words.UNITS.items() if re.fullmatch(each, text, re.IGNORECASE)), None
    )
    return found or compounds[text.casefold()]


def read_length(match: re.Match[str], _today: date) -> DaySpan | None:
    """Read a number of days, weeks, months or years."""
    name = match["n"]
    count = int(name) if name.isdecimal() else place_in(words.NUMBERS, name.replace("  ", " "))
    unit = unit_of(match["unit"])
    if unit in {"weekend", "quarter", "half"} or count == 0:
        return None
    is_ahead = bool(match.groupdict().get("ahead"))
    return DaySpan(
        kind=SpanKind.AHEAD if is_ahead else SpanKind.LENGTH, unit=unit, count=count, is_relative=is_ahead
    )


def read_holiday(match: re.Match[str], today: date) -> DaySpan:
    """Read a holiday with a date of its own."""
    name = match[0].casefold()
    fixed = next((days for each, days in words.FIXED_HOLIDAYS.items() if re.fullmatch(each, name)), None)
    if fixed is not None:
        return DaySpan(
            kind=SpanKind.DAY, options=days_in(None, fixed[0], fixed[1], fixed[1], today), has_year=False
        )
    away = next(days for each, days in words.HOLIDAYS.items() if re.fullmatch(each, name))
    days = (easter(year) + timedelta(days=away) for year in _years(None, today))
    return DaySpan(kind=SpanKind.DAY, options=tuple(one_day(each) for each in days), has_year=False)
