"""Periods in sentences, such as "since May" or "until Friday", in English, German, Spanish and French. Pure.

A wrong period hides a memory; a missing period does not. So a period is read only if the sentence clearly names it: not
from a question, a condition or a wish, not from two sentences, and not from a phrase that belongs to a noun ("the
changes since May"). A period that is over is read too, but the sentence is still true: the caller decides whether it is
history.
Source: ADR 0025, which has the figures.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal

from commonplace.language.calendar_words import DAYS_AWAY, MONTHS, SPANS, WEEKDAYS


def _any_of(*names: str) -> str:
    """Return a pattern of words, the longest first."""
    words = "|".join(names).split("|")
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_MONTH: Final = _any_of(*MONTHS)
_WEEKDAY: Final = _any_of(*WEEKDAYS)
_YEAR: Final = r"(?:19|20)\d\d"
_DAY: Final = "|".join(
    (
        rf"{_YEAR}-\d\d-\d\d",
        rf"\d{{1,2}}\.\d{{1,2}}\.{_YEAR}",
        rf"\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?{_MONTH}\b(?:,?\s(?:del?\s)?{_YEAR})?",
        rf"{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s{_YEAR})?",
    )
)
_MONTH_OF_YEAR: Final = rf"{_MONTH}\s(?:del?\s)?{_YEAR}"
_END: Final = (
    rf"(?:the\send\sof|ende|finales\sde|(?:la\s)?fin(?:\sde)?)\s(?P<end>{_MONTH_OF_YEAR}|{_MONTH}|{_YEAR})"
)
_COMING: Final = rf"(?:{_WEEKDAY}|{_any_of(*SPANS)})"
_NEXT: Final = rf"(?:next|nächste[nmrs]?|próxim[oa])\s{_COMING}|{_COMING}\s(?:prochaine?|que\sviene)"
_WORD: Final = rf"{_NEXT}|{_MONTH}|{_WEEKDAY}|{_YEAR}|{_any_of(*DAYS_AWAY.values())}"
_DATE: Final = rf"{_DAY}|{_MONTH_OF_YEAR}|{_WORD}"

_FLAGS: Final = re.IGNORECASE
_SINCE: Final = rf"\b(?:since|seit(?:\sdem)?|desde(?:\sel)?|depuis(?:\sle)?)\s(?P<date>{_DATE})\b"
_UNTIL: Final = (
    rf"\b(?:until|till|bis(?:\szum)?|hasta(?:\sel)?|jusqu['\u2019](?:à|au))\s(?:{_END}|(?P<date>{_DATE}))\b"
)
_FROM: Final = (
    r"(?:^(?:from|as\sof)|(?P<on>\bfrom(?!\snext\b))|\b(?:from(?=\snext\b)|starting(?:\son)?|ab(?:\sdem)?"
    r"|a\spartir\sde(?:l|\sla)?|à\spartir\sd(?:e\sla|[eu])|dès\sle))"
    rf"\s(?P<date>{_DATE})\b(?(on)\son(?:wards?)?\b|(?:\son(?:wards?)?\b)?)"
)
_RANGE: Final = (
    rf"\b(?:from|vom|du|del|desde\sel)\s(?P<first>{_DAY})\s(?:to|until|through|bis(?:\szum)?|au|al|hasta\sel)\s"
    rf"(?P<last>{_DAY})\b"
)
_MONTH_OR_YEAR: Final = rf"{_MONTH_OF_YEAR}|{_YEAR}"
_RANGE_OF_MONTHS: Final = (
    rf"\b(?:from|von|de|desde)\s(?P<first>{_MONTH_OR_YEAR})\s(?:to|until|through|bis|hasta|a|à)\s"
    rf"(?P<last>{_MONTH_OR_YEAR})\b"
)
_LASTED: Final = (
    r"\b(?:lived|worked|studied|taught|served|led|owned|rented|attended|was|were|wohnte|lebte|arbeitete|studierte|leitete"
    r"|war|waren|vivió|trabajó|estudió|fue|vivait|habitait|travaillait|vécu|travaillé|étudié|était)\b"
    r"(?!\s(?:from|von|de|desde)\b)"
)
"""Verbs of a sentence in which "from 2010 to 2015" means years: a port may change from 2010 to 2015."""

_UNSURE: Final = (
    r"\?|\b(?:if|unless|whether|when|wenn|falls|ob|sobald|si|cuando|quand|might|maybe|perhaps|probably|possibly"
    r"|vielleicht|wahrscheinlich|möglicherweise|quizás?|tal\svez|peut-être|wants?|wanted|wish(?:es)?|hopes?|plans?"
    r"|would|could|should|möchten?|quiere|veut|will\s(?:bis|ab|seit)"
    r"|covers?|lists?|contains?|shows?|tracks?|tracking|records?|reicht|umfasst|enthält|zeigt|contiene|muestra|contient)\b"
)
_DEADLINE: Final = (
    r"\b(?:due|deadline|submit\w*|register|apply|confirm|pay|fällig|frist|geplant|angekündigt|abgabe\w*|abgegeben|abgeben"
    r"|ein(?:zu)?reichen|eingereicht|erledig\w*|fertig\w*|(?:be)?zahl\w*|anmeld\w*|bestätig\w*|melden|entregar|plazo|vence"
    r"|pagar|inscri\w*|rendre|échéance|délai|payer|soll\w*|muss|müssen|debe\w*|doit|doivent|must)\b"
)
_DENIED: Final = r"(?:\b(?:not|never|no|nicht|kein\w*|nie|nunca|pas)\b|n['\u2019]t\b|\bn['\u2019]|\bne\b)"
_COLLECTION: Final = (
    r"\b(?:changes|releases|versions|commits|data|logs?|events|messages|entries|records|reports?|backups?|files|orders"
    r"|tickets|results|invoices|issues|änderungen|daten|einträge|berichte?|rechnungen|cambios|datos|registros|informes?"
    r"|modifications|données|rapports?|changements|milliseconds|seconds|minutes|hours|days|\w*sekunden|minuten|stunden"
    r"|tage|segundos|minutos|días|secondes|jours|cases|expenses?|sales)\s$"
)
_NEXT_SENTENCE: Final = r"[.!?;]\s+\S"
_CLOSED: Final = r"\s*(?:$|[.,;!)](?!\d))"
_CONTINUED: Final = (
    r"\s(?:in|im|at|am|auf|bei|beim|an|en|à|au|aux|chez|as|als|for|für|por|para|pour|on|with|mit|con|avec|and|und|y|et"
    r"|but|aber|pero|mais)\b"
)
_BELONGS: Final = r"\s(?:\d|of\b|des?\b|del\b|d['\u2019])|['\u2019]"
_VERB_FIRST: Final = r"(?:seit|ab|bis)\b"
_SUBJECT: Final = r"\s(?:the(?!\s\d)|our|we|he|she|they|it)\b"
_MOST_WORDS: Final = 16
"""The length of a sentence above which a phrase counts only at the beginning, because it may belong to any part."""

_MOST_CHARS: Final = 500
_SOON: Final = timedelta(days=150)
"""A date without a year is read only if its nearest occurrence is within this distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The period in which a fact is true.

    Attributes:
        words: The words that name the period.
        valid_from: Its beginning (aware UTC), if the words name a beginning.
        valid_to: The moment after its end (aware UTC), if the words name an end.
    """

    words: str
    valid_from: datetime | None
    valid_to: datetime | None

    def is_over(self, now: datetime) -> bool:
        """Return whether the period has ended."""
        return self.valid_to is not None and self.valid_to <= now


@dataclass(frozen=True, slots=True)
class _WrittenDate:
    """A date as written, possibly with missing parts."""

    kind: Literal["day", "month", "year", "weekday", "near", "next weekday", "next span"]
    year: int | None = None
    month: int = 1
    day: int = 1

    def in_year(self, year: int) -> date | None:
        """Return the date in a year; ``None`` if that year lacks it."""
        try:
            return date(year, self.month, self.day)
        except ValueError:
            return None

    def around(self, today: date) -> list[date]:
        """Return the possible dates in order; only one if the year is known."""
        years = [today.year - 1, today.year, today.year + 1] if self.year is None else [self.year]
        return [found for year in years if (found := self.in_year(year))]


def read_period(text: str, now: datetime) -> Period | None:
    """Return the period that a sentence clearly names, possibly one that is over, or ``None``.

    Args:
        text: One sentence.
        now: When it was said (aware).
    """
    if len(text) > _MOST_CHARS:
        return None
    today = now.astimezone(UTC).date()
    text = " ".join(text.split())
    if re.search(_UNSURE, text, _FLAGS) or len(re.findall(rf"\b{_WEEKDAY}\b", text, _FLAGS)) > 1:
        return None
    if ranges := _ranges(text):
        return _period(text, ranges, _range_of(ranges[0], today))
    begins = [*re.finditer(_SINCE, text, _FLAGS), *re.finditer(_FROM, text, _FLAGS)]
    ends = (
        []
        if re.search(_DENIED, text, _FLAGS) or re.search(_DEADLINE, text, _FLAGS)
        else list(re.finditer(_UNTIL, text, _FLAGS))
    )
    if len(begins) > 1 or len(ends) > 1:
        return None
    first = _only(text, begins, lambda found: _begin(found, today))
    last = _only(text, ends, lambda found: _end(found, today))
    if (begins and first is None) or (ends and last is None):
        return None
    return _period(text, [*begins, *ends], (first, last))


def _ranges(text: str) -> list[re.Match[str]]:
    """Return the periods with both ends; years count only in a sentence about something that lasted."""
    days = list(re.finditer(_RANGE, text, _FLAGS))
    months = [
        found
        for found in re.finditer(_RANGE_OF_MONTHS, text, _FLAGS)
        if re.match(_CLOSED, text[found.end() :])
        and (re.search(_LASTED, text, _FLAGS) or not found["first"].isdecimal())
    ]
    return days or months


def _only(text: str, found: list[re.Match[str]], read: Callable[[re.Match[str]], date | None]) -> date | None:
    return read(found[0]) if found and _stands_alone(text, found[0]) else None


def _period(text: str, found: list[re.Match[str]], days: tuple[date | None, date | None]) -> Period | None:
    """Return the period between two days, inclusive; ``None`` if it does not belong to the sentence."""
    first, last = days
    rest = text
    for match in found:
        rest = rest.replace(match[0], "")
    is_empty = (first is None and last is None) or (first and last and last < first)
    if len(found) == 0 or is_empty or re.search(_NEXT_SENTENCE, rest, _FLAGS):
        return None
    if any(re.search(_COLLECTION, text[: match.start()], _FLAGS) for match in found):
        return None
    words = " ".join(match[0] for match in sorted(found, key=lambda match: match.start()))
    return Period(
        words=words,
        valid_from=None if first is None else _midnight(first),
        valid_to=None if last is None else _midnight(last + timedelta(days=1)),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Return whether a phrase ends with its date, so that the following words do not belong to it."""
    rest, named = text[found.end() :], found["date"]
    if re.match(_BELONGS, rest, _FLAGS) or (found.start() > 0 and len(text.split()) > _MOST_WORDS):
        return False
    if re.match(_CLOSED, rest, _FLAGS) or named is None or re.fullmatch(_DAY, named, _FLAGS):
        return True
    if found.start() > 0:
        return re.match(_CONTINUED, rest, _FLAGS) is not None
    if re.match(_VERB_FIRST, found[0], _FLAGS):
        return rest[:1] == " " and rest[1:2].islower()
    return re.match(_SUBJECT, rest) is not None


