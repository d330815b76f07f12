"""The decay of a confidence, as a curve and as dates. Pure."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.confidence import effective_confidence
from commonplace.knowledge import FAINT, GONE

POINTS: Final = 120
ENDS_AT: Final = 0.03
"""The confidence at the end of the curve, slightly below the last threshold."""

LONGEST: Final = timedelta(days=5 * 365)
BEYOND_NOW: Final = 1.1
"""The factor by which a curve extends beyond the present, so that the curve contains the present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayCurve:
    """A confidence over time.

    Attributes:
        times: Seconds since 1970, ascending.
        values: The effective confidence at each time, 0.0 to 1.0.
        now: The present, in the same seconds.
        fades_at: When the confidence falls below 0.2.
        expires_at: When the confidence falls below 0.05.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    now: float
    fades_at: datetime | None
    expires_at: datetime | None


def decay_curve(confidence: float, decay_rate: float, since: datetime, now: datetime) -> DecayCurve | None:
    """Return the curve of a confidence, or ``None`` if the confidence does not decay.

    Args:
        confidence: The confidence at the last confirmation, 0.0 to 1.0.
        decay_rate: The share lost per day, continuously.
        since: The time of the last confirmation, or of creation (aware).
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
