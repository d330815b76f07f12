"""The plan of a simulated year: when devices are off, clocks are wrong and files are late, and what happens when."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from support.sync_year_attacks import ATTACKS
from support.sync_year_carrier import YearCarrier
from support.sync_year_devices import YearDevice

ROLES: Final = ("laptop", "desktop", "server")
CLOCK_ERRORS: Final = tuple(
    timedelta(hours=hours) for hours in (1, -1, 7, -7, 24, -24, 24 * 9, -24 * 9, 24 * 365, -24 * 365)
)
YEAR: Final = 365
OFTEN: Final = {"kill at each step": 26, "full disk at each step": 13, "erasure": 8}
"""How often something happens in a year; in fewer days at least once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Days on which something is wrong with a device; from the first one on, without the last one."""

    role: str
    first: int
    last: int
    clock_error: timedelta = timedelta()

    def __contains__(self, day: int) -> bool:
        """Return whether a day is one of them."""
        return self.first <= day < self.last


class Plan:
    """A plan.

    Args:
        chance: Decides the days.
        days: The number of days.
    """

    def __init__(self, chance: random.Random, days: int) -> None:
        self._chance, self._days = chance, days
        self._away = [self._span(role, 14, 35) for role in ROLES for _ in range(2)]
        self._unreachable = [self._span(role, 7, 21) for role in ROLES for _ in range(2)]
        self._late = [self._span("", 4, 15) for _ in range(8)]
        self._clocks = [
            self._span(role, 1, 10, clock_error=chance.choice(CLOCK_ERRORS))
            for role in ROLES
            for _ in range(6)
        ]
        self._happenings: dict[int, list[str]] = {}
        for name, count in OFTEN.items():
            self._schedule(name, count)
        for name in ATTACKS:
            self._schedule(name, 4)
        for name in ("revocation", "departure"):
            self._happenings.setdefault(chance.randrange(days // 3, days), []).append(name)

    def happenings(self, day: int) -> list[str]:
        """Return what happens on a day."""
        return self._happenings.get(day, [])

    def postpone(self, name: str, day: int) -> None:
        """Let something happen on the day after a day on which a device that it needs was away."""
        self._happenings.setdefault(day + 1, []).append(name)

    def apply(self, day: int, devices: Mapping[str, YearDevice], carrier: YearCarrier) -> None:
        """Make devices and carrier as they are on a day."""
        carrier.delay = timedelta(days=2) if any(day in span for span in self._late) else timedelta()
        for role, device in devices.items():
            device.is_on = not any(day in span for span in self._away if span.role == role)
            device.view.is_reachable = not any(day in span for span in self._unreachable if span.role == role)
            errors = [span.clock_error for span in self._clocks if span.role == role and day in span]
            device.clock_error = errors[-1] if errors else timedelta()

    def _span(self, role: str, least: int, most: int, *, clock_error: timedelta = timedelta()) -> Span:
        """Return a span of at most a quarter of all days."""
        length = min(self._chance.randint(least, most), max(1, self._days // 4))
        first = self._chance.randrange(self._days)
        return Span(role=role, first=first, last=first + length, clock_error=clock_error)

    def _schedule(self, name: str, in_a_year: int) -> None:
        for _ in range(max(1, round(in_a_year * self._days / YEAR))):
            self._happenings.setdefault(self._chance.randrange(self._days), []).append(name)
