"""Tokens of an observation.

Case, spacing and the punctuation of numbers are ignored. Each thing gets one spelling: ``db-a`` becomes
``db #a``, ``host:5432`` becomes ``host port 5432``, ``twice a year`` becomes a period in seconds. Everything here takes
time linear in the length of the text, of which the first 20,000 characters are read.

Source: R-OPS-5.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final, TypeAlias

from commonplace.judge.lexicon import PHRASES
from commonplace.judge.units import CARDINALS, DURATIONS, MULTIPLES, WEEKDAYS

MOST_READ_CHARS: Final = 20_000
"""Longer than any prompt block that could show the text; the judge ignores the rest of a text."""

_AMOUNTS: Final = (
    CARDINALS | {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "tenth": 0.1} | MULTIPLES
)
_PERIODS_S: Final = {
    unit: DURATIONS[unit] for unit in ("minute", "hour", "day", "week", "month", "quarter", "year")
}
_DIGITS: Final = "one|two|three|four|five|six|seven|eight|nine"
_UNIT: Final = f"(?P<unit>{'|'.join(_PERIODS_S)})"
_WEEKDAYS: Final = {day[:3]: day for day in WEEKDAYS if day.endswith("day")}


def _amount(word: str) -> float:
    if word in {"", "a", "an"}:
        return 1.0
    known = _AMOUNTS.get(word)
    return float(word) if known is None else known


def _period(match: re.Match[str]) -> str:
    times = _amount(match["times"].split()[0])
    return f"every {_PERIODS_S[match['unit']] / times:.0f} s" if times else match[0]


def _fraction(match: re.Match[str]) -> str:
    """Return "half an hour" as "0.5 hour" and "three quarters of the" as "75 %"."""
    before, unit = match["before"] or "", match.groupdict().get("unit")
    counted = before in _AMOUNTS or before in {"a", "an"}
    amount = (_amount(before) if counted else 1.0) * _AMOUNTS[match["part"]]
    written = f"{amount:g} {unit}" if unit else f"{100 * amount:g} % "
    return written if counted else f"{before} {written}"


def _past(match: re.Match[str]) -> str:
    hour = _AMOUNTS.get(match[2], match[2])
    return f"{hour:.0f}:{30 if match[1] == 'half' else 15}" if isinstance(hour, float) else match[0]


def _hour(match: re.Match[str]) -> str:
    return f"at {_amount(match[1]):.0f}:00"


def _half_of_day(match: re.Match[str]) -> str:
    return f"{match[1]} {'am' if match[2] == 'morning' else 'pm'}"


def _and_a_half(match: re.Match[str]) -> str:
    amount = 1.0 if match[1] in {"a", "an"} else _AMOUNTS.get(match[1])
    return f"{amount + 0.5:g} {match['unit']}" if amount is not None else match[0]


def _weekday(match: re.Match[str]) -> str:
    return _WEEKDAYS[match[1]]


def _date(match: re.Match[str]) -> str:
    return f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}"


def _daily(match: re.Match[str]) -> str:
    return f"daily at {match[2]}:{match[1]:0>2}"


_Replacement: TypeAlias = str | Callable[[re.Match[str]], str]
_REWRITES: Final[tuple[tuple[re.Pattern[str], _Replacement], ...]] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=[a-z])'(?=[a-z])", ""),
        (r"\*/(\d+) \* \* \* \*", r"every \1 minutes"),
        (r"\b(\d{1,2}) (\d{1,2}) \* \* \*", _daily),
        (r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b", _date),
        (r"\b([ap])\.\s?m\b\.?", r"\1m"),
        (r"\b(\d{1,2}) (?:o'?clock )?in the (morning|afternoon|evening)\b", _half_of_day),
        (r"\b(half|quarter) past (\w+)\b", _past),
        (rf"\bat ({_DIGITS}|ten|eleven|twelve)(?=$|[,;.)])", _hour),
        (rf"\b(an?|\w+) {_UNIT}s? and a half\b", _and_a_half),
        (r"\b(approx|ca|max|min|resp|incl|vs|no|nr|dr|st)\.(?=\s)", r"\1"),
        (r"\b(?:(?:tcp|udp)[ /](?:port[ /])?(\d+)|(\d+)[ /](?:tcp|udp))\b", r"port \1\2"),
        (r"(?<=[a-z0-9]):(?=\d{2,5}\b(?![:.]))(?<!\b\d:)(?<!\b\d\d:)(?<!\b\d\d\d:)", " port "),
        (r"(?<=[a-z])-(?=(?:\d+|[a-z])\b)", " #"),
        (r"\b(re|un|non|pre|co|de)-(?=[a-z])", r"\1"),
        (rf"\b({'|'.join(_WEEKDAYS)})\b(?=[ ,-]*\d)", _weekday),
        (r"\b(?:stops?|stopped|ceases?|ceased|quits?) (?=\w+ing\b)", "not "),
        (
            rf"\b(?P<times>twice|thrice|(?:\d+|{'|'.join(_AMOUNTS)}) times) (?:an?|per|every|each) {_UNIT}\b",
            _period,
        ),
        (rf"\b(?:(?P<before>\w+) )?(?P<part>half|quarter|third)s? (?:of )?an? {_UNIT}\b", _fraction),
        (
            r"\b(?:(?P<before>an?|\w+) )?(?P<part>half|third|quarter|tenth)s? (?:of )?(?=the |all |its |/|an? )",
            _fraction,
        ),
        (r"\b(?:forever|indefinitely|for ever)\b", "1000 years"),
    )
)
_CAPITAL: Final = re.compile(r"(?<=[A-Za-z] )([A-Z])(?=[ ,.;:)]|$)")
"""A letter that identifies one thing of a kind: "UPS A"."""

_PHRASE: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(PHRASES, key=len, reverse=True))})\b".replace(" ", "[ -]")
)
_TOKEN: Final = re.compile(
    r"#(?:\d+|[a-z])\b"  # the mark of one thing of a kind
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"  # a date
    r"|[0-9]+(?:[.,:][0-9]+)*"  # a number, a version, a time of day, an address
    r"|(?<=[0-9a-z])\s?[-\u2013\u2014]\s?(?=[0-9])"  # before a number: a range
    r"|[<>]=?(?=\s?[0-9])|[~≈≤≥±](?=\s?[0-9])|%|°"
    r"|(?<!\w)v(?=[0-9])"  # the v of "v2.4"
    r"|(?<=[0-9])[^\W0-9_]{1,3}(?=[0-9])"  # a unit within "1m30s"
    r"|[^\W0-9](?:\w|[./](?=\w))*"  # a word, a path, the name of a host
    r"|--|(?<=\s)[-\u2013\u2014](?=\s)|[,;:()]|\.(?=\s)",
)


def fold(text: str) -> str:
    """Return a text in lower case, with compatibility forms folded and each thing in one spelling."""
    named = _CAPITAL.sub(r"#\1", " ".join(text[:MOST_READ_CHARS].split())).replace("GET ", "HTTPGET ")
    folded = unicodedata.normalize("NFKC", named).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for pattern, replacement in _REWRITES:
        folded = pattern.sub(replacement, folded)
    return folded


def tokenise(folded: str) -> tuple[str, ...]:
    """Return the tokens of a folded text in order: words, numbers, signs that qualify numbers, and punctuation."""
    joined = _PHRASE.sub(lambda match: PHRASES[match[0].replace("-", " ")], folded)
    tokens = [_plain(match[0]) for match in _TOKEN.finditer(joined)]
    if tokens and tokens[-1] in {"on", "off"}:
        # At the end of a text these words are not prepositions: "Query logging is on".
        tokens[-1] = "enable" if tokens[-1] == "on" else "disable"
    return tuple(tokens)


def _plain(token: str) -> str:
    stripped = token.strip()
    return "-" if stripped in {"\N{EN DASH}", "\N{EM DASH}"} else stripped.replace("'", "")
