"""Words of a text that name days: dates, weekdays, weeks, months, "tomorrow", "next week", "for three weeks". Pure.

The words are found here and mean something here; whether a sentence holds for these days is decided elsewhere.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
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
    one_day,
    quarter_of,
    real_date,
    stretch_around,
)
from commonplace.language.cues import spellings, tokens_of

WEEK: Final = timedelta(days=7)


class SpanKind(StrEnum):
    """What the words of a span name."""

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
        start: The place of the first character.
        end: The place after the last character.
        kind: What the words name.
        options: The days that may be meant, in order: one if it is certain, else one for each year or week.
        is_relative: Whether the words mean other days on another day.
        unit: The unit of a stretch or a length.
        count: The number of units of a length.
        has_year: Whether the words name the year, or days near today.
        is_dated: Whether brackets after the words name the days.
        remark: What is wrong with the words, if something is.
    """

    start: int
    end: int
    kind: SpanKind
    options: tuple[Days, ...] = ()
    is_relative: bool = False
    unit: str = ""
    count: int = 0
    has_year: bool = True
    is_dated: bool = False
    remark: str | None = None

    def after(self, first: date) -> date:
        """Return the first day after a length that begins on a day."""
        return add_units(first, self.unit, self.count)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What some words mean, wherever they stand."""

    kind: SpanKind
    options: tuple[Days, ...] = ()
    is_relative: bool = False
    unit: str = ""
    count: int = 0
    has_year: bool = True


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern of words, the longest first."""
    each = sorted(("|".join(names)).split("|"), key=len, reverse=True)
    return "(?:" + "|".join(one.replace(" ", r"\s") for one in each) + ")"


_MONTH: Final = _any_of(words.MONTHS)
_WEEKDAY: Final = _any_of(words.WEEKDAYS)
_YEAR: Final = r"(?:19|20)\d\d"
_UNIT: Final = _any_of(words.UNITS.values())
_NUMBER: Final = rf"(?:\d{{1,3}}|{_any_of(words.NUMBERS)})"
_SPELT: Final = rf"(?:\d{{1,3}}|{_any_of(words.NUMBERS[1:])})"
_ORDINAL: Final = _any_of(words.ORDINALS)
_NTH: Final = r"(?:st|nd|rd|th|er|º|ª|°|\.)?"
_OF: Final = r"(?:of\s(?:the\s)?|des?\s|del\s|do\s|da\s|d['\u2019]|von\s)"
_TO: Final = r"(?:\s?[-–—]\s?|\s(?:to|until|till|through|and|bis|und|au|et|al|a|hasta|y|até|ao|e)\s)"
_THE: Final = r"(?:the\s|den\s|dem\s|zum\s|le\s|el\s|o\s)?"
_IN_YEAR: Final = rf"(?:,?\s{_OF}?(?P<year>{_YEAR}))?"
_NO_MORE: Final = r"(?![\w:/-]|[.,]\d)"

_DIGIT: Final = re.compile(r"\d")

_Read = Callable[[re.Match[str], date], _Reading | None]


def names_days(text: str) -> bool:
    """Return whether a text has a digit or a word with which days can begin; quick, and true too often."""
    return _DIGIT.search(text) is not None or not _NAMING.isdisjoint(tokens_of(text))


def find_day_spans(text: str, today: date) -> list[DaySpan]:
    """Return the words of a text that name days, in order; no two overlap.

    Args:
        text: With single spaces between words.
        today: The day on which the text was said.
    """
    spans: list[DaySpan] = []
    for word in re.finditer(r"\w+", text):
        if (not spans or word.start() >= spans[-1].end) and (span := _span_at(text, word, today)):
            spans.append(span)
    return spans


def _span_at(text: str, word: re.Match[str], today: date) -> DaySpan | None:
    """Return the span that begins with a word; the day beside its weekday counts."""
    start = word.start()
    if start and (
        text[start - 1] in "_#@/\\" or (text[start - 1] in ".:-" and text[start - 2 : start - 1].isalnum())
    ):
        return None
    if word[0][0].isdigit():
        return _after_date(text, _read_at(text, start, today, _NUMERIC), today)
    patterns = _WORDED.get(word[0].casefold())
    if patterns is None:
        return None
    if weekday := _WEEKDAY_FIRST.match(text, start):
        dated = _read_at(text, weekday.end(), today, _DATES)
        if dated is not None and dated.kind is SpanKind.DAY:
            return replace(dated, start=start, remark=_disagreement(dated, weekday["name"]))
    return _after_date(text, _read_at(text, start, today, patterns), today)


