"""Staleness: a memory that no session reinforces for a grace period, 30 days by default, loses 0.1 per week.

Each elapsed week is charged once, however often the check runs, because the number of charged weeks is stored.
Source: OPS-11, R-OPS-7.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from commonplace.core import confidence

GRACE: Final = timedelta(days=30)
WEEK: Final = timedelta(days=7)
LOSS_PER_WEEK: Final = Decimal("0.1")


def weeks_stale(updated_at: datetime, now: datetime, grace: timedelta = GRACE) -> int:
    """Return how many whole weeks have passed since the grace period ended; 0 before that."""
    return max(0, (now - updated_at - grace) // WEEK)


def decayed(value: float, weeks: int) -> float:
    """Return a confidence after a number of weeks of decay, never below 0.0."""
    return confidence.step(value, -LOSS_PER_WEEK * weeks)
