"""Units and number words as operators write them, as plain data for reading quantities.

Durations are in seconds, sizes in bytes, times of day in minutes since midnight, Monday is 0.
"""

from typing import Final

from commonplace.language import weekdays
from commonplace.language.words import word_set

HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
WEEK_S: Final = 7 * DAY_S
YEAR_S: Final = 365 * DAY_S
MONTH_S: Final = YEAR_S / 12


def _table(rows: dict[str, float]) -> dict[str, float]:
    return {form: value for forms, value in rows.items() for form in forms.split()}


def _numbered(text: str, start: int = 0) -> dict[str, float]:
    """Return words with their numbers in order; commas separate forms of one word."""
    rows = enumerate(text.split(), start=start)
    return {form: float(number) for number, forms in rows for form in forms.split(",")}


DURATIONS: Final = _table(
    {
        "us µs μs microsecond microseconds": 0.000001,
        "ms msec msecs millisecond milliseconds": 0.001,
        "s sec secs second seconds": 1.0,
        "m min mins minute minutes": 60.0,
        "h hr hrs hour hours": HOUR_S,
        "d day days": DAY_S,
        "w wk week weeks": WEEK_S,
        "month months": MONTH_S,
        "quarter quarters": 3 * MONTH_S,
        "y yr year years": YEAR_S,
    },
)

SIZES: Final = _table(
    {
        "byte bytes": 1.0,
        "k kb kib kilobyte kilobytes kb/s": 1024.0,
        "mb mib mi meg megs megabyte megabytes mb/s": 1024.0**2,
        "g gb gib gi gig gigs gigabyte gigabytes gb/s": 1024.0**3,
        "t tb tib ti terabyte terabytes": 1024.0**4,
        "pb pib petabyte petabytes": 1024.0**5,
        "kbit kbps kbit/s": 1024.0 / 8,
        "mbit mbps mbit/s": 1024.0**2 / 8,
        "gbit gbps gbit/s": 1024.0**3 / 8,
    },
)
"""Operators use GB and GiB interchangeably, so they count as the same."""

PERIODS: Final = _table(
    {
        "hourly stündlich": HOUR_S,
        "daily nightly täglich nächtlich diario diaria diarios diarias diariamente quotidien quotidienne "
        "quotidiennement": DAY_S,
        "weekly wöchentlich semanal semanales semanalmente hebdomadaire hebdomadaires": WEEK_S,
        "fortnightly biweekly quincenal quincenalmente": 2 * WEEK_S,
        "monthly monatlich mensual mensuales mensualmente mensuel mensuelle mensuellement": MONTH_S,
        "quarterly trimestral trimestralmente trimestriel trimestrielle": 3 * MONTH_S,
        "yearly annually jährlich anual anuales anualmente annuel annuelle annuellement": YEAR_S,
    },
)

HALVES: Final = {"am": 0, "pm": 12}
"""Hours before each half of the day."""

TIMES_OF_DAY: Final = _table(
    {
        "midnight mitternacht medianoche minuit": 0.0,
        "noon midday mittag mittags mediodía mediodia midi": 720.0,
    }
)

WEEKDAYS: Final = {
    form: float(number)
    for number, names in enumerate(weekdays.WEEKDAYS)
    for name in names.split("|")
    for form in (name, f"{name}s")
}
"""Days and their plurals."""
_TENS: Final = _numbered("thirty forty fifty sixty seventy eighty ninety hundred", start=3)
CARDINALS: Final = {word: 10 * number for word, number in _TENS.items()} | _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve,dozen thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
ORDINALS: Final = _numbered(
    "first,1st second,2nd third,3rd fourth fifth sixth seventh eighth ninth tenth", start=1
) | {"last": -1.0}

MULTIPLES: Final = {"twice": 2.0, "thrice": 3.0}

ORDINAL_ENDINGS: Final = word_set("st nd rd th")
DEGREES: Final = word_set("° degree degrees celsius c")
PERCENT: Final = word_set("% percent pct")
COUNTED_ONCE: Final = word_set("before and or more only again with")
"""Before these words, and at the end, "once" is a count; elsewhere it means "as soon as"."""