def _after_date(text: str, span: DaySpan | None, today: date) -> DaySpan | None:
    """Return a span with the brackets after it: the weekday of a date, or the date of words such as "tomorrow"."""
    if span is not None and span.is_relative and (dated := _DATED.match(text, span.end)):
        return _as_dated(span, dated)
    if span is None or span.kind is not SpanKind.DAY:
        return span
    weekday = _WEEKDAY_LAST.match(text, span.end)
    return (
        span
        if weekday is None
        else replace(span, end=weekday.end(), remark=_disagreement(span, weekday["name"]))
    )


_WEEKDAY_FIRST: Final = re.compile(
    rf"(?P<name>{_WEEKDAY})[.,]?\s(?:the\s|den\s|dem\s|le\s|el\s|dia\s|día\s)?", re.IGNORECASE
)
_WEEKDAY_LAST: Final = re.compile(rf"\s?(?:\((?P<name>{_WEEKDAY})\))", re.IGNORECASE)


_DATED: Final = re.compile(
    r"(?:['\u2019]s)?\s\((?P<first>\d{4}-\d\d-\d\d)(?:\u2013(?P<last>\d{4}-\d\d-\d\d))?\)"
    r"|\s\((?P<year>\d{4})(?:-(?P<month>\d\d)|\sQ(?P<quarter>[1-4]))?\)"
)
"""The dates that :mod:`~commonplace.language.relative_days` writes."""


def _as_dated(span: DaySpan, dated: re.Match[str]) -> DaySpan:
    """Return a span whose days are those that the brackets name."""
    try:
        if dated["first"]:
            days = (date.fromisoformat(dated["first"]), date.fromisoformat(dated["last"] or dated["first"]))
        else:
            year, unit = (
                int(dated["year"]),
                "month" if dated["month"] else "quarter" if dated["quarter"] else "year",
            )
            month = int(dated["month"] or 3 * int(dated["quarter"] or 1))
            days = stretch_around(date(year, month, 1), unit, 0)
    except ValueError:
        return replace(span, end=dated.end(), kind=SpanKind.VAGUE, is_dated=True)
    kind = SpanKind.RANGE if span.kind is SpanKind.AHEAD else span.kind
    kind = SpanKind.DAY if kind is SpanKind.WEEKDAY else kind
    return replace(span, end=dated.end(), kind=kind, options=(days,), has_year=True, is_dated=True)


def _disagreement(span: DaySpan, name: str) -> str | None:
    """Return what is wrong with the weekday beside a date, if it is the weekday of no year that may be meant."""
    number = _place(words.WEEKDAYS, name) - 1
    days = [first for first, _ in span.options]
    if any(day.weekday() == number for day in days):
        return None
    if len(days) > 1:
        return f"{name} is not the weekday of that date; the date counts"
    return f"{days[0]} is a {days[0]:%A}, not {name}; the date counts"


def _read_at(
    text: str, start: int, today: date, patterns: Iterable[tuple[re.Pattern[str], _Read]]
) -> DaySpan | None:
    for pattern, read in patterns:
        match = pattern.match(text, start)
        reading = None if match is None else read(match, today)
        if match is not None and reading is not None:
            return DaySpan(
                start=start,
                end=match.end(),
                kind=reading.kind,
                options=reading.options,
                is_relative=reading.is_relative,
                unit=reading.unit,
                count=reading.count,
                has_year=reading.has_year,
            )
    return None


_VAGUE: Final = _Reading(SpanKind.VAGUE)


def _place(names: tuple[str, ...], word: str) -> int:
    """Return the number, from 1, of the pattern that a word matches; 0 if it matches none."""
    return next(
        (place for place, each in enumerate(names, 1) if each and re.fullmatch(each, word, re.IGNORECASE)), 0
    )


def _years(year: str | None, today: date) -> Iterator[int]:
    yield from (today.year - 1, today.year, today.year + 1) if year is None else (int(year),)


