"""Patterns of words that name days, each with the function that reads it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Final

from commonplace.language import calendar_words as words
from commonplace.language.calendar_days import one_day, stretch_around
from commonplace.language.cues import spellings
from commonplace.language.day_meanings import (
    VAGUE,
    DaySpan,
    SpanKind,
    days_in,
    read_dated,
    read_dated_range,
    read_day_and_month,
    read_half,
    read_holiday,
    read_length,
    read_month,
    read_month_in_year,
    read_near,
    read_numbered_weekday,
    read_numeric,
    read_quarter,
    read_relative_stretch,
    read_relative_weekday,
    read_slashed,
    read_week,
    read_weekday,
    read_year,
    unit_of,
)

_Read = Callable[[re.Match[str], date], DaySpan | None]
DayPatterns = tuple[tuple[str, _Read], ...]
"""Patterns in their order, each compiled at its first use."""


def read_at(text: str, start: int, today: date, patterns: DayPatterns) -> DaySpan | None:
    """Return the span that begins at a place of a text, by the first pattern that has a reading."""
    for pattern, read in patterns:
        match = _compiled(pattern).match(text, start)
        span = None if match is None else read(match, today)
        if match is not None and span is not None:
            return replace(span, start=start, end=match.end())
    return None


def any_of(names: Iterable[str]) -> str:
    """Return a pattern of words, the longest first."""
    each = sorted(("|".join(names)).split("|"), key=len, reverse=True)
    return "(?:" + "|".join(one.replace(" ", r"\s") for one in each) + ")"


_MONTH: Final = any_of(words.MONTHS)
_WEEKDAY: Final = any_of(words.WEEKDAYS)
_ANY_WEEKDAY: Final = any_of((*words.WEEKDAYS, *words.SHORT_WEEKDAYS))
_YEAR: Final = r"(?:19|20)\d\d"
_UNIT: Final = any_of(words.UNITS.values())
_NUMBER: Final = rf"(?:\d{{1,3}}|{any_of(words.NUMBERS)})"
_SPELT: Final = rf"(?:\d{{1,3}}|{any_of(words.NUMBERS[1:])})"
_ORDINAL: Final = any_of(words.ORDINALS)
_NTH: Final = r"(?:st|nd|rd|th|er|º|ª|°|\.)?"
_OF: Final = r"(?:of\s(?:the\s)?|des?\s|del\s|do\s|da\s|d['\u2019]|von\s)"
_TO: Final = (
    r"(?:\s?[-\u2013\u2014+&/]\s?|\s(?:to|until|till|through|and|bis|und|au|et|al|a|hasta|y|até|ao|e)\s)"
)
_THE: Final = r"(?:the\s|den\s|dem\s|zum\s|le\s|el\s|o\s)?"
_IN_YEAR: Final = rf"(?:,?\s{_OF}?(?P<year>{_YEAR}))?"
_NO_MORE: Final = r"(?![\w/-]|[.,:]\d)"


def _read_end(match: re.Match[str], today: date) -> DaySpan:
    """Read the last day of a stretch."""
    inner = (
        read_at(match[0], match.start("whole") - match.start(), today, _STRETCHES) if match["whole"] else None
    )
    if inner is None:
        unit = unit_of(match["unit"] or match["joined"])
        options = () if unit in {"day", "weekend", "fortnight"} else (stretch_around(today, unit, 0),)
        is_relative, has_year = True, True
    else:
        options, is_relative, has_year = inner.options, inner.is_relative, inner.has_year
        if inner.kind is not SpanKind.STRETCH or inner.end + match.start() != match.end():
            return VAGUE
    last = tuple(one_day(each) for _, each in options)
    return (
        DaySpan(kind=SpanKind.END, options=last, is_relative=is_relative, has_year=has_year)
        if last
        else VAGUE
    )


def _read_rhythm(match: re.Match[str], _today: date) -> DaySpan:
    """Read days that return; ``unit`` is a year if they return each year."""
    is_yearly = _YEARLY.search(match[0]) is not None
    return DaySpan(kind=SpanKind.RHYTHM, unit="year" if is_yearly else "")


_YEARLY: Final = re.compile(rf"\s(?:{words.UNITS['year']}|{_MONTH})$", re.IGNORECASE)


def _only(kind: SpanKind) -> _Read:
    return lambda _match, _today: DaySpan(kind=kind)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def compile_all() -> None:
    """Compile all patterns, for the forks of a process."""
    for patterns in (DATES, NUMERIC, *WORDED.values()):
        for pattern, _ in patterns:
            _compiled(pattern)


_WHICH: Final = (
    rf"(?:(?P<next>{words.NEXT})|(?P<coming>{words.COMING})|(?P<this>{words.THIS})|(?P<last>{words.LAST})"
    rf"|(?P<skip>{words.AFTER_NEXT}))"
)
_BEHIND: Final = (
    r"(?:(?P<coming>prochaine?|próxim[oa]|que\sviene|que\svem|qui\svient)|(?P<last>dernière|dernier|pasad[oa]|passad[oa])"
    r"|(?P<skip>after\snext))"
)
_BESIDE: Final = r"(?P<beside>(?:of\s)?next\sweek|nächster\sWoche)"
_A_DATE: Final[DayPatterns] = (
    (rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){_NO_MORE}", read_numeric),
    (rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?(?P<year>{_YEAR}){_NO_MORE}", read_numeric),
    (r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>(?!))?(?![\w.:/]|-(?!\d))", read_numeric),
    (rf"(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})/(?P<year>{_YEAR}){_NO_MORE}", read_slashed),
    (rf"(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}}){_NO_MORE}", read_day_and_month),
    (
        rf"(?P<day>\d{{1,2}}){_NTH}\s{_OF}?(?P<month>{_MONTH})\b(?:\.(?=\s{_YEAR}))?{_IN_YEAR}{_NO_MORE}",
        read_dated,
    ),
    (rf"(?P<month>{_MONTH})\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_IN_YEAR}{_NO_MORE}", read_dated),
)
_RANGES: Final[DayPatterns] = (
    (
        rf"(?P<day>\d{{1,2}}){_NTH}(?P<to>{_TO}){_THE}(?:{_ANY_WEEKDAY}[.,]?\s)?(?P<last>\d{{1,2}}){_NTH}\s{_OF}?(?P<month>{_MONTH})\b{_IN_YEAR}{_NO_MORE}",
        read_dated_range,
    ),
    (
        (
            rf"(?P<month>{_MONTH})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?P<to>{_TO})(?:the\s)?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?"
            rf"{_IN_YEAR}{_NO_MORE}"
        ),
        read_dated_range,
    ),
    (
        rf"(?P<day>\d{{1,2}})\.{_TO}(?:den\s|zum\s)?(?P<last>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>{_YEAR})?",
        lambda match, today: DaySpan(
            kind=SpanKind.RANGE,
            options=days_in(match["year"], int(match["month"]), int(match["day"]), int(match["last"]), today),
            has_year=match["year"] is not None,
        ),
    ),
)
_NAMED_STRETCHES: Final[DayPatterns] = (
    (
        (
            rf"(?:(?:Q|T(?=\d\s{_YEAR}))(?P<q>[1-4])|(?:the\s)?(?P<nth>{_ORDINAL})\s(?:quarter|quartals?|trimestre))\b"
            rf"(?:[\s/]{_OF}?(?P<year>{_YEAR}))?{_NO_MORE}"
        ),
        read_quarter,
    ),
    (
        (
            rf"(?:H(?P<h>[12])|(?:the\s)?(?P<nth>{_ORDINAL})\s(?:half(?=\s(?:of\s)?(?:the\syear|this\syear|{_YEAR}))|halbjahre?s?"
            rf"|semestre))\b(?:\s{_OF}?(?P<year>{_YEAR})|\s(?P<this>of\sthe\syear|of\sthis\syear|des\sjahres|de\sl['\u2019]année"
            rf"|del\saño|do\sano))?{_NO_MORE}"
        ),
        read_half,
    ),
    (
        (
            rf"(?:calendar\sweeks?|kalenderwochen?|kw|cw|weeks?|wk|wochen?|semaines?|semanas?)\s?(?P<week>\d{{1,2}})"
            rf"(?:(?:{_TO}|/)(?:kw\s)?(?P<last>\d{{1,2}}))?(?:(?:\s|\s?/\s?|,\s){_OF}?(?P<year>{_YEAR}))?{_NO_MORE}"
        ),
        read_week,
    ),
    (rf"(?P<month>{_MONTH})\s{_OF}?(?P<year>{_YEAR}){_NO_MORE}", read_month),
    (rf"(?P<year>{_YEAR})(?![\w:/-]|[.,]\d|\s\d)", read_year),
)
_RELATIVE: Final[DayPatterns] = (
    (rf"(?:the\s|die\s|la\s)?(?P<unit>{_UNIT})\s{_BEHIND}\b", read_relative_stretch),
    (rf"(?:the\s|la\s|a\s)?{_WHICH}\s(?P<unit>{_UNIT})\b(?!\sfor\b)", read_relative_stretch),
    (rf"{_WHICH}\s(?P<month>{_MONTH})\b(?!\s\d)", read_month_in_year),
    (rf"(?P<weekday>{_WEEKDAY})\s(?:{_BEHIND}|{_BESIDE})\b", read_relative_weekday),
    (rf"{_WHICH}\s(?P<weekday>{_WEEKDAY})\b", read_relative_weekday),
)
_MONTH_ALONE: Final[DayPatterns] = ((rf"(?P<month>{_MONTH})\b(?P<year>(?!))?(?![-/]\w)", read_month),)
_STRETCHES: Final = (*_NAMED_STRETCHES, *_RELATIVE, *_MONTH_ALONE)
_ENDS: Final[DayPatterns] = (
    (
        (
            rf"(?:(?:the\s)?(?:very\s)?end\sof|(?:the\s)?last\sday\s(?:of|in)|ende?|(?:den\s|dem\s)?letzte[nmrs]?\stage?s?"
            rf"|(?:la\s)?fin(?:\sde)?|(?:le\s)?dernier\sjour|(?:el\s)?último\sdía|(?:o\s)?último\sdia|finales|finais"
            rf"|(?:el\s|o\s)?fin(?:al)?(?:\sd[eo])?|(?:o\s)?fim(?:\sd[eo])?)"
            rf"\s(?:of\s|des?\s|du\s|del\s|do\s|da\s|dem\s|der\s)?(?:the\s|l['\u2019]|la\s|el\s|le\s)?"
            rf"(?:mes\sde\s|mois\sde\s|mois\sd['\u2019]|mês\sde\s)?"
            rf"(?:(?P<whole>{_ORDINAL}\s\w+(?:\s{_OF}?{_YEAR})?|Q[1-4](?:\s{_YEAR})?|KW\s?\d+|{_MONTH}(?:\s{_OF}?{_YEAR})?|{_YEAR}"
            rf"|(?:{words.NEXT}|{words.THIS})\s(?:{_UNIT}|{_MONTH})|(?:{_UNIT})\s(?:prochaine?|que\sviene|que\svem))"
            rf"|(?P<unit>{_UNIT})|(?P<joined>(?!)))\b"
        ),
        _read_end,
    ),
    (
        r"(?P<whole>(?!))?(?P<unit>(?!))?(?P<joined>monats|jahres|quartals|wochen|month|year)[- ]?ende?\b",
        _read_end,
    ),
    (r"(?P<whole>(?!))?(?P<unit>(?!))?(?P<joined>eom|eoq|eoy)\b", _read_end),
)
_LENGTHS: Final[DayPatterns] = (
    (
        (
            rf"(?P<ahead>(?:(?:the|die|den|der|las|los|as|os)\s)?(?:next|coming|following|nächsten|kommenden|próxim[oa]s))\s"
            rf"(?P<n>{_NUMBER})\s(?P<unit>{_UNIT})\b"
        ),
        read_length,
    ),
    (
        rf"(?:les\s|las\s|los\s)?(?P<n>{_SPELT})\s(?P<ahead>prochaine?s|próxim[oa]s)\s(?P<unit>{_UNIT})\b",
        read_length,
    ),
    (
        rf"(?:les\s)?(?P<n>{_SPELT})\s(?P<unit>{_UNIT})\s(?P<ahead>à\svenir|qui\sviennent|que\svienen)\b",
        read_length,
    ),
    (rf"(?P<n>{_NUMBER})\s(?P<unit>{_UNIT})\b", read_length),
)
_RHYTHMS: Final[DayPatterns] = (
    (
        (
            rf"(?:every|each|jede[nmrs]?|jeweils|chaque|tous\sles|toutes\sles|cada|todos\s(?:os|los)|todas\s(?:as|las)|toda)\s"
            rf"(?:(?:am|im)\s)?(?:(?:{_ORDINAL}|other|second|zweiten|{_NUMBER})\s)*(?:{_WEEKDAY}s?|{_UNIT}|{_MONTH})\b"
            rf"(?:-feiras)?(?:\s(?:of\sthe|of\seach|im|des|du|del|do)\s{_UNIT}\b)?"
            rf"(?:(?:,|\s(?:and|und|y|et|e))\s(?:am\s|on\s|los\s|les\s|le\s|el\s)?{_WEEKDAY}s?\b)*"
        ),
        _read_rhythm,
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
_BLURS: Final[DayPatterns] = (
    (
        (
            rf"(?:mid|mitte|mi|mediados\sde|meados\sde|(?:the\s)?(?:middle|beginning|start)\sof|early|late|anfang|début|comienzos\sde"
            rf"|principios\sde|início\sde|around|about|circa|etwa|gegen|vers|hacia)[-\s](?:the\s|dem\s|den\s|le\s|el\s)?"
            rf"(?:{_MONTH}|{_UNIT}|{_WEEKDAY}|{_YEAR}|\d{{1,2}}{_NTH}\s{_OF}?{_MONTH}|next\s\w+)\b"
            rf"(?:\s{_OF}?{_YEAR})?"
        ),
        _only(SpanKind.VAGUE),
    ),
    (
        rf"{_WEEKDAY},?\s(?:the\s|den\s|le\s|el\s)?\d{{1,2}}(?:st|nd|rd|th|\.)?(?!\s?(?:uhr|h\b|am\b|pm\b|:))",
        _only(SpanKind.VAGUE),
    ),
)
_NUMBERED: Final[DayPatterns] = (
    (
        (
            rf"(?P<weekday>{_WEEKDAY}),?\s(?:(?:the|den|dem|le|el)\s(?P<day>\d{{1,2}})|(?P<alone>\d{{1,2}}))(?:st|nd|rd|th|\.)?"
            r"(?=$|[,;)]|\.?$|\s(?:to|until|bis|al?|au|hasta|ist|is|are|sind|est|está)\b)"
        ),
        read_numbered_weekday,
    ),
)
_OTHER: Final[DayPatterns] = (
    (any_of([*words.HOLIDAYS, *words.FIXED_HOLIDAYS]) + r"\b", read_holiday),
    (any_of(words.DAYS_AWAY) + r"\b", read_near),
    (rf"(?P<weekday>{_WEEKDAY})\b(?!-)", read_weekday),
)
DATES: Final = (*_RANGES, *_A_DATE)
NUMERIC: Final = (*_RANGES, *_A_DATE, *_NAMED_STRETCHES, *_LENGTHS)


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
    (_first_words(*words.WEEKDAYS), (*_NUMBERED, *_BLURS[1:])),
    (
        _first_words(
            "the|very|end|ende|last|den|dem|letzte[nmrs]?|la|le|el|o|fin|dernier|último|finales|finais|final|fim"
        ),
        _ENDS[:1],
    ),
    (_first_words("monatsende|jahresende|quartalsende|wochenende|month|year|eom|eoq|eoy"), _ENDS[1:]),
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
    (_first_words("q1|q2|q3|q4|t1|t2|t3|t4|the", *words.ORDINALS), _NAMED_STRETCHES[:1]),
    (_first_words("h1|h2|the", *words.ORDINALS), _NAMED_STRETCHES[1:2]),
    (
        _first_words("calendar|kalenderwochen?|kw|cw|wk|weeks?|wochen?|semaines?|semanas?"),
        _NAMED_STRETCHES[2:3],
    ),
    (_first_words(*words.NUMBERS), _LENGTHS[1:]),
    (_first_words(*words.DAYS_AWAY), _OTHER[1:2]),
    (_first_words(*words.WEEKDAYS), _OTHER[2:]),
    (_first_words(*words.MONTHS), _MONTH_ALONE),
)
"""The patterns of spans that begin with a word, by their first words; the first that matches counts."""


def _by_first_word() -> dict[str, DayPatterns]:
    first_words = {word for starts, _ in _WORDED_RULES for word in starts}
    return {
        word: tuple(each for starts, patterns in _WORDED_RULES if word in starts for each in patterns)
        for word in first_words
    }


WORDED: Final = _by_first_word()


NAMING: Final = _first_words(
    *words.MONTHS,
    *words.WEEKDAYS,
    *words.DAYS_AWAY,
    *words.UNITS.values(),
    *words.HOLIDAYS,
    *words.FIXED_HOLIDAYS,
    words.LIMIT_WEEKDAYS,
) | _first_words(
    "segundas|terças|quartas|quintas|sextas|monatsende|jahresende|quartalsende|wochenende|kw|eom|eoq|eoy"
)
"""Words without which no text names days, unless it has a digit."""
