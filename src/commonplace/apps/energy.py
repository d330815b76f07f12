"""Energy: the budget of work on memories.

Each database has one budget. It refills over time, and a ledger lists every operation. Work on memories has low
priority: it runs only while the level is above a fifth of the capacity, and waits otherwise. A host can spend from the
same budget for its own work, without that limit.

With the default capacity and refill, a day of 200 long conversations that each need a compaction (45 units, 9,000 in
all) takes under 5 % of the 217,000 units of a day. Source: APP-11, R-APP-3.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from commonplace.apps.counts import Counts
from commonplace.apps.statements import AppStatements
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.storage.store import Store

CREATION_UNITS: Final = (10.0, 15.0)
COMPACTION_UNITS: Final = (20.0, 30.0)
FULL_COST_CHARS: Final = 20_000
"""The length of a conversation from which it costs the most; below, the cost grows with the length."""

_LOCK: Final = "apps:energy"
_LEAST_WAIT_S: Final = 1.0


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


class EnergyBudget:
    """The budget of a database; see the module."""

    def __init__(self, store: Store[AppStatements], policy: EnergyPolicy, counts: Counts) -> None:
        self._store = store
        self._counts = counts
        self._unpolled = 0.0
        self.policy = policy

    async def status(self) -> EnergyStatus:
        """Return the current level."""
        async with self._store.reading() as sql:
            return status_of(self.policy, await self._level(sql, self._store.now()))

    async def admit(self, operation: Operation, units: float, *, app_id: str, conversation_id: str) -> bool:
        """Take units for work on memories if the level is above the reserve, and return whether they were taken."""
        taken = await self._take(
            operation, units, above=self.policy.threshold, app_id=app_id, conversation_id=conversation_id
        )
        if taken is None:
            return False
        self._unpolled += units
        self._counts.add_energy(operation, units)
        return True

    async def give_back(
        self, operation: Operation, units: float, *, app_id: str, conversation_id: str
    ) -> None:
        """Give back units that :meth:`admit` took for work that was not done."""
        await self._take(operation, -units, app_id=app_id, conversation_id=conversation_id)
        self._unpolled -= units

    def poll(self) -> float:
        """Return the units that this process took for work on memories since the last poll."""
        taken, self._unpolled = self._unpolled, 0.0
        return round(taken, 2)

    async def spend(self, units: float) -> EnergyStatus:
        """Take units for the host's own work; if the level is lower, take the whole level.

        Raises:
            InvalidInputError: The units are negative or not a finite number.
        """
        if not (math.isfinite(units) and units >= 0):
            raise InvalidInputError("units", "a number of at least 0", units)
        return status_of(self.policy, await self._take(Operation.HOST, units) or 0.0)

    async def spent(self, within: timedelta) -> dict[str, float]:
        """Return the units that each operation took within a time up to now."""
        since = format_timestamp(self._store.now() - within)
        return {row["operation"]: row["units"] for row in await self._store.reads.energy_spent(since=since)}

    async def _level(self, sql: AppStatements, now: datetime) -> float:
        row = await sql.energy_level()
        if row is None:
            return self.policy.capacity
        return refilled(self.policy, row["level"], parse_timestamp(row["as_of"]), now)

    async def _take(
        self,
        operation: Operation,
        units: float,
        *,
        above: float = -math.inf,
        app_id: str | None = None,
        conversation_id: str | None = None,
    ) -> float | None:
        """Take units if the level is above another, and return the rest; the host takes at most the level."""
        async with self._store.writing(lock=_LOCK) as sql:
            now = self._store.now()
            level = await self._level(sql, now)
            if level <= above:
                return None
            taken = min(units, level) if operation is Operation.HOST else units
            moment = format_timestamp(now)
            left = min(self.policy.capacity, max(0.0, level - taken))
            await sql.set_energy_level(level=left, moment=moment)
            await sql.record_energy(
                operation=operation,
                app_id=app_id,
                conversation_id=conversation_id,
                units=float(taken),
                moment=moment,
            )
        return left