def _days(year: str | None, month: int, first: int, last: int, today: date) -> tuple[Days, ...]:
    """Return the days from one day of a month to another, one pair for each year that has them."""
    pairs = ((real_date(each, month, first), real_date(each, month, last)) for each in _years(year, today))
    return tuple(
        (begin, end) for begin, end in pairs if begin is not None and end is not None and begin <= end
    )


def _month_number(word: str) -> int | None:
    """Return the number of a month. In English, "May" is capitalised and the verb "may" is not."""
    return None if word == "may" else _place(words.MONTHS, word.rstrip(".")) or None


def _dated(match: re.Match[str], today: date) -> _Reading | None:
    """Read a date in words."""
    month = _month_number(match["month"])
    if month is None:
        return None
    options = _days(match["year"], month, int(match["day"]), int(match["day"]), today)
    return _Reading(SpanKind.DAY, options, has_year=match["year"] is not None) if options else _VAGUE


def _dated_range(match: re.Match[str], today: date) -> _Reading | None:
    month = _month_number(match["month"])
    if month is None:
        return None
    options = _days(match["year"], month, int(match["day"]), int(match["last"]), today)
    is_joint = (
        options
        and re.fullmatch(r"\s(?:and|und|et|y|e)\s", match["to"], re.IGNORECASE)
        and options[0][1] - options[0][0] > timedelta(1)
    )
    unit = "joint" if is_joint else "day"
    return (
        _Reading(SpanKind.RANGE, options, unit=unit, has_year=match["year"] is not None)
        if options
        else _VAGUE
    )


def _numeric(match: re.Match[str], today: date) -> _Reading | None:
    """Read a date in digits."""
    options = _days(match["year"], int(match["month"]), int(match["day"]), int(match["day"]), today)
    return _Reading(SpanKind.DAY, options, has_year=match["year"] is not None) if options else _VAGUE


def _slashed(match: re.Match[str], today: date) -> _Reading:
    """Read a date with slashes, if only one of its numbers can be a month."""
    first, second, months = int(match["one"]), int(match["two"]), len(words.MONTHS)
    if first <= months and second <= months and first != second:
        return _VAGUE
    day, month = (second, first) if second > months else (first, second)
    options = _days(match["year"], month, day, day, today)
    return _Reading(SpanKind.DAY, options) if options else _VAGUE


def _month(match: re.Match[str], today: date) -> _Reading | None:
    month = _month_number(match["month"])
    if month is None:
        return None
    options = tuple(month_of(date(year, month, 1)) for year in _years(match["year"], today))
    return _Reading(SpanKind.STRETCH, options, unit="month", has_year=match["year"] is not None)


def _year(match: re.Match[str], _today: date) -> _Reading:
    year = int(match["year"])
    return _Reading(SpanKind.STRETCH, ((date(year, 1, 1), date(year, 12, 31)),), unit="year")


def _quarter(match: re.Match[str], today: date) -> _Reading | None:
    name = match["q"] or match["nth"]
    number = int(name) if name.isdecimal() else _place(words.ORDINALS, name)
    if not 1 <= number <= 4 or name.casefold().startswith(("last", "letzt", "dern", "últ")):
        return None
    options = tuple(quarter_of(date(year, 3 * number, 1)) for year in _years(match["year"], today))
    return _Reading(SpanKind.STRETCH, options, unit="quarter", has_year=match["year"] is not None)


def _half(match: re.Match[str], today: date) -> _Reading | None:
    name = match["h"] or match["nth"]
    number = int(name) if name.isdecimal() else _place(words.ORDINALS, name)
    if number not in {1, 2}:
        return None
    ends = ((1, 6, 30), (7, 12, 31))[number - 1]
    begin, month, day = ends
    years = _years(match["year"], today) if match["year"] or not match["this"] else (today.year,)
    options = tuple((date(year, begin, 1), date(year, month, day)) for year in years)
    has_year = bool(match["year"] or match["this"])
    return _Reading(SpanKind.STRETCH, options, unit="half", has_year=has_year)


