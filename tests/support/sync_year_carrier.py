"""A carrier of a simulated year: each device sees its files late and out of order, and some files are tampered with."""

import random
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.carriers.carrier import OneByOne


@dataclass(slots=True)
class YearCarrier:
    """The files of a home, as a synced folder has them.

    Attributes:
        chance: Decides how late files are.
        step: Called with the name of each step, to raise an error there.
        now: The true time.
        files: The files as they were written.
        changed: Files that the carrier shows in place of others, and forged ones beside them.
        hidden: Files that the carrier keeps back from all but the device that wrote them.
        delay: The longest time after which another device sees a file or its deletion.
    """

    chance: random.Random
    step: Callable[[str], None]
    now: Callable[[], datetime]
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    changed: dict[str, bytes] = field(default_factory=dict[str, bytes])
    hidden: dict[str, str] = field(default_factory=dict[str, str])
    delay: timedelta = timedelta()
    late: dict[tuple[str, str], datetime] = field(default_factory=dict[tuple[str, str], datetime])
    deleted: dict[tuple[str, str], tuple[datetime, bytes]] = field(
        default_factory=dict[tuple[str, str], tuple[datetime, bytes]]
    )
    devices: list[str] = field(default_factory=list[str])

    def mend(self) -> None:
        """Show every file as it was written, to every device."""
        self.changed.clear()
        self.hidden.clear()
        self.late.clear()
        self.deleted.clear()

    def is_plain(self, device: str) -> bool:
        """Return whether a device sees every file as it was written."""
        now = self.now()
        is_late = any(name == device and at > now for (name, _), at in self.late.items())
        return not (is_late or self.changed or self.hidden)

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(map(len, self.files.values()))

    def note_put(self, device: str, name: str) -> None:
        """Let the other devices see a new file later, each at its own time."""
        for other in self.devices:
            if other != device and self.delay and self.chance.random() < 0.3:
                self.late[other, name] = self.now() + self.delay * self.chance.random()

    def note_deletion(self, device: str, name: str, body: bytes) -> None:
        """Let the other devices see a file for some time after its deletion."""
        for other in self.devices:
            if other != device and self.delay and self.chance.random() < 0.3:
                self.deleted[other, name] = (self.now() + self.delay * self.chance.random(), body)


class CarrierView(OneByOne):
    """A carrier as one device sees it.

    Args:
        carrier: The carrier.
        device: The name of the device.
    """

    def __init__(self, carrier: YearCarrier, device: str) -> None:
        self._carrier = carrier
        self._device = device
        self.is_reachable = True
        self.is_full = False

    def names(self) -> AbstractSet[str]:
        """Return the names of the files that have arrived here."""
        self._reach("carrier.names")
        carrier, now = self._carrier, self._carrier.now()
        names = {
            name
            for name in carrier.files
            if not self._is_hidden(name) and carrier.late.get((self._device, name), now) <= now
        }
        stale = {
            name
            for (device, name), (until, _) in carrier.deleted.items()
            if device == self._device and until > now
        }
        return names | stale | carrier.changed.keys()

    def get(self, name: str) -> bytes | None:
        """Return a file, perhaps tampered with."""
        self._reach("carrier.get")
        carrier = self._carrier
        if name in carrier.changed:
            return carrier.changed[name]
        if self._is_hidden(name):
            return None
        body = carrier.files.get(name)
        stale = carrier.deleted.get((self._device, name))
        return stale[1] if body is None and stale is not None else body

    def put(self, name: str, body: bytes) -> None:
        """Write a file, unless it is there."""
        self._reach("carrier.put, before")
        if self.is_full:
            raise StorageUnavailableError("the disk of the carrier is full")
        if name not in self._carrier.files:
            self._carrier.files[name] = body
            self._carrier.note_put(self._device, name)
        self._reach("carrier.put, after")

    def delete(self, name: str) -> None:
        """Delete a file."""
        self._reach("carrier.delete, before")
        body = self._carrier.files.pop(name, None)
        if body is not None:
            self._carrier.note_deletion(self._device, name, body)
        self._carrier.deleted.pop((self._device, name), None)
        self._reach("carrier.delete, after")

    def _is_hidden(self, name: str) -> bool:
        return self._carrier.hidden.get(name, self._device) != self._device

    def _reach(self, step: str) -> None:
        if not self.is_reachable:
            raise StorageUnavailableError("the carrier cannot be reached")
        self._carrier.step(step)
