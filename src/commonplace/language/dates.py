"""Calendar dates in a text."""

import re
from datetime import date
from typing import Final

from commonplace.language.importance_cues import MONTHS, plain

PAST_COUNTS: Final = 3
"""The factor by which past days count as farther away, because people note things that are ahead of them."""

_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_MONTH: Final = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.|er|°)?(?:\s+(?:of|de))?\s+({MONTHS})\b(?:\s+(?:de\s+)?(\d{{4}}))?"
)
_MONTH_DAY: Final = re.compile(rf"\b({MONTHS})\s+(\d{{1,2}})\b(?:,?\s+(\d{{4}}))?")
_NUMBERS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan ene",
            "feb fev",
            "mar",
            "apr avr abr",
            "may mai",
            "jun jui",
            "jul",
            "aug aou ago",
            "sep",
            "oct okt",
            "nov",
            "dec dez dic",
        ),
        1,
    )
    for name in names.split()
}


def last_date(text: str, near: date) -> date | None:
    """Return the latest date in a text; ``None`` if it has none.

    Args:
        text: English, German, Spanish or French.
        near: A date without a year means the date nearest to this day; later dates are preferred.
    """
    folded = plain(text)
    found = [_dated(int(year), int(month), int(day), near) for year, month, day in _ISO.findall(folded)]
    found += [_dated(year, _month(month), int(day), near) for day, month, year in _DAY_MONTH.findall(folded)]
    found += [_dated(year, _month(month), int(day), near) for month, day, year in _MONTH_DAY.findall(folded)]
    return max((one for one in found if one is not None), default=None)


def _month(name: str) -> int:
    return 7 if name.startswith("juil") else _NUMBERS[name[:3]]


def _dated(year: str | int, month: int, day: int, near: date) -> date | None:
    try:
        if year:
            return date(int(year), month, day)
        years = [date(near.year + ahead, month, day) for ahead in (-1, 0, 1)]
    except ValueError:
        return None
    return min(years, key=lambda one: PAST_COUNTS * (near - one).days if one < near else (one - near).days)