def _week(match: re.Match[str], today: date) -> _Reading | None:
    """Read an ISO week, or weeks from one to another."""
    first, last = int(match["week"]), int(match["last"] or match["week"])
    options = tuple(
        (begin[0], end[1])
        for year in _years(match["year"], today)
        if (begin := iso_week(year, first)) and (end := iso_week(year, last)) and begin <= end
    )
    kind = SpanKind.RANGE if match["last"] else SpanKind.STRETCH
    return _Reading(kind, options, unit="week", has_year=match["year"] is not None) if options else _VAGUE


def _near(match: re.Match[str], today: date) -> _Reading | None:
    before = match.string[: match.start()]
    if match[0].casefold() == "mañana" and _MORNING.search(before):
        return None
    if match[0] == "Morgen" and before and before[-2:-1] not in ".!?:":
        return None
    if match[0].casefold() == "hier" and not _FRENCH.search(match.string):
        return None
    away = words.DAYS_AWAY[match[0].casefold().replace("\u2019", "'")]
    return _Reading(SpanKind.NEAR, (one_day(today + timedelta(days=away)),), is_relative=True, unit="day")


_MORNING: Final = re.compile(r"\b(?:la|esta|una|cada|buena)\s$", re.IGNORECASE)
_FRENCH: Final = re.compile(
    r"\b(?:le|la|les|est|sont|a été|ont|nous|je|il|elle|depuis|d'|l'|c'|qu')", re.IGNORECASE
)


def _weekday(match: re.Match[str], today: date) -> _Reading:
    """Read a weekday alone: the last one before today, or the first one after today."""
    ahead = (_place(words.WEEKDAYS, match["weekday"]) - 1 - today.weekday() - 1) % 7 + 1
    day = today + timedelta(days=ahead)
    before = day - WEEK if day - WEEK < today else day - 2 * WEEK
    return _Reading(
        SpanKind.WEEKDAY, (one_day(before), one_day(day)), is_relative=True, unit="day", has_year=False
    )


def _relative_weekday(match: re.Match[str], today: date) -> _Reading:
    """Read "next Friday": of this week or the next, if it is ahead in this week; else the coming one."""
    number = _place(words.WEEKDAYS, match["weekday"]) - 1
    which = _which(match)
    in_this_week = today - timedelta(days=today.weekday()) + timedelta(days=number)
    coming = in_this_week if in_this_week > today else in_this_week + WEEK
    if which == "of next week":
        days = (in_this_week + WEEK,)
    elif which == "last":
        days = (in_this_week if in_this_week < today else in_this_week - WEEK,)
    elif which == "next" and in_this_week > today:
        days = (in_this_week, in_this_week + WEEK)
    elif which == "this" and in_this_week >= today:
        days = (in_this_week,)
    else:
        days = (coming,)
    options = tuple(one_day(each) for each in days)
    return _Reading(SpanKind.NEAR, options, is_relative=True, unit="day")


def _relative_stretch(match: re.Match[str], today: date) -> _Reading | None:
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
    return _Reading(SpanKind.STRETCH, (stretch_around(today, unit, steps),), is_relative=True, unit=unit)


def _weekend(which: str, today: date) -> _Reading:
    saturday = today + timedelta(days=5 - today.weekday())
    if which == "next" and today < saturday:
        return _VAGUE
    steps = {"last": -1, "this": 0, "after next": 2}.get(which, 1 if today >= saturday else 0)
    first = saturday + steps * WEEK
    days = (first, first + timedelta(days=1))
    return _Reading(SpanKind.STRETCH, (days,), is_relative=True, unit="weekend")


def _which(match: re.Match[str]) -> str:
    """Return what a word such as "next" says of a weekday or a stretch."""
    names = {"next": "next", "coming": "coming", "this": "this", "last": "last", "skip": "after next"}
    said = {names[name]: text for name, text in match.groupdict().items() if text and name in names}
    if match.groupdict().get("beside"):
        return "of next week"
    return next(iter(said), "coming")


def _month_in_year(match: re.Match[str], today: date) -> _Reading | None:
    """Read "next May"."""
    month = _month_number(match["month"])
    if month is None or match["last"]:
        return None
    first = next(
        day for year in (today.year, today.year + 1) if (day := date(year, month, 1)) > today.replace(day=1)
    )
    return _Reading(SpanKind.STRETCH, (month_of(first),), is_relative=True, unit="month")


