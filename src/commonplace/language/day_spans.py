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
from commonplace.language.day_meanings import DaySpan, SpanKind, place_in
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
    if word[0][0].isdigit():
        return _after_date(text, read_at(text, start, today, NUMERIC))
    patterns = WORDED.get(word[0].casefold())
    if patterns is None:
        return None
    if weekday := _WEEKDAY_FIRST.match(text, start):
        dated = read_at(text, weekday.end(), today, DATES)
        if dated is not None and dated.kind is SpanKind.RANGE:
            return replace(dated, start=start)
        if dated is not None and dated.kind is SpanKind.DAY:
            return replace(dated, start=start, remark=_disagreement(dated, weekday["name"]))
    return _after_date(text, read_at(text, start, today, patterns))


def _after_date(text: str, span: DaySpan | None) -> DaySpan | None:
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
    number = place_in(words.WEEKDAYS, name) - 1
    days = [first for first, _ in span.options]
    if any(day.weekday() == number for day in days):
        return None
    if len(days) > 1:
        return f"{name} is not the weekday of that date; the date counts"
    return f"{days[0]} is a {days[0]:%A}, not {name}; the date counts"
