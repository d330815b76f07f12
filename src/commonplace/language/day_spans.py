"""Words of a text that name days: dates, weekdays, weeks, months, "tomorrow", "next week", "for three weeks". Pure.

The words are found here and mean something here; whether a sentence holds for these days is decided elsewhere.
"""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from commonplace.language import calendar_words as words
from commonplace.language.calendar_days import stretch_around
from commonplace.language.cues import tokens_of
from commonplace.language.day_meanings import DaySpan, SpanKind, place_in, weekday_around
from commonplace.language.day_patterns import DATES, NAMING, NUMERIC, WORDED, any_of, read_at

_DIGIT: Final = re.compile(r"\d")
_WEEKDAY: Final = any_of(words.WEEKDAYS)


def names_days(text: str) -> bool:
    """Return whether a text has a digit or a word with which days can begin; quick, and true too often."""
    return _DIGIT.search(text) is not None or not NAMING.isdisjoint(tokens_of(text))


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
    if week := _week_of(text, start, today):
        return week
    if word[0][0].isdigit():
        return _after_date(text, read_at(text, start, today, NUMERIC))
    if dated := _after_weekday(text, start, today):
        return dated
    if short := _short_weekday(text, start, today):
        return short
    patterns = WORDED.get(word[0].casefold())
    return None if patterns is None else _after_date(text, read_at(text, start, today, patterns))


def _week_of(text: str, start: int, today: date) -> DaySpan | None:
    """Return the week of a Monday, such as "week of 9 March"; other days before a week are vague."""
    words = _WEEK_OF.match(text, start)
    dated = None if words is None else _after_weekday(text, words.end(), today)
    dated = dated or (None if words is None else read_at(text, words.end(), today, DATES))
    if words is None or dated is None or dated.kind is not SpanKind.DAY:
        return dated and replace(dated, start=start)
    monday, _ = min(dated.options, key=lambda days: abs(days[0] - today))
    if monday.weekday() or dated.remark or _ENDING.search(words[0]):
        return replace(dated, kind=SpanKind.VAGUE, start=start)
    week = stretch_around(monday, "week", 0)
    return replace(dated, kind=SpanKind.STRETCH, unit="week", options=(week,), has_year=True, start=start)


def _after_weekday(text: str, start: int, today: date) -> DaySpan | None:
    """Return the date after a weekday or its abbreviation, with the weekday, if a date follows."""
    weekday = _WEEKDAY_FIRST.match(text, start)
    dated = None if weekday is None else read_at(text, weekday.end(), today, DATES)
    if weekday is None or dated is None or dated.kind not in {SpanKind.DAY, SpanKind.RANGE}:
        return None
    return _joined(text, replace(_in_year(dated, weekday["name"], today), start=start))


def _short_weekday(text: str, start: int, today: date) -> DaySpan | None:
    """Return an abbreviated weekday that stands between a word such as "until" and the end of the clause."""
    name = _SHORT_WEEKDAY.match(text, start)
    if name is None or not _UNTIL.search(text, 0, start):
        return None
    return replace(weekday_around(_number(name["name"]), today), start=start, end=name.end("name"))


def _in_year(span: DaySpan, name: str, today: date) -> DaySpan:
    """Return a date with a weekday: it is the nearest such date if its weekday is right, else this is remarked."""
    nearest = min(span.options, key=lambda days: abs(days[0] - today))
    if nearest[0].weekday() == _number(name):
        return replace(span, options=(nearest,), has_year=True)
    return replace(span, remark=_disagreement(span, name))


def _joined(text: str, span: DaySpan) -> DaySpan:
    """Return a date or a range, or vague days if another day is joined to it: "sat 24 + sun 25 Oct"."""
    is_joined = _JOINED.search(text, 0, span.start) or (
        text[span.end - 1].isdigit() and not span.has_year and _JOINED_AFTER.match(text, span.end)
    )
    return replace(span, kind=SpanKind.VAGUE) if is_joined else span


def _after_date(text: str, span: DaySpan | None) -> DaySpan | None:
    """Return a span with the brackets after it: the weekday of a date, or the date of words such as "tomorrow"."""
    if span is not None and span.is_relative and (dated := _DATED.match(text, span.end)):
        return _as_dated(span, dated)
    if span is not None and span.kind is SpanKind.RANGE:
        return _joined(text, span)
    if span is None or span.kind is not SpanKind.DAY:
        return span
    weekday = _WEEKDAY_LAST.match(text, span.end)
    return _joined(
        text,
        span
        if weekday is None
        else replace(span, end=weekday.end(), remark=_disagreement(span, weekday["name"])),
    )


_ANY_WEEKDAY: Final = any_of((*words.WEEKDAYS, *words.SHORT_WEEKDAYS))
_JOINED: Final = re.compile(
    r"(?<![\d/.-])\d{1,2}(?:st|nd|rd|th|\.|º)?\s?(?:[+&/,]|\b(?:and|und|et|y|e|or|oder|ou)\b)\s?"
    rf"(?:(?:the|den|le|el|o)\s)?(?:{_ANY_WEEKDAY}[.,]?\s)?$",
    re.IGNORECASE,
)
_SHORT_WEEKDAY: Final = re.compile(rf"(?P<name>{words.LIMIT_WEEKDAYS})\.?(?=$|[,;:)!])", re.IGNORECASE)
_UNTIL: Final = re.compile(
    r"\b(?:until|till?|thru|through|hasta\sel|até|jusqu['\u2019]à|jusqu['\u2019]au)\s$", re.IGNORECASE
)
_WEEK_OF: Final = re.compile(
    r"(?:w/[bce]|week\s(?:of|commencing|beginning|starting|ending)(?:\son)?|woche\s(?:vom|ab(?:\sdem)?)|semaine\sdu"
    r"|semana\sdel?)\s(?:the\s)?",
    re.IGNORECASE,
)
"""Words before the first day of a week that mean the whole week, or before its last day."""
_ENDING: Final = re.compile(r"w/e|ending", re.IGNORECASE)
_JOINED_AFTER: Final = re.compile(
    r"(?:,|\s?[+&]|\s(?:and|und|et|y|e|or|oder|ou))\s?\d{1,2}(?:st|nd|rd|th|\.)?(?![\w:/]|[.,]\d)",
    re.IGNORECASE,
)
_WEEKDAY_FIRST: Final = re.compile(
    rf"(?P<name>{_ANY_WEEKDAY})\b[.,]{{0,2}}\s(?:the\s|den\s|dem\s|le\s|el\s|dia\s|día\s)?", re.IGNORECASE
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


def _number(name: str) -> int:
    """Return the number of a weekday, from 0 for Monday; an abbreviation counts without the sign after it."""
    short = tuple(each.replace("(?=[.,])", "") for each in words.SHORT_WEEKDAYS)
    return (place_in(words.WEEKDAYS, name) or place_in(short, name)) - 1


def _disagreement(span: DaySpan, name: str) -> str | None:
    """Return what is wrong with the weekday beside a date, if it is the weekday of no year that may be meant."""
    number = _number(name)
    days = [first for first, _ in span.options]
    if any(day.weekday() == number for day in days):
        return None
    if len(days) > 1:
        return f"{name} is not the weekday of that date; the date counts"
    return f"{days[0]} is a {days[0]:%A}, not {name}; the date counts"