def _end(match: re.Match[str], today: date) -> _Reading:
    """Read the last day of a stretch."""
    inner = (
        _read_at(match[0], match.start("whole") - match.start(), today, _STRETCHES)
        if match["whole"]
        else None
    )
    if inner is None:
        unit = _unit(match["unit"] or match["joined"])
        options = () if unit in {"day", "weekend", "fortnight"} else (stretch_around(today, unit, 0),)
        is_relative, has_year = True, True
    else:
        options, is_relative, has_year = inner.options, inner.is_relative, inner.has_year
        if inner.kind is not SpanKind.STRETCH or inner.end + match.start() != match.end():
            return _VAGUE
    last = tuple(one_day(each) for _, each in options)
    return _Reading(SpanKind.END, last, is_relative=is_relative, has_year=has_year) if last else _VAGUE


def _unit(text: str) -> str:
    compounds = {
        "monats": "month",
        "month": "month",
        "jahres": "year",
        "year": "year",
        "quartals": "quarter",
        "wochen": "week",
    }
    found = next(
        (name for name, each in words.UNITS.items() if re.fullmatch(each, text, re.IGNORECASE)), None
    )
    return found or compounds[text.casefold()]


def _length(match: re.Match[str], _today: date) -> _Reading | None:
    name = match["n"]
    count = int(name) if name.isdecimal() else _place(words.NUMBERS, name.replace("  ", " "))
    unit = _unit(match["unit"])
    if unit in {"weekend", "quarter", "half"} or count == 0:
        return None
    is_ahead = bool(match.groupdict().get("ahead"))
    return _Reading(
        SpanKind.AHEAD if is_ahead else SpanKind.LENGTH, unit=unit, count=count, is_relative=is_ahead
    )


def _holiday(match: re.Match[str], today: date) -> _Reading:
    name = match[0].casefold()
    fixed = next((days for each, days in words.FIXED_HOLIDAYS.items() if re.fullmatch(each, name)), None)
    if fixed is not None:
        return _Reading(SpanKind.DAY, _days(None, fixed[0], fixed[1], fixed[1], today), has_year=False)
    away = next(days for each, days in words.HOLIDAYS.items() if re.fullmatch(each, name))
    days = (easter(year) + timedelta(days=away) for year in _years(None, today))
    return _Reading(SpanKind.DAY, tuple(one_day(each) for each in days), has_year=False)


def _only(kind: SpanKind) -> _Read:
    return lambda _match, _today: _Reading(kind)


def _compiled(*patterns: tuple[str, _Read]) -> tuple[tuple[re.Pattern[str], _Read], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in patterns)


