"""Confidence: a number from 0.0 to 1.0 that says how much a memory can be trusted.

Confidence in operational memory moves in decimal steps; in knowledge memory it decays exponentially. Steps use decimal
arithmetic: 0.7 - 0.2 - 0.2 is 0.3, not 0.29999999999999993, and 0.3 is still active (R-OPS-9).
"""

import math
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

ACTIVE_THRESHOLD: Final = Decimal("0.3")
"""The least confidence of an active memory. Source: OPS-08."""

_PRECISION: Final = Decimal("0.000001")
_DAY_S: Final = 86_400.0


def to_decimal(confidence: float | Decimal) -> Decimal:
    """Return a confidence as a decimal number with six places."""
    return Decimal(str(confidence)).quantize(_PRECISION, rounding=ROUND_HALF_EVEN)


def clamp(confidence: float | Decimal) -> float:
    """Return the nearest confidence within 0.0 to 1.0.

    Raises:
        ValueError: The confidence is NaN.
    """
    if math.isnan(confidence):
        raise ValueError("confidence is not a number")
    return float(to_decimal(min(max(confidence, 0), 1)))


def step(confidence: float, change: Decimal) -> float:
    """Return a confidence moved by a decimal step, within 0.0 to 1.0."""
    return clamp(to_decimal(confidence) + change)


def is_active(confidence: float) -> bool:
    """Return whether a confidence reaches the threshold of 0.3, in decimal."""
    return to_decimal(confidence) >= ACTIVE_THRESHOLD


def effective_confidence(
    confidence: float, decay_rate: float, confirmed_at: datetime | None, now: datetime
) -> float:
    """Return a confidence after exponential decay.

    Args:
        confidence: The base, 0.0 to 1.0.
        decay_rate: Share lost per day, continuously; 0.0 never decays.
        confirmed_at: When it was last confirmed (aware); ``None`` means never.
        now: The current time (aware).

    Returns:
        ``confidence * exp(-decay_rate * days)``; the base itself at rate 0.0; 0.0 if never confirmed.
        A confirmation in the future, as after a clock change, counts as now.

    Source: KNW-09, R-KNW-2.
    """
    if decay_rate == 0.0:
        return confidence
    if confirmed_at is None:
        return 0.0
    days = max(0.0, (now - confirmed_at).total_seconds() / _DAY_S)
    return confidence * math.exp(-decay_rate * days)
