"""Names of relations in predicates: without a number, a word of age or a date. Pure.

Models invent ``version_2``, ``new_host`` and ``on_call_6_july`` for another value of ``version``, ``host`` and
``on_call``. Whether ``phase_2`` is such a name cannot be seen from the name alone;
:mod:`~commonplace.knowledge.rules.claims` looks for the bare name beside it. Source: TRU-04.
"""

import re
from typing import Final

from commonplace.knowledge.rules import siblings
from commonplace.language.calendar_words import MONTHS

_AGED: Final = re.compile(
    r"(?:new|current|latest|updated|present)_(.+)|(.+)_(?:new|now|current|latest|updated|[2-9])"
)
_PAST: Final = re.compile(
    r"(?:old|previous|former|prior|earlier)_(.+)|(.+)_(?:old|before|previous|previously|until)"
)
_MONTH_NAMES: Final = frozenset(name for names in MONTHS for name in names.split("|"))
_NUMBER: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_BEFORE_DATE: Final = frozenset(
    {"week", "day", "since", "from", "until", "of", "on", "in", "as", "for", "the"}
)
_BEGINNING: Final = frozenset({"from", "since", "starting", "effective"})
"""Words before a month or year that is a date on its own: ``fee_from_september``, but not ``sales_in_september``."""

_DAY_AND_MONTH: Final = 2
_WHOLE_DATE: Final = 3
"""The least number of parts of a date with and without the name of its month."""


def unaged(predicate: str) -> str:
    """Return the name of a predicate without a number from 2 to 9 at its end, or a word of age."""
    name = siblings.plain_name(predicate)
    match = _AGED.fullmatch(name) or _PAST.fullmatch(name)
    return name if match is None else match[1] or match[2]


def is_of_the_past(predicate: str) -> bool:
    """Return whether a predicate has a word such as "old"."""
    return _PAST.fullmatch(siblings.plain_name(predicate)) is not None


def undated(predicate: str) -> str:
    """Return the name of a predicate without a date at its end: ``on_call`` for ``on_call_week_of_6_july``.

    A month or year counts after a word such as "from": ``fee`` for ``fee_from_september``.
    """
    parts = siblings.plain_name(predicate).split("_")
    end = len(parts)
    while end and (parts[end - 1] in _MONTH_NAMES or _is_number(parts[end - 1])):
        end -= 1
    is_beginning = end < len(parts) and parts[end - 1] in _BEGINNING and _is_month_or_year(parts[end:])
    if not (_is_date(parts[end:]) or is_beginning):
        return "_".join(parts)
    while end and parts[end - 1] in _BEFORE_DATE:
        end -= 1
    return "_".join(parts[:end] or parts)


def _is_number(part: str) -> bool:
    return bool(_NUMBER.fullmatch(part) or _YEAR.fullmatch(part))


def _is_month_or_year(parts: list[str]) -> bool:
    return all(part in _MONTH_NAMES or _YEAR.fullmatch(part) for part in parts)


def _is_date(parts: list[str]) -> bool:
    """Return whether some parts are a day of a month, or a date with its year."""
    if _MONTH_NAMES & set(parts):
        return len(parts) >= _DAY_AND_MONTH
    return len(parts) >= _WHOLE_DATE and any(_YEAR.fullmatch(part) for part in parts)