def _begin(found: re.Match[str], today: date) -> date | None:
    """Return the first day of a period that began ("since") or begins ("from")."""
    read = _read(found["date"], today)
    if read is None or read.kind == "next weekday":
        return None
    days = read.around(today)
    if found.re.pattern == _SINCE:
        days = [day for day in days if day < today or (day == today and read.kind != "weekday")]
        return max(days, default=None)
    if read.kind == "weekday":
        return _next_weekday(read, today)
    if read.kind == "month" and read.year is None:
        return None
    nearest = min(days, key=lambda day: abs(day - today), default=None)
    is_near = nearest is not None and (read.year is not None or abs(nearest - today) <= _SOON)
    return nearest if is_near else None


def _end(found: re.Match[str], today: date) -> date | None:
    """Return the last day of a period."""
    if found["end"]:
        return _last_day(found["end"], today)
    read = _read(found["date"], today)
    if read is None or read.kind == "next span":
        return None  # "Until next week" may or may not include the week.
    if read.kind == "weekday":
        return _next_weekday(read, today)
    if read.kind in {"month", "year"}:
        # "Until May" may or may not include May. In "until May 2027" the later end hides nothing that still holds.
        last = None if read.year is None else _last_day(found["date"], today)
        return None if last is not None and read.kind == "year" and last >= today else last
    return min((day for day in read.around(today) if read.year or day >= today), default=None)


