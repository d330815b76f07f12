"""Quantities in an observation: numbers with comparable units.

``60s``, ``60 seconds``, ``one minute`` and ``1m`` are one quantity; so are ``1,5 GB`` and ``1536 MB``, ``weekly``
and ``every 7 days``, ``3 am`` and ``03:00``. A quantity is an interval: ``60-90s`` goes from 60 to 90, ``at least
4 GB`` has no upper end, and ``about 60s`` is as wide as its hedge allows. Two quantities agree if their intervals meet.

Source: R-OPS-5.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

HEDGE_TOLERANCE: Final = 0.2
"""Share by which "about" widens a quantity on either side."""

PREFIX_RATIOS: Final = (1.024, 1.024**2, 1.024**3, 1.024**4)
"""Ratios of a size with binary prefixes to the same size with decimal ones: 1.5 TB is 1500 GB or 1536 GB."""

CALENDAR_S: Final = 28 * 86_400.0
CALENDAR_TOLERANCE: Final = 0.01
"""From 28 days on, durations agree within this share, because months and years vary in length."""

CLOCK_TOLERANCE_MIN: Final = 30.0
"""Minutes by which "around" widens a time of day."""


class Dimension(StrEnum):
    """Dimension of a quantity; only quantities with the same dimension are compared."""

    DURATION = "duration"
    SIZE = "size"
    PERCENT = "percent"
    TEMPERATURE = "temperature"
    CLOCK = "time of day"
    WEEKDAY = "weekday"
    ORDINAL = "ordinal"
    PORT = "port"
    VERSION = "version"
    ADDRESS = "address"
    NUMBER = "number"


class Bound(StrEnum):
    """Whether a quantity is a value or a limit."""

    NONE = ""
    LOWER = "at least"
    UPPER = "at most"


class Agreement(StrEnum):
    """Result of comparing two quantities."""

    AGREE = "agree"
    DIFFER = "differ"
    APART = "apart"
    """Not comparable: different kinds, or limits from opposite sides that can both hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """An amount, a limit or a name made of digits.

    ``low`` and ``high`` are inclusive, in the base unit of the kind: seconds, bytes, percent, degrees, minutes since
    midnight, Monday = 0; without a unit the number itself. ``name`` is set instead where digits only identify
    (versions, addresses). ``denied`` marks ``not 200``. ``label`` is the noun that the number identifies.
    """

    kind: Dimension
    low: float = 0.0
    high: float = 0.0
    name: str = ""
    hedged: bool = False
    bound: Bound = Bound.NONE
    denied: bool = False
    label: str = ""


def compare(first: Quantity, second: Quantity) -> Agreement:
    """Compare two quantities, in any order.

    A bare number can be compared with a port or a version of the same digits. Limits from the same side agree if they
    are equal; a value and a limit agree if the value is within the limit. A hedge widens its quantity.
    """
    if {first.kind, second.kind} == {Dimension.NUMBER, Dimension.PORT} or first.kind == second.kind:
        return _compare_values(first, second)
    if {first.kind, second.kind} == {Dimension.NUMBER, Dimension.VERSION}:
        digits = {one.name or f"{one.low:g}" for one in (first, second)}
        return Agreement.AGREE if len(digits) == 1 else Agreement.DIFFER
    return Agreement.APART


def _compare_values(first: Quantity, second: Quantity) -> Agreement:
    if first.name or second.name:
        return Agreement.AGREE if first.name == second.name else Agreement.DIFFER
    if first.bound is not Bound.NONE and first.bound == second.bound:
        first, second = _limit(first), _limit(second)
    (low_1, high_1), (low_2, high_2) = _widened(first), _widened(second)
    meet = (low_1 <= high_2 and low_2 <= high_1) or _same_size(first, second)
    if meet and first.bound is not Bound.NONE and second.bound is not Bound.NONE:
        return Agreement.APART
    return Agreement.AGREE if meet else Agreement.DIFFER


def _same_size(first: Quantity, second: Quantity) -> bool:
    """Return whether two sizes differ only by decimal and binary prefixes."""
    smaller, larger = sorted((first.low, second.low))
    is_exact = all(one.kind is Dimension.SIZE and one.low == one.high for one in (first, second))
    return is_exact and any(math.isclose(larger, smaller * ratio, rel_tol=1e-6) for ratio in PREFIX_RATIOS)


def _limit(quantity: Quantity) -> Quantity:
    value = quantity.low if quantity.bound is Bound.LOWER else quantity.high
    return replace(quantity, low=value, high=value, bound=Bound.NONE)


def _widened(quantity: Quantity) -> tuple[float, float]:
    if quantity.kind is Dimension.DURATION and CALENDAR_S <= quantity.low < math.inf:
        return quantity.low * (1 - CALENDAR_TOLERANCE), quantity.high * (1 + CALENDAR_TOLERANCE)
    slack = 1e-9 * max(1.0, abs(quantity.low) if math.isfinite(quantity.low) else 1.0)
    if not quantity.hedged:
        return quantity.low - slack, quantity.high + slack
    if quantity.kind is Dimension.CLOCK:
        return quantity.low - CLOCK_TOLERANCE_MIN, quantity.high + CLOCK_TOLERANCE_MIN
    return quantity.low * (1 - HEDGE_TOLERANCE) - slack, quantity.high * (1 + HEDGE_TOLERANCE) + slack