_WHICH: Final = (
    rf"(?:(?P<next>{words.NEXT})|(?P<coming>{words.COMING})|(?P<this>{words.THIS})|(?P<last>{words.LAST})"
    rf"|(?P<skip>{words.AFTER_NEXT}))"
)
_BEHIND: Final = (
    r"(?:(?P<coming>prochaine?|próxim[oa]|que\sviene|que\svem|qui\svient)|(?P<last>dernière|dernier|pasad[oa]|passad[oa])"
    r"|(?P<skip>after\snext))"
)
_BESIDE: Final = r"(?P<beside>(?:of\s)?next\sweek|nächster\sWoche)"
_A_DATE: Final = _compiled(
    (rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){_NO_MORE}", _numeric),
    (rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?(?P<year>{_YEAR}){_NO_MORE}", _numeric),
    (r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>(?!))?(?![\w.:/-])", _numeric),
    (rf"(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})/(?P<year>{_YEAR}){_NO_MORE}", _slashed),
    (
        rf"(?P<day>\d{{1,2}}){_NTH}\s{_OF}?(?P<month>{_MONTH})\b(?:\.(?=\s{_YEAR}))?{_IN_YEAR}{_NO_MORE}",
        _dated,
    ),
    (rf"(?P<month>{_MONTH})\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_IN_YEAR}{_NO_MORE}", _dated),
)
_RANGES: Final = _compiled(
    (
        rf"(?P<day>\d{{1,2}}){_NTH}(?P<to>{_TO}){_THE}(?P<last>\d{{1,2}}){_NTH}\s{_OF}?(?P<month>{_MONTH})\b{_IN_YEAR}{_NO_MORE}",
        _dated_range,
    ),
    (
        rf"(?P<month>{_MONTH})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?P<to>{_TO})(?:the\s)?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?"
        rf"{_IN_YEAR}{_NO_MORE}",
        _dated_range,
    ),
    (
        rf"(?P<day>\d{{1,2}})\.{_TO}(?:den\s|zum\s)?(?P<last>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>{_YEAR})?",
        lambda match, today: _Reading(
            SpanKind.RANGE,
            _days(match["year"], int(match["month"]), int(match["day"]), int(match["last"]), today),
            has_year=match["year"] is not None,
        ),
    ),
)
_NAMED_STRETCHES: Final = _compiled(
    (
        rf"(?:Q(?P<q>[1-4])|(?:the\s)?(?P<nth>{_ORDINAL})\s(?:quarter|quartals?|trimestre))\b"
        rf"(?:[\s/]{_OF}?(?P<year>{_YEAR}))?{_NO_MORE}",
        _quarter,
    ),
    (
        rf"(?:H(?P<h>[12])|(?:the\s)?(?P<nth>{_ORDINAL})\s(?:half(?=\s(?:of\s)?(?:the\syear|this\syear|{_YEAR}))|halbjahre?s?"
        rf"|semestre))\b(?:\s{_OF}?(?P<year>{_YEAR})|\s(?P<this>of\sthe\syear|of\sthis\syear|des\sjahres|de\sl['\u2019]année"
        rf"|del\saño|do\sano))?{_NO_MORE}",
        _half,
    ),
    (
        rf"(?:calendar\sweeks?|kalenderwochen?|kw|cw|weeks?|wochen?|semaines?|semanas?)\s?(?P<week>\d{{1,2}})"
        rf"(?:{_TO}(?:kw\s)?(?P<last>\d{{1,2}}))?(?:(?:\s|\s?/\s?|,\s){_OF}?(?P<year>{_YEAR}))?{_NO_MORE}",
        _week,
    ),
    (rf"(?P<month>{_MONTH})\s{_OF}?(?P<year>{_YEAR}){_NO_MORE}", _month),
    (rf"(?P<year>{_YEAR})(?![\w:/-]|[.,]\d|\s\d)", _year),
)
_RELATIVE: Final = _compiled(
    (rf"(?:the\s|die\s|la\s)?(?P<unit>{_UNIT})\s{_BEHIND}\b", _relative_stretch),
    (rf"(?:the\s|la\s|a\s)?{_WHICH}\s(?P<unit>{_UNIT})\b(?!\sfor\b)", _relative_stretch),
    (rf"{_WHICH}\s(?P<month>{_MONTH})\b(?!\s\d)", _month_in_year),
    (rf"(?P<weekday>{_WEEKDAY})\s(?:{_BEHIND}|{_BESIDE})\b", _relative_weekday),
    (rf"{_WHICH}\s(?P<weekday>{_WEEKDAY})\b", _relative_weekday),
)
_MONTH_ALONE: Final = _compiled((rf"(?P<month>{_MONTH})\b(?P<year>(?!))?(?![-/]\w)", _month))
_STRETCHES: Final = (*_NAMED_STRETCHES, *_RELATIVE, *_MONTH_ALONE)
_ENDS: Final = _compiled(
    (
        rf"(?:(?:the\s)?(?:very\s)?end\sof|(?:the\s)?last\sday\s(?:of|in)|ende?|(?:den\s|dem\s)?letzte[nmrs]?\stage?s?"
        rf"|(?:la\s)?fin(?:\sde)?|(?:le\s)?dernier\sjour|(?:el\s)?último\sdía|(?:o\s)?último\sdia|finales|finais"
        rf"|(?:el\s|o\s)?fin(?:al)?(?:\sd[eo])?|(?:o\s)?fim(?:\sd[eo])?)"
        rf"\s(?:of\s|des?\s|du\s|del\s|do\s|da\s|dem\s|der\s)?(?:the\s|l['\u2019]|la\s|el\s|le\s)?"
        rf"(?:mes\sde\s|mois\sde\s|mois\sd['\u2019]|mês\sde\s)?"
        rf"(?:(?P<whole>{_ORDINAL}\s\w+(?:\s{_OF}?{_YEAR})?|Q[1-4](?:\s{_YEAR})?|KW\s?\d+|{_MONTH}(?:\s{_OF}?{_YEAR})?|{_YEAR}"
        rf"|(?:{words.NEXT}|{words.THIS})\s(?:{_UNIT}|{_MONTH})|(?:{_UNIT})\s(?:prochaine?|que\sviene|que\svem))"
        rf"|(?P<unit>{_UNIT})|(?P<joined>(?!)))\b",
        _end,
    ),
    (
        r"(?P<whole>(?!))?(?P<unit>(?!))?(?P<joined>monats|jahres|quartals|wochen|month|year)[- ]?ende?\b",
        _end,
    ),
)
_LENGTHS: Final = _compiled(
    (
        rf"(?P<ahead>(?:(?:the|die|den|der|las|los|as|os)\s)?(?:next|coming|following|nächsten|kommenden|próxim[oa]s))\s"
        rf"(?P<n>{_NUMBER})\s(?P<unit>{_UNIT})\b",
        _length,
    ),
    (
        rf"(?:les\s|las\s|los\s)?(?P<n>{_SPELT})\s(?P<ahead>prochaine?s|próxim[oa]s)\s(?P<unit>{_UNIT})\b",
        _length,
    ),
    (
        rf"(?:les\s)?(?P<n>{_SPELT})\s(?P<unit>{_UNIT})\s(?P<ahead>à\svenir|qui\sviennent|que\svienen)\b",
        _length,
    ),
    (rf"(?P<n>{_NUMBER})\s(?P<unit>{_UNIT})\b", _length),
)
_RHYTHMS: Final = _compiled(
    (
        rf"(?:every|each|jede[nmrs]?|jeweils|chaque|tous\sles|toutes\sles|cada|todos\s(?:os|los)|todas\s(?:as|las)|toda)\s"
        rf"(?:(?:am|im)\s)?(?:(?:{_ORDINAL}|other|second|zweiten|{_NUMBER})\s)*(?:{_WEEKDAY}s?|{_UNIT}|{_MONTH})\b"
        rf"(?:-feiras)?(?:\s(?:of\sthe|of\seach|im|des|du|del|do)\s{_UNIT}\b)?"
        rf"(?:(?:,|\s(?:and|und|y|et|e))\s(?:am\s|on\s|los\s|les\s|le\s|el\s)?{_WEEKDAY}s?\b)*",
        _only(SpanKind.RHYTHM),
    ),
    (
        rf"(?:{_ORDINAL})\s{_WEEKDAY}\s(?:of\s(?:the|each|every)|im|des|du|del|do|de\scada)\s{_UNIT}\b",
        _only(SpanKind.RHYTHM),
    ),
    (
        rf"(?:los|les)\s{_WEEKDAY}s?(?=\W|$)|{_WEEKDAY}s\b|(?:segundas|terças|quartas|quintas|sextas)(?:-feiras)?\b",
        _only(SpanKind.RHYTHM),
    ),
)
_BLURS: Final = _compiled(
    (
        rf"(?:mid|mitte|mi|mediados\sde|meados\sde|(?:the\s)?(?:middle|beginning|start)\sof|early|late|anfang|début|comienzos\sde"
        rf"|principios\sde|início\sde|around|about|circa|etwa|gegen|vers|hacia)[-\s](?:the\s|dem\s|den\s|le\s|el\s)?"
        rf"(?:{_MONTH}|{_UNIT}|{_WEEKDAY}|{_YEAR}|\d{{1,2}}{_NTH}\s{_OF}?{_MONTH}|next\s\w+)\b"
        rf"(?:\s{_OF}?{_YEAR})?",
        _only(SpanKind.VAGUE),
    ),
    (
        rf"{_WEEKDAY},?\s(?:the\s|den\s|le\s|el\s)?\d{{1,2}}(?:st|nd|rd|th|\.)?(?!\s?(?:uhr|h\b|am\b|pm\b|:))",
        _only(SpanKind.VAGUE),
    ),
)
_OTHER: Final = _compiled(
    (_any_of([*words.HOLIDAYS, *words.FIXED_HOLIDAYS]) + r"\b", _holiday),
    (_any_of(words.DAYS_AWAY) + r"\b", _near),
    (rf"(?P<weekday>{_WEEKDAY})\b(?!-)", _weekday),
)
_DATES: Final = _A_DATE
_NUMERIC: Final = (*_RANGES, *_A_DATE, *_NAMED_STRETCHES, *_LENGTHS)

_Patterns = tuple[tuple[re.Pattern[str], _Read], ...]


def _first_words(*patterns: str) -> frozenset[str]:
    """Return the first word of each spelling of some patterns."""
    found = (re.match(r"\w+", each.casefold()) for each in spellings("|".join(patterns).replace(r"\s", " ")))
    return frozenset(match[0] for match in found if match)


_WHICH_WORDS: Final = _first_words(
    words.NEXT, words.COMING.replace(r"|que\sviene|que\svem", ""), words.THIS, words.LAST, words.AFTER_NEXT
)
_WORDED_RULES: Final = (
    (_first_words("every|each|jede[nmrs]?|jeweils|chaque|tous|toutes|cada|todos|todas|toda"), _RHYTHMS[:1]),
    (_first_words(*words.ORDINALS), _RHYTHMS[1:2]),
    (
        _first_words(
            "los|les|quartas|segundas|terças|quintas|sextas",
            *(f"{each}s" for each in spellings("|".join(words.WEEKDAYS))),
        ),
        _RHYTHMS[2:],
    ),
    (_first_words(*words.HOLIDAYS, *words.FIXED_HOLIDAYS), _OTHER[:1]),
    (_first_words(*words.MONTHS), (*_RANGES[1:2], *_A_DATE[-1:], *_NAMED_STRETCHES[3:4])),
    (
        _first_words(
            "mid|mitte|mi|mediados|meados|middle|beginning|start|early|late|anfang|début|comienzos|principios|início|around",
            "about|circa|etwa|gegen|vers|hacia|the",
        ),
        _BLURS[:1],
    ),
    (_first_words(*words.WEEKDAYS), _BLURS[1:]),
    (
        _first_words(
            "the|very|end|ende|last|den|dem|letzte[nmrs]?|la|le|el|o|fin|dernier|último|finales|finais|final|fim"
        ),
        _ENDS[:1],
    ),
    (_first_words("monatsende|jahresende|quartalsende|wochenende|month|year"), _ENDS[1:]),
    (
        _first_words(
            "next|coming|following|nächsten|kommenden|próximos|próximas|the|las|los|les|as|os|die|den|der"
        ),
        _LENGTHS[:3],
    ),
    (_first_words("the|die|la", *words.UNITS.values()), _RELATIVE[:1]),
    (_WHICH_WORDS | {"the", "la", "a"}, _RELATIVE[1:2]),
    (_WHICH_WORDS, _RELATIVE[2:3]),
    (_first_words(*words.WEEKDAYS), _RELATIVE[3:4]),
    (_WHICH_WORDS, _RELATIVE[4:]),
    (_first_words("q1|q2|q3|q4|the", *words.ORDINALS), _NAMED_STRETCHES[:1]),
    (_first_words("h1|h2|the", *words.ORDINALS), _NAMED_STRETCHES[1:2]),
    (_first_words("calendar|kalenderwochen?|kw|cw|weeks?|wochen?|semaines?|semanas?"), _NAMED_STRETCHES[2:3]),
    (_first_words(*words.NUMBERS), _LENGTHS[1:]),
    (_first_words(*words.DAYS_AWAY), _OTHER[1:2]),
    (_first_words(*words.WEEKDAYS), _OTHER[2:]),
    (_first_words(*words.MONTHS), _MONTH_ALONE),
)
"""The patterns of spans that begin with a word, by their first words; the first that matches counts."""


def _by_first_word() -> dict[str, _Patterns]:
    first_words = {word for starts, _ in _WORDED_RULES for word in starts}
    return {
        word: tuple(each for starts, patterns in _WORDED_RULES if word in starts for each in patterns)
        for word in first_words
    }


_WORDED: Final = _by_first_word()


_NAMING: Final = _first_words(
    *words.MONTHS,
    *words.WEEKDAYS,
    *words.DAYS_AWAY,
    *words.UNITS.values(),
    *words.HOLIDAYS,
    *words.FIXED_HOLIDAYS,
) | _first_words("segundas|terças|quartas|quintas|sextas|monatsende|jahresende|quartalsende|wochenende|kw")
"""Words without which no text names days, unless it has a digit."""
