"""The cost of work on memories, and the refill of the energy budget.

With the default capacity and refill, a day of 200 long conversations that each need a compaction (45 units, 9,000 in
all) takes under 5 % of the 217,000 units of a day. Source: APP-11, R-APP-3.
"""

import math
from datetime import datetime
from typing import Final

from commonplace.apps.model.energy import EnergyPolicy, EnergyStatus

CREATION_UNITS: Final = (10.0, 15.0)
COMPACTION_UNITS: Final = (20.0, 30.0)
FULL_COST_CHARS: Final = 20_000
"""The length of a conversation from which it costs the most; below, the cost grows with the length."""

_LEAST_WAIT_S: Final = 1.0


def creation_cost(conversation_chars: int) -> float:
    """Return the cost of a conversation's digest: 10 to 15 units by its length."""
    return _cost(CREATION_UNITS, conversation_chars)


def compaction_cost(conversation_chars: int) -> float:
    """Return the cost of a compaction for a conversation's memory: 20 to 30 units by the conversation's length."""
    return _cost(COMPACTION_UNITS, conversation_chars)


def _cost(bounds: tuple[float, float], chars: int) -> float:
    least, most = bounds
    return round(least + (most - least) * min(1.0, max(0, chars) / FULL_COST_CHARS), 2)


def refilled(policy: EnergyPolicy, level: float, as_of: datetime, now: datetime) -> float:
    """Return the level after a refill since ``as_of``; a clock that was set back adds nothing."""
    elapsed_s = max(0.0, (now - as_of).total_seconds())
    return min(policy.capacity, level + policy.refill_per_s * elapsed_s)


def status_of(policy: EnergyPolicy, level: float) -> EnergyStatus:
    """Return the status of a level under a policy; ``wait_s`` is infinite without a refill."""
    low = level <= policy.threshold
    missing = policy.threshold - level
    if not low:
        wait_s = 0.0
    elif policy.refill_per_s <= 0:
        wait_s = math.inf
    else:
        wait_s = max(_LEAST_WAIT_S, missing / policy.refill_per_s)
    return EnergyStatus(
        level=round(level, 2),
        capacity=policy.capacity,
        share=round(level / policy.capacity, 4),
        low=low,
        wait_s=wait_s,
    )
