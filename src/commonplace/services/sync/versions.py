"""Versions of a memory on several devices: which change has seen which, and the clock that orders the others. Pure.

Source: ADR 0040.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

Versions = Mapping[str, int]
"""How many changes of each device to one memory a change has seen, itself included."""


def has_seen(later: Versions, earlier: Versions) -> bool:
    """Return whether a change has seen all that another one has seen; true for equal ones."""
    return all(later.get(device, 0) >= number for device, number in earlier.items())


def joined(versions: Iterable[Versions]) -> dict[str, int]:
    """Return the versions of one that has seen all of some changes."""
    union: dict[str, int] = {}
    for each in versions:
        for device, number in each.items():
            union[device] = max(number, union.get(device, 0))
    return dict(sorted(union.items()))


def next_versions(seen: Iterable[Versions], device: str) -> dict[str, int]:
    """Return the versions of a new change of a device that has seen some changes."""
    union = joined(seen)
    return dict(sorted({**union, device: union.get(device, 0) + 1}.items()))


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """A time of a hybrid logical clock; stamps of one device always grow, and one that saw another is later.

    Attributes:
        milliseconds: Unix time in UTC.
        count: Tells stamps of one millisecond apart.
        device: Tells devices apart.
    """

    milliseconds: int
    count: int
    device: str


MOST_AHEAD_MS: Final = 86_400_000
"""A stamp further ahead than this does not move the clocks of those who see it: its device's clock is wrong."""


class HybridClock:
    """The clock of a device.

    Args:
        device: Its id.
        latest: The latest stamp of this device, from its records.
    """

    def __init__(self, device: str, latest: Stamp | None = None) -> None:
        self._latest = latest or Stamp(0, 0, device)
        self._device = device

    def tick(self, milliseconds: int) -> Stamp:
        """Return a stamp for a change at a moment; it is later than all before, also after a jump of the clock."""
        if milliseconds > self._latest.milliseconds:
            self._latest = Stamp(milliseconds, 0, self._device)
        else:
            self._latest = Stamp(self._latest.milliseconds, self._latest.count + 1, self._device)
        return self._latest

    def see(self, stamp: Stamp, milliseconds: int) -> None:
        """Note a stamp of another device, so that the next one is later, unless that device's clock is far ahead."""
        if stamp.milliseconds <= milliseconds + MOST_AHEAD_MS and stamp > self._latest:
            self._latest = Stamp(stamp.milliseconds, stamp.count, self._device)
