"""Taking the files of other devices: each chain as far as it is whole, from its newest snapshot on.

A snapshot holds every change that its writer knew, of all devices, so a device that takes it has all that the files
before it held. Those files may be gone.

Source: ADR 0040.
"""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from commonplace.core.errors import SyncFileError, SyncKeyError, SyncReleaseError
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.changes import Change
from commonplace.services.sync.device_files import (
    SNAPSHOT,
    Departure,
    DeviceFile,
    FileName,
    FilePlace,
    digest_of,
    parse_name,
    read_file,
)
from commonplace.services.sync.home_keys import KeyRing
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.state import SyncState


@dataclass(slots=True)
class Intake:
    """The result of taking files.

    Attributes:
        count: The number of changes that are new here.
        changes: All changes of the files, for the clock.
        problems: What a person should look at.
    """

    count: int = 0
    changes: list[Change] = field(default_factory=list[Change])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class ChainReader:
    """Reads the chains of other devices, and takes them into the state.

    Args:
        state: The state of sync.
        carrier: Moves the files.
        ring: The keys of the home.
        own: The id of this device.
        doubles: Problems of files that claim the place of a good one.
    """

    state: SyncState
    carrier: Carrier
    ring: KeyRing
    own: str
    doubles: list[str] = field(default_factory=list[str])

    def take_all(self, names: AbstractSet[str]) -> Intake:
        """Take the files of all other members of the home.

        Args:
            names: The names of all files at the carrier.
        """
        intake = Intake()
        by_device: dict[str, list[FileName]] = {}
        for each in filter(None, map(parse_name, sorted(names))):
            by_device.setdefault(each.device, []).append(each)
        for device in [each.device for each in self.state.devices() if each.device != self.own]:
            self._take_chain(device, by_device.get(device, []), intake)
        intake.problems += [*self.doubles, *self._unseen_files()]
        return intake

    def has_newer_own_file(self, names: AbstractSet[str]) -> bool:
        """Return whether the carrier has a file that this device signed after its latest one: its state is a copy."""
        own = self.state.device(self.own)
        files = [each for each in map(parse_name, sorted(names)) if each and each.device == self.own]
        if own is None:
            return False
        next_place = FilePlace(device=self.own, number=own.number + 1, previous=own.digest)
        snapshots = [
            FilePlace(device=self.own, number=each.number, previous=SNAPSHOT)
            for each in files
            if each.is_snapshot and each.number > own.number
        ]
        return any(self._is_there(place, files, own) for place in (next_place, *snapshots))

    def lost_own_files(self, names: AbstractSet[str]) -> list[int]:
        """Return the numbers of the files of this device that the carrier has lost and that no snapshot replaces."""
        own = self.state.device(self.own)
        if own is None:
            return []
        there = {each.number for each in map(parse_name, names) if each and each.device == self.own}
        there |= {each.number for each in self.state.outbox() if each.number is not None}
        return sorted({*range(max(1, self.state.snapshot_start()), own.number + 1)} - there)

    def _is_there(self, place: FilePlace, files: Iterable[FileName], device: KnownDevice) -> bool:
        try:
            self._read(place, files, device)
        except SyncFileError:
            return False
        return True

    def _take_chain(self, device: str, files: Iterable[FileName], intake: Intake) -> None:
        member = self.state.device(device)
        if member is None or not member.is_member:
            return
        later = [each for each in files if each.number > member.number]
        starts = {each.number for each in later if each.is_snapshot}
        reason = ""
        for start in sorted(starts, reverse=True):
            try:
                member = self._take_snapshot(member, start, later, intake)
                break
            except SyncFileError as error:
                reason = reason or f"{member.name}: {error}"
        while member.is_member and member.number + 1 in {each.number for each in later}:
            try:
                member = self._take_next(member, later, intake)
            except SyncFileError as error:
                reason = f"{member.name}: {error}"
                break
        if member.is_member and any(each.number > member.number for each in later):
            intake.problems.append(reason or f"{member.name}: its file {member.number + 1} is missing")

    def _take_snapshot(
        self, device: KnownDevice, start: int, files: Iterable[FileName], intake: Intake
    ) -> KnownDevice:
        """Take a snapshot if all of its parts are there."""
        place = FilePlace(device=device.device, number=start, previous=SNAPSHOT)
        body, file = self._read(place, files, device)
        parts = [file]
        if file.part is None or file.part.place != 0:
            raise SyncFileError(f"its file {start} is no beginning of a snapshot")
        for index in range(1, file.part.total):
            place = FilePlace(device=device.device, number=start + index, previous=digest_of(body))
            body, file = self._read(place, files, device)
            parts.append(file)
        return self._take(replace(device, number=place.number, digest=digest_of(body)), parts, intake)

    def _take_next(self, device: KnownDevice, files: Iterable[FileName], intake: Intake) -> KnownDevice:
        place = FilePlace(device=device.device, number=device.number + 1, previous=device.digest)
        body, file = self._read(place, files, device)
        return self._take(replace(device, number=place.number, digest=digest_of(body)), [file], intake)

    def _take(self, device: KnownDevice, files: list[DeviceFile], intake: Intake) -> KnownDevice:
        intake.count += self.state.take(device, files, own=self.own)
        intake.changes += [change for file in files for change in file.changes]
        return replace(device, departure=Departure.LEFT) if files[-1].is_last else device

    def _read(
        self, place: FilePlace, files: Iterable[FileName], device: KnownDevice
    ) -> tuple[bytes, DeviceFile]:
        """Return the file of a place; another one of the same number may be forged.

        Raises:
            SyncFileError: There is no good file for this place.
        """
        errors: list[Exception] = []
        good: tuple[bytes, DeviceFile] | None = None
        for name in files:
            if name.number != place.number:
                continue
            body = self.carrier.get(str(name))
            if body is None:
                continue
            try:
                good = body, read_file(body, place, self.ring, device.public)
            except SyncFileError as error:
                errors.append(error)
        if good is None:
            raise SyncFileError(f"its file {place.number} {_state_of(errors)}")
        if errors:
            self.doubles.append(f"{device.name}: a second file {place.number} {_state_of(errors)}")
        return good

    def _unseen_files(self) -> list[str]:
        """Return the files that another device has taken and this one has not, and the devices that are not known."""
        mentions, devices = self.state.mentions(), self.state.devices()
        missing = [
            f"{each.name}: its file {mentions[each.device]} is missing, but another device has seen it"
            for each in devices
            if each.device != self.own and each.is_member and mentions.get(each.device, 0) > each.number
        ]
        unknown = sorted(mentions.keys() - {each.device for each in devices})
        return missing + [
            f"{device}: its introduction is missing, but another device has its files" for device in unknown
        ]


def _state_of(errors: Collection[Exception]) -> str:
    """Return what is the matter with a place, from the errors of the files that claim it."""
    if not errors:
        return "is missing"
    if any(isinstance(each, SyncReleaseError) for each in errors):
        return "was written by a later release; update commonplace on this device"
    if any(isinstance(each, SyncKeyError) for each in errors):
        return "is sealed with a new key of the home that has not arrived yet"
    return "is forged or damaged"
