"""Dates beside words such as "tomorrow" or "next Monday", which mean other days when they are read later. Pure.

A memory is read long after it was said. "The freeze ends tomorrow" is therefore kept as "The freeze ends tomorrow
(2026-11-28)". A wrong date is worse than none, so words that may mean no certain days stay alone: in quotations, code
and names, in sentences about habits or conditions, and where a date or a bracket follows.
"""

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final

from commonplace.language.calendar_days import Days
from commonplace.language.cues import Cues, tokens_of
from commonplace.language.day_meanings import DaySpan, SpanKind
from commonplace.language.day_spans import find_day_spans, names_days
from commonplace.language.quotations import without_quotations

_HABIT: Final = Cues.of(
    "every|each|always|daily|nightly|weekly|monthly|usually|normally|often|sometimes|whenever|if|when",
    "unless|until when|jede[nmrs]?|immer|täglich|wöchentlich|meistens?|oft|manchmal|wenn|falls|sobald",
    "jeweils|chaque|toujours|souvent|parfois|quand|si|lorsque|tous les|toutes les|cada|siempre|a menudo",
    "cuando|todos los|todas las|sempre|quando|se|todos os|todas as|diariamente|diario|quotidien",
    "quotidiennement",
)
"""Words of a sentence in which "tomorrow" may be the day after any day."""

_SENTENCE_END: Final = re.compile(r"[.!?;]\s|\n")
_LIMIT: Final = re.compile(
    r"\b(?:until|till|since|from|starting(?:\son)?|bis(?:\szum)?|ab|seit|hasta(?:\sel)?|desde(?:\sel)?|até(?:\sa)?"
    r"|a\spartir\sd[eo]l?|jusqu['\u2019](?:à|au)|dès|depuis|à\spartir\sde)\s$",
    re.IGNORECASE,
)
"""Words before a weekday that make it one certain day."""

_STORY: Final = re.compile(r"\bthe\s(?:next|last|following)\s\D", re.IGNORECASE)
_NO_NAME: Final = re.compile(r"(?:^|[.!?:;\n\u2013\u2014(\u2022*-]\s*)$")
_GOES_ON: Final = re.compile(
    r"[\w/@]|[.-]\w|\s?\(|\s(?:of|after|before|des?|del|do|da|vor|nach)\b", re.IGNORECASE
)
_POSSESSIVE: Final = re.compile(r"['\u2019]s\b")
_TODAYS_DATE: Final = re.compile(r"\s(?:date|day|time)\b", re.IGNORECASE)
_ANY: Final = re.compile(r"(?:the\s)?current\b|laufende", re.IGNORECASE)
_WRITTEN: Final = re.compile(r"\(\d{4}[-\d\u2013 Q]*\)")
_PAST: Final = ", past)"
_POINTED: Final = re.compile(
    r"\b(?:next|this|coming|nächst|dies|kommend|prochain|ce|cette|próxim|est[ea]|viene|vem)", re.IGNORECASE
)
"""Words without which "the end of the month" may be that of any month."""
_CLOSE: Final = re.compile(
    r"[\s,;:=()\[\]/\u2013\u2014-]*(?:(?:i\.?\s?e\.?|that\sis|namely|d\.\s?h\.|das\shei(?:ß|ss)t|also|c\.?-?à-?d\.?"
    r"|c['\u2019]est-à-dire|es\sdecir|o\ssea|ou\sseja|isto\sé|the|on|am|den|le|el|o|dia|día)[\s,:]*)*",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"\b(?P<ago>vor|il\sy\sa|hace|há)\s$|\b(?:dans|dentro\sde|daqui\sa)\s$", re.IGNORECASE
)
_AGO: Final = re.compile(r"\s(?:ago|atrás)\b", re.IGNORECASE)


def with_new_dates(text: str, old: str, said_at: datetime, *, max_chars: int | None = None) -> str:
    """Return an edited text with dates as in :func:`with_dates`, unless the old text has a relative day without a date.

    That day was relative to a time that nobody knows, and the edit may have kept it.
    """
    is_dated = with_dates(old, said_at) == old
    return with_dates(text, said_at, max_chars=max_chars) if is_dated else text


def with_past(text: str, today: date) -> str:
    """Return a text in which dates from :func:`with_dates` that are over say so: ``tomorrow (2026-11-28, past)``.

    Words that looked back when they were said, such as "yesterday", stay as they are.
    """
    if _WRITTEN.search(text) is None:
        return text
    told, end = "", 0
    for span in find_day_spans(text, today):
        if span.is_dated and span.options and span.options[-1][1] < today and _looks_ahead(span, text, today):
            told += f"{text[end : span.end - 1]}{_PAST}"
            end = span.end
    return told + text[end:]


def lines_with_past(block: str, today: date) -> str:
    """Return a block of lines, each as :func:`with_past` does."""
    if _WRITTEN.search(block) is None:
        return block
    return "\n".join(with_past(line, today) for line in block.split("\n"))


def without_past(text: str) -> str:
    """Return a text without the marks of :func:`with_past`."""
    return text.replace(_PAST, ")")


def _looks_ahead(span: DaySpan, text: str, today: date) -> bool:
    """Return whether the words of a dated span, without their date, mean today or later."""
    words = text[span.start : span.end].rpartition(" (")[0].removesuffix("'s").removesuffix("\u2019s")
    meant = find_day_spans(words, today)
    days = meant[0].options[-1][1] if meant and meant[0].options else today
    return days >= today


