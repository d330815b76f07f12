"""Dates and times as people write them: ISO 8601, or words such as "yesterday" and "last Friday". Pure.

The words are English, German, Spanish and French. A text is read as a span of time, such as the day, the week or the
month that it names. Words mean days of a time zone; a date in ISO 8601 is a day in UTC, as stored times are printed.
What has two readings, such as 5/4/2026, is refused.
Source: ADR 0029.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Final

from commonplace.core.clock import Clock, in_utc
from commonplace.core.errors import InvalidInputError
from commonplace.language.calendar_words import MONTHS, NEAR_DAYS, SPANS, WEEKDAYS
from commonplace.language.importance_cues import plain

EXAMPLES: Final = (
    '2026-05-01, 2026-05-01T12:00:00Z, yesterday, "last friday", "3 days ago", "5 May" or "last week"'
)
EXPECTED: Final = f"a date or a time, such as {EXAMPLES}"

_HALF_DAY_H: Final = 12
_TICK: Final = timedelta(microseconds=1)
_FAR_DAYS: Final = {
    -2: "(?:the )?day before yesterday|vorgestern|anteayer|antier|antes de ayer|avant-hier",
    -1: "last night|gestern (?:abend|nacht)|anoche|hier soir",
    0: "(?:this|heute|esta|ce|cette) (?:morning|afternoon|evening|morgen|fruh|nachmittag|abend|tarde|noche|matin|soir)"
    "|tonight",
    2: "(?:the )?day after tomorrow|ubermorgen|pasado manana|apres-demain",
}
_NOW: Final = "now|jetzt|ahora|maintenant"
_LAST: Final = (
    r"last|previous|past|(?:letzt|vorig|vergangen)e[nrms]?|pasad[oa]s?|ultim[oa]s?|derniere?s?|passee?"
)
_THIS: Final = "this|current|diese[nrms]?|est[ae]|cet?|cette"
_NEXT: Final = "next|coming|nachste[nrms]?|kommende[nrms]?|proxim[oa]|prochaine?|que viene"
_LEAD: Final = re.compile(
    r"^(?:(?:on|in|at|from|since|the|am|im|seit|vom|von|der|die|das|den|dem|el|la|los|las|desde|del?|en|le|les|depuis|du)"
    r"\s+)+"
)
_CLOCK: Final = re.compile(
    r"^(.+?),?\s+(?:(?:at|um|a las?|a)\s+)?"
    r"(?P<hour>\d{1,2})(?:(?:[:h](?P<minute>\d{2}))(?:\s*(?:uhr|h))?|\s*(?:uhr|h))?\s*(?P<half>[ap]m)?$"
)
_UNITS: Final = (
    "minutes?|minuten?|minutos?",
    "hours?|stunden?|horas?|heures?",
    "days?|tage?n?|dias?|jours?",
    "weeks?|wochen?|semanas?|semaines?",
    "months?|monate?n?|mes(?:es)?|mois",
    "years?|jahre?n?|anos?|ans?|annees?",
)
_NUMBERS: Final = (
    "an?|one|eine?[nmr]?|una?|une",
    "two|zwei|dos|deux",
    "three|drei|tres|trois",
    "four|vier|cuatro|quatre",
    "five|funf|cinco|cinq",
    "six|sechs|seis",
    "seven|sieben|siete|sept",
    "eight|acht|ocho|huit",
    "nine|neun|nueve|neuf",
    "ten|zehn|diez|dix",
)
_YEAR: Final = r"(?:19|20)\d\d"
_WEEKEND: Final = "weekend|wochenende|fin de semana|week-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """The time that a text names.

    Attributes:
        start: Its first moment (UTC).
        end: The moment after its last (UTC); the first moment itself if the text names a moment.
        is_iso: Whether the text is in ISO 8601.
    """

    start: datetime
    end: datetime
    is_iso: bool = False

    @property
    def last(self) -> datetime:
        """The last moment of the span."""
        return self.end - _TICK if self.end > self.start else self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReader:
    """Reads the dates and times of one installation.

    Attributes:
        clock: Gives the present.
        zone: The time zone that words mean.
    """

    clock: Clock
    zone: tzinfo

    def since(self, text: str | None, *, field: str = "since") -> datetime | None:
        """Return the first moment that a text names; ``None`` for ``None``.

        Raises:
            InvalidInputError: The text is neither a date nor a time.
        """
        return None if text is None else self.span(text, field=field).start

    def until(self, text: str | None, *, field: str = "until") -> datetime | None:
        """Return the moment after the last that a text names; ``None`` for ``None``. See :meth:`since`."""
        return None if text is None else self.span(text, field=field).end

    def span(self, text: str, *, field: str, ahead: bool = False) -> TimeSpan:
        """Return the span that a text names; see :func:`read_span`.

        Raises:
            InvalidInputError: The text is neither a date nor a time.
        """
        read = read_span(text, now=self.clock(), zone=self.zone, ahead=ahead)
        if read is None:
            raise InvalidInputError(field, EXPECTED, text)
        start, end = (in_utc(moment, field=field) for moment in (read.start, read.end))
        return TimeSpan(start=start, end=end, is_iso=read.is_iso)


def read_span(text: str, *, now: datetime, zone: tzinfo, ahead: bool = False) -> TimeSpan | None:
    """Return the span of time that a text names; ``None`` if the text is neither a date nor a time.

    Args:
        text: The whole text is read, or nothing.
        now: The present (aware).
        zone: The time zone that words mean.
        ahead: Whether a weekday, a month or a day without its year is the coming one; otherwise it is the latest.
    """
    try:
        span = _read(text, now, zone, ahead=ahead)
    except (OverflowError, ValueError):  # A day outside of the calendar, such as 9,999 years ago.
        return None
    if span is None or span.is_iso:
        return span
    return TimeSpan(start=span.start.astimezone(UTC), end=span.end.astimezone(UTC))


def _read(text: str, now: datetime, zone: tzinfo, *, ahead: bool) -> TimeSpan | None:
    text = " ".join(text.split())
    iso = read_iso(text)
    if iso is not None:
        return iso
    words = _LEAD.sub("", plain(text))
    present = _Present(today=now.astimezone(zone).date(), ahead=ahead)
    if re.fullmatch(_NOW, words):
        return TimeSpan(start=now, end=now)
    moment = _ago(words, now)
    if moment is not None:
        return TimeSpan(start=moment, end=moment)
    days = _days(words, present)
    if days is not None:
        return TimeSpan(start=_midnight(days[0], zone), end=_midnight(days[1] + timedelta(days=1), zone))
    timed = _CLOCK.match(words)
    days = None if timed is None else _days(timed[1], present)
    at = None if timed is None else _time(timed)
    if days is None or days[0] != days[1] or at is None:
        return None
    moment = datetime.combine(days[0], at, zone)
    return TimeSpan(start=moment, end=moment)


def read_iso(text: str) -> TimeSpan | None:
    """Return the moment or the day of a text in ISO 8601, in UTC without offset; ``None`` if it is none."""
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    is_day = len(text) <= len("2026-05-01")
    last = datetime.max.replace(tzinfo=UTC)
    end = min(moment, last - timedelta(days=1)) + timedelta(days=1) if is_day else moment
    return TimeSpan(start=moment, end=end, is_iso=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Present:
    """The present day, and whether a day without its week or year is the coming one."""

    today: date
    ahead: bool


def _days(words: str, present: _Present) -> tuple[date, date] | None:
    """Return the first and the last day that some words name."""
    readers = (_near_day, _weekday, _weekend, _span, _latest_units, _month, _calendar_day)
    readings = (read(words, present) for read in readers)
    return next((days for days in readings if days is not None), None)


def _near_day(words: str, present: _Present) -> tuple[date, date] | None:
    for away, names in (*NEAR_DAYS.items(), *_FAR_DAYS.items()):
        if re.fullmatch(_plain(names), words):
            return _one(present.today + timedelta(days=away))
    days = _count(words, 2)
    if days is not None:
        return _one(present.today - timedelta(days=days))
    weeks = _count(words, 3)
    if weeks is not None:
        return _one(present.today - timedelta(weeks=weeks))
    for unit, months in ((4, 1), (5, 12)):
        count = _count(words, unit)
        if count is not None:
            return _one(_months_before(present.today, count * months))
    return None


def _weekday(words: str, present: _Present) -> tuple[date, date] | None:
    for place, names in enumerate(WEEKDAYS):
        turn = _turn(words, _plain(names))
        if turn is None:
            continue
        back = timedelta(days=(present.today.weekday() - place) % 7)
        if turn == "this":
            return _one(present.today + timedelta(days=place - present.today.weekday()))
        if turn == "next":
            return _one(present.today + timedelta(days=7 - present.today.weekday() + place))
        if turn == "" and present.ahead:
            return _one(present.today - back + timedelta(days=7 if back else 0))
        return _one(present.today - (back if back or turn == "" else timedelta(days=7)))
    return None


def _weekend(words: str, present: _Present) -> tuple[date, date] | None:
    turn = _turn(words, _WEEKEND)
    if turn is None:
        return None
    saturday = present.today + timedelta(days=5 - present.today.weekday())
    saturday += timedelta(days={"last": -7, "next": 7}.get(turn, 0))
    return saturday, saturday + timedelta(days=1)


def _span(words: str, present: _Present) -> tuple[date, date] | None:
    """Return the days of a week, a month or a year beside the present one."""
    for place, names in enumerate(SPANS):
        turn = _turn(words, _plain(names))
        if not turn:
            continue
        away = {"last": -1, "this": 0, "next": 1}[turn]
        if place == 0:
            monday = present.today - timedelta(days=present.today.weekday() - 7 * away)
            return monday, monday + timedelta(days=6)
        if place == 1:
            return _month_days(_months_before(present.today.replace(day=1), -away))
        year = present.today.year + away
        return date(year, 1, 1), date(year, 12, 31)
    return None


def _latest_units(words: str, present: _Present) -> tuple[date, date] | None:
    """Return the days of "the last 3 days", which end today."""
    for pattern in (rf"(?:{_LAST}) (.+)", rf"(\S+) (?:{_LAST}) (\S+)"):
        found = re.fullmatch(pattern, words)
        if found is None:
            continue
        rest = " ".join(found.groups())
        for unit, days in ((2, 1), (3, 7)):
            count = _number(rest, _UNITS[unit])
            if count is not None:
                return present.today - timedelta(days=max(1, count * days) - 1), present.today
    return None


def _month(words: str, present: _Present) -> tuple[date, date] | None:
    """Return the days of a month, with or without its year, or of a year."""
    if re.fullmatch(_YEAR, words):
        return date(int(words), 1, 1), date(int(words), 12, 31)
    found = re.fullmatch(
        rf"(?:(?:{_LAST})\s)?({_any_month()})(?:\s(?:{_LAST}))?(?:,?\s(?:del? )?({_YEAR}))?", words
    )
    if found is None:
        return None
    month = _month_number(found[1])
    if found[2]:
        return _month_days(date(int(found[2]), month, 1))
    year = present.today.year + (
        month < present.today.month if present.ahead else -(month > present.today.month)
    )
    return _month_days(date(year, month, 1))


def _calendar_day(words: str, present: _Present) -> tuple[date, date] | None:
    """Return a day such as "5 May 2026", "May 5" or 5.5.2026."""
    numbers = re.fullmatch(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})", words)
    if numbers is not None:
        return _day(int(numbers[3]), int(numbers[2]), int(numbers[1]))
    numbers = re.fullmatch(r"(\d{4})/(\d{1,2})/(\d{1,2})", words)
    if numbers is not None:
        return _day(*map(int, numbers.groups()))
    suffix = r"(?:st|nd|rd|th|er|\.|°)?"
    found = re.fullmatch(
        rf"(?P<day>\d{{1,2}}){suffix}\s(?:of |de )?(?P<month>{_any_month()})\.?(?:,?\s(?:del? )?(?P<year>{_YEAR}))?",
        words,
    ) or re.fullmatch(
        rf"(?P<month>{_any_month()})\.?\s(?P<day>\d{{1,2}}){suffix}(?:,?\s(?P<year>{_YEAR}))?", words
    )
    if found is None:
        return None
    month, day = _month_number(found["month"]), int(found["day"])
    if found["year"]:
        return _day(int(found["year"]), month, day)
    years = (
        range(present.today.year, present.today.year + 9)
        if present.ahead
        else range(present.today.year, present.today.year - 9, -1)
    )
    days = (each for year in years if (each := _day(year, month, day)) is not None)
    return next(
        (each for each in days if (each[0] >= present.today if present.ahead else each[0] <= present.today)),
        None,
    )


def _ago(words: str, now: datetime) -> datetime | None:
    """Return the moment some minutes or hours ago."""
    for unit, seconds in ((0, 60), (1, 3_600)):
        count = _count(words, unit)
        if count is not None:
            return now - timedelta(seconds=count * seconds)
    return None


def _count(words: str, unit: int) -> int | None:
    """Return how many units ago some words name, such as 3 for "3 days ago"."""
    for pattern in (r"(.+) ago", r"vor (.+)", r"hace (.+)", r"il y a (.+)"):
        found = re.fullmatch(pattern, words)
        count = None if found is None else _number(found[1], _UNITS[unit])
        if count is not None:
            return count
    return None


def _number(words: str, unit: str) -> int | None:
    """Return the number of "3 days" or "three days"; ``None`` if these are no such units."""
    found = re.fullmatch(rf"(\S+) (?:{unit})", words)
    if found is None:
        return None
    if re.fullmatch(r"\d{1,4}", found[1]):
        return int(found[1])
    names = enumerate(_NUMBERS, 1)
    return next((number for number, each in names if re.fullmatch(each, found[1])), None)


def _turn(words: str, names: str) -> str | None:
    """Return "last", "this", "next", or an empty text for a bare name; ``None`` if the words name something else."""
    if re.fullmatch(names, words):
        return ""
    for turn, marks in (("last", _LAST), ("this", _THIS), ("next", _NEXT)):
        if re.fullmatch(rf"(?:{marks}) (?:{names})|(?:{names}) (?:{marks})", words):
            return turn
    return None


@cache
def _plain(names: str) -> str:
    return (
        "|".join(plain(each) for each in names.split("|")) if "[" not in names and "(" not in names else names
    )


@cache
def _any_month() -> str:
    names = {plain(name) for names in MONTHS for name in names.split("|")}
    return "|".join(sorted(names, key=len, reverse=True))


def _month_number(name: str) -> int:
    return next(number for number, names in enumerate(MONTHS, 1) if re.fullmatch(_plain(names), name))


def _months_before(day: date, months: int) -> date:
    """Return the day some months before another, at most the last day of its month."""
    number = day.year * 12 + day.month - 1 - months
    first = date(number // 12, number % 12 + 1, 1)
    return first.replace(day=min(day.day, _month_days(first)[1].day))


def _month_days(first: date) -> tuple[date, date]:
    following = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return first, following - timedelta(days=1)


def _day(year: int, month: int, day: int) -> tuple[date, date] | None:
    try:
        return _one(date(year, month, day))
    except ValueError:
        return None


def _one(day: date) -> tuple[date, date]:
    return day, day


def _time(words: re.Match[str]) -> time | None:
    """Return the time of day of :data:`_CLOCK`; a bare number is none."""
    hour = int(words["hour"])
    if words["half"]:
        if not 1 <= hour <= _HALF_DAY_H:
            return None
        hour = hour % _HALF_DAY_H + (_HALF_DAY_H if words["half"] == "pm" else 0)
    elif words["hour"] == words[0].split()[-1]:
        return None
    try:
        return time(hour, int(words["minute"] or 0))
    except ValueError:
        return None


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone)
