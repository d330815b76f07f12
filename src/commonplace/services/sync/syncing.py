"""One sync of a device: find changes here, take those of the others, write what they make, and send what was found.

Each step can be repeated, so a kill or a full disk between two of them loses nothing and does nothing twice.

Source: ADR 0040.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ConflictError, NotFoundError, StorageUnavailableError, SyncError
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.chains import ChainReader, Intake
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.erasures import Key, erasure_change
from commonplace.services.sync.home_keys import HomeKey
from commonplace.services.sync.introductions import introduction_name, write_introduction
from commonplace.services.sync.keys import DeviceKey
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.members import Members
from commonplace.services.sync.recording import ChangeRecorder
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.sending import MOST_CHANGES, SNAPSHOT_AFTER, Sender, SentFiles
from commonplace.services.sync.state import SyncState
from commonplace.services.sync.versions import HybridClock, joined, next_versions
from commonplace.services.sync.writing import MemoryWriter

_ERASURE_BYTES: Final = 16
_RESTORED: Final = (
    "this home was restored from a copy, for it has sent more files than it knows: join as a new device"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of a sync.

    Attributes:
        own_changes: The number of changes that were made on this device.
        other_changes: The number of new changes of other devices.
        memories: The number of memories that were written here.
        files: The number of files that were sent.
        problems: What a person should look at, such as a file that is missing.
    """

    own_changes: int = 0
    other_changes: int = 0
    memories: int = 0
    files: int = 0
    problems: Sequence[str] = ()

    @property
    def is_news(self) -> bool:
        """Whether anything changed here, at the carrier, or in a memory."""
        return bool(self.own_changes or self.other_changes or self.memories or self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """The sizes of the files of a device.

    Attributes:
        most_changes: The number of changes of one file, or of one part of a snapshot.
        snapshot_after: The number of changes in own files from which a snapshot is worth its size.
    """

    most_changes: int = MOST_CHANGES
    snapshot_after: int = SNAPSHOT_AFTER


class Syncing:
    """The sync of one device with one carrier.

    Args:
        state: The state of sync.
        carrier: Moves the files.
        replica: The memories of this device.
        home_key: The key of the home with which this device joined.
        device_key: The key of this device.
        clock: Returns the current time.
        limits: The sizes of files.
    """

    def __init__(
        self,
        state: SyncState,
        carrier: Carrier,
        replica: Replica,
        *,
        home_key: bytes,
        device_key: DeviceKey,
        clock: Clock = utc_now,
        limits: FileLimits | None = None,
    ) -> None:
        self._state = state
        self._carrier = carrier
        self._replica = replica
        self._device_key = device_key
        self._device = device_key.device
        self._members = Members(state, carrier, home_key, device_key)
        self._now = clock
        self._clock = HybridClock(self._device)
        self._limits = limits or FileLimits()

    @property
    def home_key(self) -> bytes:
        """The newest key of the home, to be wrapped with a new passphrase after a device was revoked."""
        return self._members.ring().current.key

    def introduce(self, name: str) -> None:
        """Tell the other devices of this one, by the name that a person calls it.

        Raises:
            StorageUnavailableError: The carrier cannot be written.
            SyncKeyError: The key is new, and the carrier does not have its document yet.
        """
        self._members.join(self._carrier.names())
        home_key = self._put_introduction(name)
        self._state.add_device(
            KnownDevice(
                device=self._device,
                name=name,
                public=self._device_key.public,
                exchange=self._device_key.exchange_public,
                key_id=home_key.id,
            )
        )

    def _put_introduction(self, name: str) -> HomeKey:
        """Put the introduction of this device to the carrier; return the key with which it is sealed."""
        home_key = self._members.ring().current
        body = write_introduction(name, home_key, self._device_key)
        self._carrier.put(introduction_name(self._device), body)
        return home_key

    async def run(self) -> SyncReport:
        """Sync once.

        Raises:
            StorageError: The carrier, the state or a memory cannot be used; what was done before stays done.
            SyncError: This device left, was revoked, or was restored from a copy.
        """
        async with self._state.locked():
            return await self._run()

    async def leave(self) -> None:
        """Sync a last time, and tell the other devices that this one writes nothing more.

        Raises:
            StorageError: As for :meth:`run`; call it again.
            SyncError: As for :meth:`run`.
        """
        async with self._state.locked():
            if self._own().departure is not Departure.LEFT:
                await self._run()
                self._sender().pack_last()
            await asyncio.to_thread(self._sender().flush)

    async def revoke(self, device: str) -> None:
        """Refuse what a lost device sends from now on, and give the other devices a new key of the home.

        Files of the lost device that this one has not taken yet are refused too: sync first, unless a thief may have
        written them.

        Args:
            device: The id of the device. If it was revoked before, the key is renewed once more.

        Raises:
            NotFoundError: No device has this id.
            ConflictError: It is this device.
            StorageError: The carrier or the state cannot be used; the next sync sends what this call could not.
            SyncError: As for :meth:`run`.
        """
        if device == self._device:
            raise ConflictError("device", "A device cannot revoke itself; let it leave.", device)
        async with self._state.locked():
            names = await asyncio.to_thread(self._carrier.names)
            await asyncio.to_thread(self._members.learn, names, lost=device)
            self._require_member()
            if self._state.device(device) is None:
                raise NotFoundError("device", device)
            self._members.revoke(device)
            await asyncio.to_thread(self._send, names)

    async def erase(self, keys: Collection[Key]) -> str:
        """Erase memories on this device and, with the next syncs, on every other one; return the id of the erasure.

        :meth:`SyncState.erasures` says which devices have done it.

        Raises:
            StorageError: The state or a memory cannot be used; the next sync goes on.
            SyncError: As for :meth:`run`.
        """
        async with self._state.locked():
            self._require_member()
            self._clock = HybridClock(self._device, self._state.latest_stamp())
            deletions = {key: next_versions(self._known_versions(key), self._device) for key in keys}
            name = secrets.token_hex(_ERASURE_BYTES)
            now = self._now()
            stamp = self._clock.tick(int(now.timestamp() * 1000))
            self._state.erase(erasure_change(name, deletions, stamp, now))
            await self._erase_texts()
        return name

    async def _run(self) -> SyncReport:
        self._require_member()
        self._clock = HybridClock(self._device, self._state.latest_stamp())
        problems = await self._erase_texts()
        writer, recorder = MemoryWriter(self._state, self._replica), self._recorder()
        own_changes = await recorder.record_all()
        left_over, _ = await writer.write_all()
        names, intake = await asyncio.to_thread(self._take)
        self._require_member()
        problems += await self._erase_texts()
        memories, conflicts = await writer.write_all()
        if left_over or memories:
            await recorder.note_contents()
        sent = await asyncio.to_thread(self._send, names)
        return SyncReport(
            own_changes=own_changes,
            other_changes=intake.count,
            memories=left_over + memories,
            files=sent.files,
            problems=[*problems, *intake.problems, *conflicts, *sent.problems],
        )

    def _recorder(self) -> ChangeRecorder:
        return ChangeRecorder(self._state, self._replica, self._clock, self._now)

    def _own(self) -> KnownDevice:
        own = self._state.device(self._device)
        if own is None:
            raise SyncError("this device has not joined a home: introduce it first")
        return own

    def _require_member(self) -> None:
        own = self._own()
        if own.departure is Departure.LEFT:
            raise SyncError("this device has left the home; to sync again, join as a new device")
        if own.departure is Departure.REVOKED:
            raise SyncError("another device has revoked this one; to sync again, join as a new device")
        if self._state.mentions().get(self._device, 0) > own.number:
            raise SyncError(_RESTORED)

    def _known_versions(self, key: Key) -> list[dict[str, int]]:
        heads = self._state.heads(key)
        return [joined([self._state.seen(key).versions, *(each.versions for each in heads)])]

    async def _erase_texts(self) -> list[str]:
        """Erase the texts that erasures name from the memories and the state; return what is left to do."""
        keys = self._state.erasing()
        if keys:
            await self._replica.erase(keys)
            self._state.finish_erasing(keys)
        try:
            await asyncio.to_thread(self._state.compact)
        except StorageUnavailableError as error:
            return [str(error)]
        return []

    def _take(self) -> tuple[AbstractSet[str], Intake]:
        """Take what the others have sent; return the names at the carrier, and what was taken."""
        before = {each.device: each.number for each in self._state.devices()}
        names = self._carrier.names()
        problems = self._members.learn(names)
        self._require_member()
        self._members.require_agreement(names)
        reader = ChainReader(self._state, self._carrier, self._members.ring(), self._device)
        if reader.has_newer_own_file(names):
            raise SyncError(_RESTORED)
        intake = reader.take_all(names)
        intake.problems[:0] = problems
        intake.problems += self._mend_target(names, reader)
        self._note_sightings(before)
        now = int(self._now().timestamp() * 1000)
        for change in intake.changes:
            self._clock.see(change.stamp, now)
        return names, intake

    def _mend_target(self, names: AbstractSet[str], reader: ChainReader) -> list[str]:
        """Put again what the target has lost of this device; return what it was."""
        problems: list[str] = []
        if introduction_name(self._device) not in names:
            self._put_introduction(self._own().name)
            problems.append("the target has lost the introduction of this device, which is there again")
        lost = reader.lost_own_files(names)
        if lost:
            self._state.ask_for_snapshot()
            numbers = ", ".join(map(str, lost))
            problems.append(f"the target has lost files of this device ({numbers}); a snapshot replaces them")
        return problems

    def _note_sightings(self, before: Mapping[str, int]) -> None:
        """Note that other devices were seen: those that are new, and those of which files were taken."""
        others = [each for each in self._state.devices() if each.device != self._device]
        new = [each.device for each in others if before.get(each.device) != each.number]
        if new:
            self._state.note_sightings(new, self._now())

    def _sender(self) -> Sender:
        return Sender(
            self._state,
            self._carrier,
            self._members.ring().current,
            self._device_key,
            most_changes=self._limits.most_changes,
            snapshot_after=self._limits.snapshot_after,
        )

    def _send(self, names: AbstractSet[str]) -> SentFiles:
        return self._sender().send(names)