def with_dates(text: str, said_at: datetime, *, max_chars: int | None = None) -> str:
    """Return a text with the date beside each word that is relative to today, such as ``tomorrow (2026-11-28)``.

    Args:
        text: English, German, Spanish, French or Portuguese.
        said_at: When it was said (aware), in the time zone of the person who said it.
        max_chars: A text that would be longer stays as it is.

    Returns:
        The text itself, if it names no such day. A second call changes nothing.
    """
    if not names_days(text):
        return text
    today = said_at.date()
    masked = without_quotations(text)
    spans = [_counted(span, masked, today) for span in find_day_spans(masked, today)]
    dated, end = "", 0
    for place, span in enumerate(spans):
        days = _days_of(span, masked, today)
        beside = (*spans[max(place - 1, 0) : place], *spans[place + 1 : place + 2])
        if (
            days is None
            or not _is_clear(span, masked, spans)
            or any(_touches(masked, span, each) for each in beside)
        ):
            continue
        owner = _POSSESSIVE.match(text, span.end)
        stop = span.end if owner is None else owner.end()
        if _GOES_ON.match(masked, stop) or (owner is not None and _TODAYS_DATE.match(masked, stop)):
            continue
        dated += f"{text[end:stop]} ({_written(span, days)})"
        end = stop
    dated += text[end:]
    return text if max_chars is not None and len(dated) > max_chars else dated


def _counted(span: DaySpan, text: str, today: date) -> DaySpan:
    """Return a number of days as the day that they lead to, if the words say from today: "two days ago"."""
    if span.kind is not SpanKind.LENGTH or span.unit != "day":
        return span
    before, after = _COUNTED.search(text, 0, span.start), _AGO.match(text, span.end)
    if before is None and after is None:
        return span
    is_ago = after is not None or (before is not None and before["ago"] is not None)
    day = today - timedelta(span.count) if is_ago else span.after(today)
    end = span.end if after is None else after.end()
    return replace(span, kind=SpanKind.NEAR, options=((day, day),), is_relative=True, end=end)


def _days_of(span: DaySpan, text: str, today: date) -> Days | None:
    """Return the days that a relative span means, if they are certain."""
    words = text[span.start : span.end]
    is_any = _ANY.match(words) or (span.kind is SpanKind.END and not _POINTED.search(words))
    if not span.is_relative or span.is_dated or is_any:
        return None
    if span.kind is SpanKind.AHEAD:
        return today, span.after(today)
    if span.kind is SpanKind.WEEKDAY:
        limit = _LIMIT.search(text[: span.start])
        return None if limit is None else _weekday_after(limit[0].lower(), span, today)
    return span.options[0] if len(span.options) == 1 else None


def _weekday_after(limit: str, span: DaySpan, today: date) -> Days | None:
    """Return the weekday that a word before it makes certain."""
    if limit.startswith(("since", "seit", "depuis")):
        return None if span.options[0][0].weekday() == today.weekday() else span.options[0]
    return None if limit.startswith("desde") else span.options[-1]


def _is_clear(span: DaySpan, text: str, spans: list[DaySpan]) -> bool:
    """Return whether a sentence is about certain days, and the span is no part of a name or of a story."""
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, span.start)), default=0)
    stop = _SENTENCE_END.search(text, span.end)
    sentence = text[start : len(text) if stop is None else stop.start()]
    kinds = [each.kind for each in spans if start <= each.start < start + len(sentence)]
    is_timetable = span.kind is SpanKind.WEEKDAY and kinds.count(SpanKind.WEEKDAY) > 1
    if is_timetable or SpanKind.RHYTHM in kinds or _HABIT.occur_in(tokens_of(sentence)):
        return False
    return not (_is_name(span, text) or _is_story(span, text))


def _is_name(span: DaySpan, text: str) -> bool:
    """Return whether a word is capitalised within a sentence, as in "USA Today"; weekdays always are."""
    is_word = span.kind is SpanKind.STRETCH or (
        span.kind is SpanKind.NEAR and " " not in text[span.start : span.end]
    )
    return is_word and text[span.start].isupper() and not _NO_NAME.search(text[: span.start])


def _is_story(span: DaySpan, text: str) -> bool:
    """Return whether words count from another day than today: "the next week he was ill"."""
    places = (span.start, max(0, span.start - len("the ")))
    return span.kind is not SpanKind.AHEAD and any(_STORY.match(text, place) for place in places)


def _touches(text: str, span: DaySpan, other: DaySpan) -> bool:
    """Return whether a date stands beside a span and already says what the span means."""
    if other.kind is not SpanKind.DAY:
        return False
    between = text[min(span.end, other.end) : max(span.start, other.start)]
    return _CLOSE.fullmatch(between) is not None


def _written(span: DaySpan, days: Days) -> str:
    """Return days as short as ISO 8601 writes them; an en dash stands between two days."""
    first, last = days
    if first == last:
        return first.isoformat()
    if span.unit == "month" and span.kind is SpanKind.STRETCH:
        return f"{first:%Y-%m}"
    if span.unit == "year" and span.kind is SpanKind.STRETCH:
        return f"{first:%Y}"
    if span.unit == "quarter" and span.kind is SpanKind.STRETCH:
        return f"{first:%Y} Q{(first.month + 2) // 3}"
    return f"{first.isoformat()}\u2013{last.isoformat()}"
