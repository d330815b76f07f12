"""One sync of a device: find changes here, take those of the others, write what they make, and send what was found.

Each step can be repeated, so a kill or a full disk between two of them loses nothing and does nothing twice.

Source: ADR 0040.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ConflictError, SyncFileError
from commonplace.core.request_context import request_context
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.device_files import (
    DeviceFile,
    FilePlace,
    digest_of,
    name_of,
    parse_name,
    read_file,
    write_file,
)
from commonplace.services.sync.finding import SeenMemory, found_change, shown_fields
from commonplace.services.sync.keys import NONCE_BYTES, DeviceKey, device_of
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import Merged, merged
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.state import Key, KnownDevice, SyncState
from commonplace.services.sync.versions import HybridClock, joined

DEVICES: Final = "devices"
ACTOR: Final = "sync"
"""The actor of what sync writes, with the name of the device from which it came."""

MOST_CHANGES: Final = 5_000
"""The number of changes of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did.

    Attributes:
        found: The number of changes of this device that were found.
        taken: The number of changes of other devices that were taken.
        written: The number of memories that were written here.
        sent: The number of files that were sent.
        problems: What a person should look at, such as a file that is missing.
    """

    found: int = 0
    taken: int = 0
    written: int = 0
    sent: int = 0
    problems: Sequence[str] = ()

    @property
    def is_news(self) -> bool:
        """Whether anything was found, taken, written or sent."""
        return bool(self.found or self.taken or self.written or self.sent)


class Syncing:
    """The sync of one device with one carrier.

    Args:
        state: The state of sync; see :meth:`begin`.
        carrier: Moves the files.
        replica: The memories of this device.
        home_key: The key of the home.
        device_key: The key of this device.
        clock: Returns the current time.
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
    ) -> None:
        self._state = state
        self._carrier = carrier
        self._replica = replica
        self._home_key = home_key
        self._device_key = device_key
        self._device = device_key.device
        self._now = clock
        self._clock = HybridClock(self._device, state.latest_stamp())

    def introduce(self, name: str) -> None:
        """Tell the other devices of this one, by the name that a person calls it.

        Raises:
            StorageUnavailableError: The carrier cannot be written.
        """
        nonce = os.urandom(NONCE_BYTES)
        document = json.dumps({"name": name, "public": self._device_key.public.hex()}).encode()
        body = nonce + AESGCM(self._home_key).encrypt(nonce, document, self._device.encode())
        self._carrier.put(f"{DEVICES}/{self._device}", body)
        self._state.add_device(KnownDevice(device=self._device, name=name, public=self._device_key.public))

    async def run(self) -> SyncReport:
        """Sync once.

        Raises:
            StorageError: The carrier, the state or a memory cannot be used; what was done before stays done.
        """
        _, problems = await self._write()
        found = await self._find()
        taken, told = await asyncio.to_thread(self._take)
        written, kept = await self._write()
        sent = await asyncio.to_thread(self._send)
        return SyncReport(
            found=found, taken=taken, written=written, sent=sent, problems=[*problems, *told, *kept]
        )

    async def _find(self) -> int:
        """Record what is different from what was last seen."""
        shown, seen = await self._replica.read(), self._state.seen()
        waiting = set(self._state.pending())
        changes: list[Change] = []
        for key in sorted({*shown, *seen}):
            before, now = seen.get(key, SeenMemory()), shown.get(key)
            if now == before.fields or (key in waiting and now == self._merged(key).fields):
                continue  # The second: it was written just before a kill.
            stamp = self._clock.tick(int(self._now().timestamp() * 1000))
            changes.append(found_change(*key, now, before, stamp))
        noted = {
            (each.kind, each.name): SeenMemory(
                fields=shown.get((each.kind, each.name)), told=each.fields, versions=each.versions
            )
            for each in changes
        }
        if changes:
            self._state.record(changes, noted)
        return len(changes)

    def _merged(self, key: Key) -> SeenMemory:
        """Return what the known changes of a memory make."""
        heads = self._state.heads(key)
        return _seen_of(key, heads, merged(heads) if heads else None)

    def _take(self) -> tuple[int, list[str]]:
        """Take the files of all other devices, each chain as far as it is whole; return the changes and problems."""
        names = self._carrier.names()
        problems = self._meet(names)
        heads: dict[str, int] = {}
        taken = 0
        for device in self._state.devices():
            if device.device != self._device:
                count, told = self._take_chain(device, names, heads)
                taken += count
                problems += told
        numbers = {each.device: each.number for each in self._state.devices()}
        problems += [
            f"{device}: its file {number} is missing, but another device has seen it"
            for device, number in sorted(heads.items())
            if number > numbers.get(device, 0) and device != self._device
        ]
        return taken, problems

    def _meet(self, names: AbstractSet[str]) -> list[str]:
        """Note the devices that have introduced themselves; return what is wrong with an introduction."""
        known = {each.device for each in self._state.devices()}
        problems: list[str] = []
        for name in sorted(names):
            folder, _, device = name.partition("/")
            if folder != DEVICES or device in known:
                continue
            try:
                self._state.add_device(self._introduced(device, self._carrier.get(name) or b""))
            except SyncFileError as error:
                problems.append(str(error))
        return problems

    def _introduced(self, device: str, body: bytes) -> KnownDevice:
        try:
            text = AESGCM(self._home_key).decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], device.encode())
            document = json.loads(text)
            name, public = str(document["name"]), bytes.fromhex(document["public"])
        except (InvalidTag, ValueError, KeyError, TypeError) as error:
            raise SyncFileError(f"{device}: its introduction is forged or damaged") from error
        if device_of(public) != device:
            raise SyncFileError(f"{device}: its introduction is that of another device")
        return KnownDevice(device=device, name=name, public=public)

    def _take_chain(
        self, device: KnownDevice, names: AbstractSet[str], heads: dict[str, int]
    ) -> tuple[int, list[str]]:
        """Take the files that follow the last one that was taken; note in ``heads`` what their writer had seen."""
        by_number: dict[int, list[str]] = {}
        for name in sorted(names):
            parsed = parse_name(name)
            if parsed and parsed[0] == device.device and parsed[1] > device.number:
                by_number.setdefault(parsed[1], []).append(name)
        taken = 0
        while (number := device.number + 1) in by_number:
            place = FilePlace(device=device.device, number=number, previous=device.digest)
            whole = next(filter(None, (self._read(name, place, device) for name in by_number[number])), None)
            if whole is None:
                return taken, [f"{device.name}: its file {number} is forged or damaged"]
            body, file = whole
            device = replace(device, number=number, digest=digest_of(body))
            self._state.take(device, file.changes)
            taken += len(file.changes)
            for other, seen in file.heads.items():
                heads[other] = max(seen, heads.get(other, 0))
            for change in file.changes:
                self._clock.see(change.stamp, int(self._now().timestamp() * 1000))
        if by_number and max(by_number) > device.number:
            return taken, [f"{device.name}: its file {device.number + 1} is missing"]
        return taken, []

    def _read(self, name: str, place: FilePlace, device: KnownDevice) -> tuple[bytes, DeviceFile] | None:
        """Return a file, or ``None`` if this is not the one of its place."""
        body = self._carrier.get(name) or b""
        try:
            return body, read_file(body, place, self._home_key, device.public)
        except SyncFileError:
            return None

    async def _write(self) -> tuple[int, list[str]]:
        """Write the memories that changes of other devices have touched; what changed here meanwhile waits.

        A memory may wait for another one that it names, so they are written in the order of their kinds, deletions
        last, and again as long as this gets further.
        """
        seen = self._state.seen()
        waiting = [self._pending_write(key, seen.get(key, SeenMemory())) for key in self._state.pending()]
        waiting.sort(key=lambda each: each.place)
        count = 0
        while waiting:
            left: list[tuple[_PendingWrite, str]] = []
            for each in waiting:
                try:
                    count += await self._write_one(each)
                except ConflictError as error:
                    left.append((each, str(error)))
            if len(left) == len(waiting):
                return count, [problem for _, problem in left]
            waiting = [each for each, _ in left]
        return count, []

    def _pending_write(self, key: Key, before: SeenMemory) -> "_PendingWrite":
        heads = self._state.heads(key)
        state = merged(heads)
        others = [shown_fields(key[0], each.fields) for each in state.others if each.fields is not None]
        return _PendingWrite(
            key=key, made=_seen_of(key, heads, state), before=before, others=others, by=state.by.stamp.device
        )

    async def _write_one(self, each: "_PendingWrite") -> bool:
        """Write a memory, in the name of the device whose change holds; return whether it had to be written."""
        if each.made.fields == each.before.fields and not each.others:
            self._state.written({each.key: each.made})
            return False
        with self._acting_for(each.by):
            now = await self._replica.write(
                each.key, each.made.fields, seen=each.before.fields, others=each.others
            )
        self._state.written({each.key: replace(each.made, fields=now)})
        return now != each.before.fields

    def _acting_for(self, device: str) -> AbstractContextManager[object]:
        names = {each.device: each.name for each in self._state.devices()}
        return request_context(actor=f"{ACTOR}:{names.get(device, device)}")

    def _send(self) -> int:
        """Pack what was found in files, and send all files that the carrier does not have."""
        while changes := self._state.unsent():
            part = changes[:MOST_CHANGES]
            devices = {each.device: each for each in self._state.devices()}
            own = devices.pop(self._device)
            place = FilePlace(device=self._device, number=own.number + 1, previous=own.digest)
            heads = {each.device: each.number for each in devices.values() if each.number}
            body = write_file(DeviceFile(changes=part, heads=heads), place, self._home_key, self._device_key)
            own = replace(own, number=place.number, digest=digest_of(body))
            self._state.pack(own, name_of(place, body), body, count=len(part))
        files = self._state.outbox()
        for number, name, body in files:
            self._carrier.put(name, body)
            self._state.sent(number)
        return len(files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingWrite:
    """A memory that waits to be written here.

    Attributes:
        made: What the known changes make of it.
        before: How it was last seen.
        others: The fields of changes that lost.
        by: The device whose change holds.
    """

    key: Key
    made: SeenMemory
    before: SeenMemory
    others: Sequence[Fields]
    by: str

    @property
    def place(self) -> tuple[bool, int, str]:
        """The place in the order of writing."""
        kind, name = self.key
        return (self.made.fields is None, _ORDER.index(kind), name)


_ORDER: Final = list(SyncKind)


def _seen_of(key: Key, heads: Sequence[Change], state: Merged | None) -> SeenMemory:
    """Return a memory as it is seen once its state is written."""
    told = state.fields if state else None
    fields = None if told is None else shown_fields(key[0], told)
    return SeenMemory(fields=fields, told=told, versions=joined(each.versions for each in heads))
