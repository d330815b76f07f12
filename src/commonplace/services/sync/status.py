"""What people see of sync: the devices, the last sync and its failure, and what waits."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.text import plural
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.erasures import ErasureStatus
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.syncing import SyncReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSync:
    """The last sync of a device with news.

    Attributes:
        at: When it ended.
        problems: What a person should look at.
    """

    at: datetime
    problems: Sequence[str]

    def to_json(self) -> bytes:
        """Return it as a JSON document."""
        return json.dumps({"at": format_timestamp(self.at), "problems": list(self.problems)}).encode()

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Return it from a JSON document."""
        values = json.loads(document)
        return cls(at=parse_timestamp(values["at"]), problems=values["problems"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncFailure:
    """Why this device does not sync.

    Attributes:
        since: When the first sync failed since the last one that worked.
        error: Why the latest sync failed, without passwords.
    """

    since: datetime
    error: str

    def to_json(self) -> bytes:
        """Return it as a JSON document."""
        return json.dumps({"since": format_timestamp(self.since), "error": self.error}).encode()

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Return it from a JSON document."""
        values = json.loads(document)
        return cls(since=parse_timestamp(values["since"]), error=values["error"])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStatus:
    """A device of the home, as this device knows it.

    Attributes:
        device: Its id.
        name: What a person calls it.
        is_this: Whether it is this device.
        departure: Why it writes nothing more; ``None`` for a member of the home.
        seen_at: When this device last learned of it or took a file of it; for this device, when it last synced.
            ``None`` if that is not known.
        number: The number of its latest file that was taken, or written.
        missing: The number of its files that another device has seen and this one has not taken yet.
    """

    device: str
    name: str
    is_this: bool
    departure: Departure | None
    seen_at: datetime | None
    number: int
    missing: int

    @property
    def is_member(self) -> bool:
        """Whether the device still belongs to the home."""
        return self.departure is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """The state of sync, for people.

    Attributes:
        target: Where the files are, without a password or token.
        device: The id of this device.
        devices: All devices of the home, this one too.
        is_waiting: Whether changes wait to be sent.
        unsent: The number of changes of this device that are in no file yet.
        outbox: The number of files that wait to be sent.
        unwritten: The number of memories that wait to be written here.
        erasures: How far the erasures are, on each device.
        notes: What a person should know until it changes, such as what the target could not delete for good.
        synced_at: When a sync last worked; ``None`` before the first.
        last: The last sync with news; ``None`` before the first.
        failure: Why syncs fail; ``None`` if the last one worked.
    """

    target: str
    device: str
    devices: Sequence[DeviceStatus]
    is_waiting: bool
    unsent: int
    outbox: int
    unwritten: int
    erasures: Sequence[ErasureStatus]
    notes: Sequence[str]
    synced_at: datetime | None
    last: LastSync | None
    failure: SyncFailure | None

    def names_of(self, devices: Collection[str]) -> list[str]:
        """Return the names of devices in order; a device that is not known has its id."""
        names = {each.device: each.name for each in self.devices}
        return sorted(names.get(each, each) for each in devices)


def device_statuses(
    devices: Sequence[KnownDevice],
    *,
    own: str,
    seen_at: Mapping[str, datetime],
    mentions: Mapping[str, int],
) -> list[DeviceStatus]:
    """Return the devices for people, this one first, then members, then those that left or were revoked.

    Args:
        devices: The devices.
        own: The id of this device.
        seen_at: When each device was last seen.
        mentions: The highest number of a file of each device that another device said it had taken.
    """
    statuses = [
        DeviceStatus(
            device=each.device,
            name=each.name,
            is_this=each.device == own,
            departure=each.departure,
            seen_at=seen_at.get(each.device),
            number=each.number,
            missing=max(0, mentions.get(each.device, 0) - each.number) if each.is_member else 0,
        )
        for each in devices
    ]
    return sorted(
        statuses, key=lambda each: (not each.is_this, not each.is_member, each.name.casefold(), each.device)
    )


def summary_of(report: SyncReport) -> str:
    """Return what a sync did, in one sentence; its problems are not part of it."""
    counts = [
        (report.own_changes, f"{plural(report.own_changes, 'change')} of this device"),
        (report.other_changes, f"{plural(report.other_changes, 'change')} of other devices"),
        (report.memories, f"{plural(report.memories, 'memory', 'memories')} changed here"),
        (report.files, f"{plural(report.files, 'file')} sent"),
    ]
    return ", ".join(text for count, text in counts if count) or "Nothing new."
