"""The choice of the days that the phrases of a period mean. Pure."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from commonplace.language.calendar_words import WEEKDAYS
from commonplace.language.day_meanings import DaySpan, SpanKind

Ends = tuple[date | None, date | None]
"""The first and the last day of a period, where the words name them."""

_DAY: Final = timedelta(days=1)
_SOON: Final = timedelta(days=150)
"""A beginning without a year is read only if its nearest occurrence is within this distance."""


def pair_of(first: DaySpan, last: DaySpan, today: date, *, is_past: bool) -> Ends | None:
    """Return the first and the last day: the nearest such days that are not over, or in the past, those that began."""
    pairs = [
        (begin, min(end for _, end in last.options if end >= begin))
        for begin, _ in first.options
        if any(end >= begin for _, end in last.options)
    ]
    pairs = _shortest(pairs)
    if first.has_year or last.has_year:
        return pairs[-1] if pairs else None
    begun = [pair for pair in pairs if pair[0] <= today]
    coming = [pair for pair in pairs if pair[1] >= today]
    if is_past:
        return begun[-1] if begun else None
    return coming[0] if coming and _is_nearest(coming[0], begun, today) else None


def _is_nearest(pair: tuple[date, date], begun: list[tuple[date, date]], today: date) -> bool:
    """Return whether days without a year are soon, or not farther away than those before, which may be meant."""
    away = pair[0] - today
    return away <= _SOON or all(today - last >= away for _, last in begun)


def _shortest(pairs: list[tuple[date, date]]) -> list[tuple[date, date]]:
    """Return one pair for each last day, that with the latest first day."""
    return [
        pair for place, pair in enumerate(pairs) if place + 1 == len(pairs) or pairs[place + 1][1] != pair[1]
    ]


def are_neighbours(first: DaySpan, last: DaySpan) -> bool:
    """Return whether "today and tomorrow" are two days in a row."""
    return any(end + _DAY == begin for _, end in first.options for begin, _ in last.options)


def may_be_this_week(first: DaySpan, last: DaySpan, today: date) -> bool:
    """Return whether two weekdays may be those around today as well as the coming ones."""
    return (today - first.options[0][0]).days + (last.options[-1][0] - today).days < len(WEEKDAYS)


def _since_day(span: DaySpan, today: date) -> date | None:
    """Return the latest first day that has begun; "since Sunday", said on a Sunday, is unclear."""
    if span.kind is SpanKind.WEEKDAY and span.options[0][0] == today - timedelta(days=7):
        return None
    if span.kind in {SpanKind.END, SpanKind.RANGE} or (span.kind is SpanKind.NEAR and len(span.options) > 1):
        return None
    if span.has_year:
        return max(first for first, _ in span.options)
    return max((first for first, _ in span.options if first <= today), default=None)


def _desde_day(span: DaySpan, today: date) -> date | None:
    """Return the first day after a word that means "since" and "from": of dates, the nearest, if that has begun."""
    if span.has_year or span.kind is not SpanKind.DAY:
        return _since_day(span, today)
    nearest = min((first for first, _ in span.options), key=lambda day: abs(day - today))
    return _since_day(span, today) if nearest <= today else None


def coming_day(span: DaySpan, today: date) -> date | None:
    """Return the first day on which something begins: the nearest, if that is clear."""
    if span.kind in {SpanKind.END, SpanKind.RANGE} or (span.kind is SpanKind.NEAR and len(span.options) > 1):
        return None
    firsts = [first for first, _ in span.options]
    if span.kind is SpanKind.WEEKDAY:
        return max(firsts)
    nearest = min(firsts, key=lambda day: abs(day - today))
    if span.has_year or abs(nearest - today) <= _SOON:
        return nearest if span.has_year or span.unit != "month" or nearest > today else None
    return None


def _until_day(span: DaySpan, today: date) -> date | None:
    """Return the last day before which something ends.

    "Until May" may or may not include May, and "until next week" the week. In "until May 2027" the later end hides
    nothing that still holds, and so does the later of two Fridays.
    """
    if span.kind is SpanKind.STRETCH:
        last = span.options[-1][1]
        is_clear = span.has_year and not span.is_relative and span.unit in {"month", "year"}
        return last if is_clear and (span.unit == "month" or last < today) else None
    return _through_day(span, today)


def _through_day(span: DaySpan, today: date) -> date | None:
    """Return the last day that expressly belongs to a period."""
    if span.kind is SpanKind.RANGE:
        return None
    if span.has_year:
        return span.options[-1][1]
    return min((last for _, last in span.options if last >= today), default=None)


def _exact_day(span: DaySpan, today: date) -> date | None:
    """Return a date before or after which something holds."""
    return _through_day(span, today) if span.kind is SpanKind.DAY else None


def days_ahead(span: DaySpan, today: date) -> Ends | None:
    """Return the days of a span that are not over; without a year, the nearest ones must be ahead."""
    if len(span.options) > 1 and span.kind is SpanKind.NEAR:
        return None
    ahead = [days for days in span.options if days[1] >= today]
    if not ahead:
        return None
    nearest = min(span.options, key=lambda days: abs(days[0] - today))
    is_clear = span.has_year or span.kind is not SpanKind.DAY or nearest == ahead[0]
    return ahead[0] if is_clear else None


DAY_READERS: Final[dict[str, Callable[[DaySpan, date], date | None]]] = {
    "since": _since_day,
    "desde": _desde_day,
    "from": coming_day,
    "until": _until_day,
    "through": _through_day,
    "exact": _exact_day,
}
"""How a phrase of :mod:`~commonplace.knowledge.rules.period_phrases` chooses its day."""
