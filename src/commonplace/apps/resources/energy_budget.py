"""Energy: the budget of work on memories.

Each database has one budget. It refills over time, and a ledger lists every operation. Work on memories has low
priority: it runs only while the level is above a fifth of the capacity, and waits otherwise. A host can spend from the
same budget for its own work, without that limit.

Source: APP-11, R-APP-3.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from commonplace.apps.model.counts import Counts
from commonplace.apps.model.energy import EnergyPolicy, EnergyStatus, Operation
from commonplace.apps.rules.energy import refilled, status_of
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.storage.store import Store

_LOCK: Final = "apps:energy"


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

    async def spent(self, within: timedelta) -> Mapping[str, float]:
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
