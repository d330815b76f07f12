"""What becomes of a confidence that nobody confirms, as a curve and as dates. Pure."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.confidence import effective_confidence
from commonplace.knowledge.upkeep.decay import FAINT, GONE

POINTS: Final = 120
ENDS_AT: Final = 0.03
"""The curve goes on until this is left: a little below the last threshold."""

LONGEST: Final = timedelta(days=5 * 365)
BEYOND_NOW: Final = 1.1
"""A curve that ends before the present is drawn this much further, so that the present is on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayCurve:
    """A confidence over time.

    Attributes:
        times: Seconds since 1970, ascending.
        values: The effective confidence at each, 0.0 to 1.0.
        now: The present, in the same seconds.
        fades_at: When it goes or went below 0.2; ``None`` where it never does.
        expires_at: When it goes or went below 0.05.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    now: float
    fades_at: datetime | None
    expires_at: datetime | None


def decay_curve(confidence: float, decay_rate: float, since: datetime, now: datetime) -> DecayCurve | None:
    """Return the curve of a confidence, or ``None`` where it does not decay.

    Args:
        confidence: When it was last confirmed, 0.0 to 1.0.
        decay_rate: Share lost per day, continuously.
        since: When it was last confirmed, or else stored (aware).
        now: The present (aware).

    Source: KNW-09.
    """
    if decay_rate <= 0.0 or confidence <= 0.0:
        return None
    length = min(_until(confidence, decay_rate, ENDS_AT), LONGEST)
    length = max(length, (now - since) * BEYOND_NOW)
    moments = [since + length * (step / POINTS) for step in range(POINTS + 1)]
    return DecayCurve(
        times=tuple(round(moment.timestamp()) for moment in moments),
        values=tuple(
            round(effective_confidence(confidence, decay_rate, since, moment), 4) for moment in moments
        ),
        now=round(now.timestamp()),
        fades_at=since + _until(confidence, decay_rate, FAINT),
        expires_at=since + _until(confidence, decay_rate, GONE),
    )


def _until(confidence: float, decay_rate: float, left: float) -> timedelta:
    return timedelta(days=max(0.0, math.log(confidence / left) / decay_rate))
