"""Sending the changes of this device: files of its chain, snapshots that stand for older files, and their deletion.

Source: ADR 0040.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.changes import Change
from commonplace.services.sync.device_files import (
    SNAPSHOT,
    Departure,
    DeviceFile,
    FilePlace,
    SnapshotPart,
    digest_of,
    name_of,
    parse_name,
    write_file,
)
from commonplace.services.sync.home_keys import HomeKey
from commonplace.services.sync.keys import DeviceKey
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.state import OutboxFile, SyncState

MOST_CHANGES: Final = 5_000
"""The number of changes of one file, or of one part of a snapshot."""

MOST_CHARS: Final = 8_000_000
"""The number of characters of these changes, unless a single one is longer."""

SNAPSHOT_AFTER: Final = 1_000
"""The number of changes in own files from which a snapshot is worth its size."""


LEFT_OVER: Final = "left over"
"""The name of the value of this device that says what the carrier could not delete for good."""


class SentFiles(NamedTuple):
    """The result of sending: the number of files, and what a person should look at."""

    files: int
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Sender:
    """Writes the chain of this device.

    Args:
        state: The state of sync.
        carrier: Moves the files.
        home_key: The newest key of the home.
        device_key: The key of this device.
        most_changes: The number of changes of one file.
        snapshot_after: The number of changes in own files from which a snapshot is worth its size.
    """

    state: SyncState
    carrier: Carrier
    home_key: HomeKey
    device_key: DeviceKey
    most_changes: int = MOST_CHANGES
    snapshot_after: int = SNAPSHOT_AFTER

    def send(self, names: AbstractSet[str]) -> SentFiles:
        """Pack what is not in a file yet, send all files that the carrier does not have, and delete older ones.

        Args:
            names: The names of all files at the carrier.
        """
        if self.state.is_snapshot_due(self.snapshot_after):
            self._pack_snapshot()
        while changes := self._next_changes():
            self._pack(changes)
        if self.state.is_snapshot_due(self.snapshot_after):
            self._pack_snapshot()
        count = self.flush()
        problem = self._clean(names)
        return SentFiles(count, [problem] if problem else [])

    def pack_last(self) -> None:
        """Pack the file with which this device leaves the home."""
        self._pack([], is_last=True)

    def flush(self) -> int:
        """Send all files that the carrier does not have; return their number."""
        files = self.state.outbox()
        if files:
            self.carrier.put_all({each.name: each.body for each in files})
            self.state.sent([each.name for each in files])
        return len(files)

    def _next_changes(self) -> list[Change]:
        """Return the unsent changes of the next file."""
        changes = self.state.unsent(self.most_changes)
        return next(self._chunks(changes), list[Change]())

    def _chunks(self, changes: Sequence[Change]) -> Iterator[list[Change]]:
        """Yield changes in the groups of one file each."""
        chunk: list[Change] = []
        chars = 0
        for each in changes:
            length = len(each.to_json())
            if chunk and (len(chunk) == self.most_changes or chars + length > MOST_CHARS):
                yield chunk
                chunk, chars = [], 0
            chunk.append(each)
            chars += length
        if chunk:
            yield chunk

    def _pack(self, changes: Sequence[Change], *, is_last: bool = False) -> None:
        own, others = self._devices()
        place = FilePlace(device=own.device, number=own.number + 1, previous=own.digest)
        file = DeviceFile(
            changes=changes,
            heads={each.device: each.head for each in others if each.number},
            departures=_departures(others),
            is_last=is_last,
        )
        body = write_file(file, place, self.home_key, self.device_key)
        own = replace(
            own,
            number=place.number,
            digest=digest_of(body),
            departure=Departure.LEFT if is_last else None,
        )
        self.state.pack(own, OutboxFile(place.number, name_of(place, body), body), count=len(changes))

    def _pack_snapshot(self) -> None:
        own, others = self._devices()
        chunks = list(self._chunks([Change.from_json(line) for line in self.state.all_heads()])) or [[]]
        files: list[OutboxFile] = []
        first = own.number + 1
        for index, changes in enumerate(chunks):
            previous = own.digest if index else SNAPSHOT
            place = FilePlace(device=own.device, number=first + index, previous=previous)
            file = DeviceFile(
                changes=changes,
                heads={each.device: each.head for each in others if each.number},
                departures=_departures(others),
                receipts=self.state.receipts(own.device),
                part=SnapshotPart(index, len(chunks)),
            )
            body = write_file(file, place, self.home_key, self.device_key)
            own = replace(own, number=place.number, digest=digest_of(body))
            files.append(OutboxFile(place.number, name_of(place, body), body))
        self.state.pack_snapshot(own, files, first=first)

    def _devices(self) -> tuple[KnownDevice, list[KnownDevice]]:
        devices = {each.device: each for each in self.state.devices()}
        own = devices.pop(self.device_key.device)
        return own, list(devices.values())

    def _clean(self, names: AbstractSet[str]) -> str | None:
        """Delete own files before the latest snapshot, files that all refuse, and files that all members have taken.

        Return a new problem with that; an old one only if what was erased is among the files.
        """
        start = self.state.snapshot_start()
        own, others = self._devices()
        members = {each.device for each in others if each.is_member}
        receipts = self.state.receipts(own.device)
        over = {
            each.device
            for each in others
            if each.departure is Departure.REVOKED or members <= receipts.get(each.device, frozenset[str]())
        } - members
        old = [
            name
            for name in sorted(names)
            if (file := parse_name(name))
            and (file.device in over or (file.device == own.device and file.number < start))
        ]
        problem = self.carrier.delete_all(old) if old else None
        is_known = receipts == self.state.receipts() and self.state.own(LEFT_OVER) == (problem or "").encode()
        if old:
            self.state.keep_own({LEFT_OVER: (problem or "").encode()})
        self.state.sign_receipts(own.device)
        return None if is_known else problem


def _departures(devices: Sequence[KnownDevice]) -> dict[str, Departure]:
    return {each.device: each.departure for each in devices if each.departure is not None}
