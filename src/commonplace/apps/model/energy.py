"""Energy: the operations, the size of the budget, and its level."""

from dataclasses import dataclass
from enum import StrEnum


class Operation(StrEnum):
    """The kind of an operation in the ledger."""

    CREATION = "creation"
    COMPACTION = "compaction"
    HOST = "host"
    """Work of the host itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyPolicy:
    """The size of the budget.

    Attributes:
        capacity: Units of a full budget; greater than 0.
        refill_per_s: Units that come back each second; not negative.
        reserve: The share of the capacity at or below which work on memories waits.
    """

    capacity: float = 1000.0
    refill_per_s: float = 2.5
    reserve: float = 0.2

    @property
    def threshold(self) -> float:
        """The level above which work on memories runs."""
        return self.capacity * self.reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyStatus:
    """The level of the budget in units and as a share of the capacity, and the wait of low-priority work."""

    level: float
    capacity: float
    share: float
    low: bool
    wait_s: float