def _next_weekday(read: _WrittenDate, today: date) -> date | None:
    """Return the next day with the name of a weekday, possibly today; ambiguous names give the latest day."""
    latest = max(read.around(today))
    return latest if latest == today else latest + timedelta(days=7)


def _range_of(found: re.Match[str], today: date) -> tuple[date | None, date | None]:
    first, last = (_read(found[name], today) for name in ("first", "last"))
    if first is None or last is None:
        return None, None
    if last.kind != "day":
        return first.in_year(first.year or today.year), _last_day(found["last"], today)
    if first.year is None and last.year is not None:
        ends = last.in_year(last.year)
        begins = max((day for day in first.around(ends or today) if ends and day <= ends), default=None)
    else:
        begins = min(first.around(today), key=lambda day: abs(day - today), default=None)
        ends = min((day for day in last.around(begins or today) if begins and day >= begins), default=None)
    return (begins, ends) if begins and ends else (None, None)


def _last_day(text: str, today: date) -> date | None:
    """Return the last day of a month or year, the next one if the year is missing."""
    read = _read(text, today)
    if read is None:
        return None
    if read.kind == "year":
        return date(read.year or today.year, 12, 31)
    after = (
        date(year + read.month // 12, read.month % 12 + 1, 1) - timedelta(days=1)
        for year in ([today.year, today.year + 1] if read.year is None else [read.year])
    )
    return min((day for day in after if read.year or day >= today), default=None)


def _read(text: str, today: date) -> _WrittenDate | None:
    """Return the parts of a date."""
    if re.match(r"may\b", text):
        return None  # In English, the month "May" is capitalised and the verb "may" is not.
    words = text.lower()
    if re.fullmatch(_NEXT, words):
        return _next(words, today)
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    if len(numbers) == len(("year", "month", "day")):
        return _WrittenDate("day", *(numbers if "-" in words else reversed(numbers)))
    year = re.search(rf"\b{_YEAR}\b", words)
    number = int(year[0]) if year else None
    day = re.search(r"\b(\d{1,2})(?!\d)", words)
    if month := _index(MONTHS, words):
        return _WrittenDate("day" if day else "month", number, month, int(day[1]) if day else 1)
    return _WrittenDate("year", number) if number else _named(words, today)


def _next(words: str, today: date) -> _WrittenDate:
    """Return the day with the name of a weekday in the next week, or the first day of the next week, month or year."""
    monday = today + timedelta(days=7 - today.weekday())
    if weekday := _index(WEEKDAYS, words):
        day = monday + timedelta(days=weekday - 1)
        return _WrittenDate("next weekday", day.year, day.month, day.day)
    month = date(today.year + today.month // 12, today.month % 12 + 1, 1)
    day = (monday, month, date(today.year + 1, 1, 1))[(_index(SPANS, words) or 1) - 1]
    return _WrittenDate("next span", day.year, day.month, day.day)


def _named(words: str, today: date) -> _WrittenDate | None:
    """Return the latest day with the name of a weekday, or the day named by a word such as "yesterday"."""
    if weekday := _index(WEEKDAYS, words):
        day = today - timedelta(days=(today.weekday() - weekday + 1) % 7)
        return _WrittenDate("weekday", day.year, day.month, day.day)
    for days, names in DAYS_AWAY.items():
        if re.fullmatch(names, words):
            day = today + timedelta(days=days)
            return _WrittenDate("near", day.year, day.month, day.day)
    return None


def _index(names: tuple[str, ...], words: str) -> int | None:
    """Return the number, from 1, of the name in some words."""
    return next((place for place, each in enumerate(names, 1) if re.search(rf"\b(?:{each})\b", words)), None)
