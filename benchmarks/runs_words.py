"""The words of a text in one form, for the comparison of memories with the truth in ``runs_truth.py``.

Words have no case, accent or ending ("Tuesdays" is "tuesd"), numbers no separators and no leading zero, and a few
abbreviations stand for their word. Dates have no year if they have a day and a month, so "2026-05-30", "30 May 2026"
and "May 30th" have the same words; so have "7:30 pm" and "19:30", "16-18" and "16:00 to 18:00", "€24" and "24 EUR".
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_ABBREVIATIONS: Final = (
    "db=datab prod=produ k8s=kuber eur=euro usd=dolla gbp=pound postgresql=postg bi=twice"
    " mon=monda tue=tuesd tues=tuesd wed=wedne thu=thurs fri=frida sat=satur sun=sunda"
    " jan=janua feb=febru mar=march apr=april jun=june jul=july aug=augus sep=septe sept=septe oct=octob nov=novem"
    " dec=decem kg=kilo kilog=kilo min=minut hr=hour"
    " one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12"
)
_SAME: Final[dict[str, str]] = {
    short: long for short, _, long in (pair.partition("=") for pair in _ABBREVIATIONS.split())
}
_SKIPPED: Final = frozenset({"a", "an", "the", "of", "and", "at", "in", "on", "is"})
_STEM_CHARS: Final = 5
_SHORT_CHARS: Final = 3
_LAST_HOUR: Final = 24

_WORD: Final = re.compile(r"[^\W_]+(?:[.:-][^\W_]+)*")
_MONTH: Final = rf"(?:{'|'.join(f'{name}|{name[:3]}' for name in _MONTHS)}|sept)\b\.?"
_YEAR: Final = r"(?:,? *20\d\d\b(?!-))?"


_BOTH: Final = r"(?<![\w.:/-])(?P<first>\d{1,2})"
_OPEN: Final = r"(?![\w:/-]|\.\d)"


def _as_day(match: re.Match[str]) -> str:
    return f" {int(match['day'])} {match['month']} "


def _day_of_iso(match: re.Match[str]) -> str:
    return f" {int(match['day'])} {_MONTHS[int(match['month']) - 1]} "


def _clock(match: re.Match[str]) -> str:
    """Return a time of twelve hours as one of 24."""
    hour = int(match["hour"]) % 12 + 12 * (match["half"] == "p")
    return f" {hour}:{match['minute'] or '00'} "


def _hours(match: re.Match[str]) -> str:
    first, last = int(match["first"]), int(match["last"])
    return f" {first}:00 {last}:00 " if first < last <= _LAST_HOUR else f" {first} {last} "


_FORMS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"['\u2019]s\b"), ""),
    (re.compile("€"), " euro "),
    (re.compile(r"\$(?=\d)"), " dollar "),
    (re.compile(r"£(?=\d)"), " pound "),
    (re.compile(r"%|\bper ?cent\b"), " percent "),
    (re.compile(r"(?<=\d)[,.\u202f ](?=\d{3}(?!\d))"), ""),
    (re.compile(r"(?<![\w.-])20\d\d-(?P<month>0[1-9]|1[0-2])-(?P<day>\d\d)(?![\w-])"), _day_of_iso),
    (re.compile(r"(?<![\w.:-])(\d{1,2})(?:st|nd|rd|th)\b(?: of\b)?"), r"\1"),
    (re.compile(rf"{_BOTH} ?(?:[-\u2013]|to|until) ?(?P<last>\d{{1,2}}) +(?={_MONTH})"), r"\1 \2 "),
    (re.compile(rf"\b({_MONTH}) +(\d{{1,2}}) ?(?:[-\u2013]|to|until) ?(\d{{1,2}}){_OPEN}"), r" \2 \3 \1 "),
    (re.compile(rf"(?<![\w.:-])(?P<day>\d{{1,2}}) +(?P<month>{_MONTH}){_YEAR}"), _as_day),
    (re.compile(rf"\b(?P<month>{_MONTH}) +(?P<day>\d{{1,2}}){_OPEN}{_YEAR}"), _as_day),
    (re.compile(r"\b(?P<hour>1[0-2]|0?\d)(?:[:.](?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?"), _clock),
    (re.compile(r"(?<![\w.:-])0?(\d{1,2}:\d{2})(?::00)?z?\b"), r"\1"),
    (re.compile(r"(?<=\d:\d\d)[-\u2013](?=\d{1,2}:\d\d)"), " "),
    (re.compile(rf"{_BOTH} ?[-\u2013] ?(?P<last>\d{{1,2}}){_OPEN}"), _hours),
    (re.compile(rf"{_BOTH} (?:to|until) (?P<last>\d{{1,2}})(?=$|[.,;)]| o.clock)"), _hours),
    (re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)([a-z]{1,3})\b"), r"\1 \2"),
)


@cache
def words(text: str) -> frozenset[str]:
    """Return the words of a text in one form."""
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each)
    )
    for pattern, form in _FORMS:
        plain = pattern.sub(form, plain)
    return frozenset(part for word in _WORD.findall(plain) for part in _parts(word) if part not in _SKIPPED)


def _parts(word: str) -> Iterable[str]:
    pieces = [word] if any(sign.isdigit() for sign in word) else re.split(r"[.:-]", word)
    return (
        _SAME.get(each) or (each if any(sign.isdigit() for sign in each) else _stem(each)) for each in pieces
    )


def _stem(word: str) -> str:
    stem = (word[:-1] if len(word) > _SHORT_CHARS and word.endswith("s") else word)[:_STEM_CHARS]
    return _SAME.get(stem, stem)
