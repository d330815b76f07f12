"""Sync of a home: it joins a target, syncs with it, and can leave it.

A home belongs to one target. The state of a device is in the folder ``sync`` of the home; without it a home does not
sync.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from commonplace.core.clock import Clock, format_timestamp, parse_timestamp, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import ConflictError, NotFoundError, SyncError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.carriers.targets import SyncTarget, carrier_at
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import ErasureStatus, Key
from commonplace.services.sync.finding import has_expired
from commonplace.services.sync.keys import (
    DeviceKey,
    new_home_key,
    require_passphrase,
    unwrapped,
    wrapped,
)
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.replicas.home import HomeReplica
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.syncing import Syncing, SyncReport
from commonplace.storage.backup.copies import SYNC

FOLDER: Final = SYNC
"""The folder of a home with all that a device keeps of sync."""

HOME_KEY_FILE: Final = "home.key"
"""The file at a target with the key of the home, which the passphrase opens."""

JOINING: Final = "sync.joining"
"""The folder until the device has introduced itself; a kill leaves it behind, and the next try deletes it."""

FEW: Final = 20
"""So many memories may be gone since the last sync without a question."""

_TARGET: Final = "target"
_TOKEN_FILE: Final = "token file"  # noqa: S105 - a name
_HOME_KEY: Final = "home key"
_DEVICE_KEY: Final = "device key"
_LAST: Final = "last sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSync:
    """The last sync of a device.

    Attributes:
        at: When it ended.
        problems: What a person should look at.
    """

    at: datetime
    problems: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """The state of sync, for people.

    Attributes:
        target: Where the files are.
        device: The id of this device.
        devices: All devices of the home, this one too.
        is_waiting: Whether changes wait to be sent.
        unwritten: The number of memories that wait to be written here.
        erasures: How far the erasures are, on each device.
        last: The last sync with news; ``None`` before the first.
    """

    target: str
    device: str
    devices: Sequence[KnownDevice]
    is_waiting: bool
    unwritten: int
    erasures: Sequence[ErasureStatus]
    last: LastSync | None


def is_synced(home: Path) -> bool:
    """Return whether a home belongs to a target."""
    return (home / FOLDER / FILE).exists()


async def create_home(settings: Settings, target: SyncTarget, *, passphrase: str, name: str) -> None:
    """Make a target the place of this home.

    Args:
        settings: Those of the home.
        target: An empty folder, repository or service.
        passphrase: Opens the home at the target; at least 12 characters.
        name: What a person calls this device.

    Raises:
        ConflictError: The home belongs to a target, or the target has a home.
        InvalidInputError: The passphrase is too short, or the target is none.
        StorageUnavailableError: The target cannot be used.
    """
    require_passphrase(passphrase)
    carrier = _carrier_of_new(settings.home, target)
    if HOME_KEY_FILE in await asyncio.to_thread(carrier.names):
        message = f"There is a home at {target.address}. Join it with `commonplace sync join`."
        raise ConflictError("target", message, target.address)
    home_key = new_home_key()
    document = await asyncio.to_thread(wrapped, home_key, passphrase)
    await asyncio.to_thread(carrier.put, HOME_KEY_FILE, document)
    await _begin(settings.home, target, carrier, home_key, name)


async def join_home(settings: Settings, target: SyncTarget, *, passphrase: str, name: str) -> None:
    """Make this home one of the devices of the home at a target; for arguments and errors see :func:`create_home`.

    Raises:
        NotFoundError: There is no home at the target.
        SyncFileError: Its key cannot be read.
    """
    carrier = _carrier_of_new(settings.home, target)
    document = await asyncio.to_thread(carrier.get, HOME_KEY_FILE)
    if document is None:
        raise NotFoundError("home", target.address)
    home_key = await asyncio.to_thread(unwrapped, document, passphrase)
    await _begin(settings.home, target, carrier, home_key, name)


def _carrier_of_new(home: Path, target: SyncTarget) -> Carrier:
    """Return the carrier of a target for a home that does not sync yet."""
    if is_synced(home):
        message = "This home syncs already. `commonplace sync status` says with what; `commonplace sync leave` ends it."
        raise ConflictError("target", message, str(home))
    shutil.rmtree(home / JOINING, ignore_errors=True)
    return carrier_at(target, home / JOINING)


async def _begin(home: Path, target: SyncTarget, carrier: Carrier, home_key: bytes, name: str) -> None:
    """Introduce this device. The home syncs once all of its state is there."""
    device_key = DeviceKey.new()
    make_directories(home / JOINING)
    with closing(SyncState(home / JOINING / FILE)) as state:
        state.keep_own(
            {
                _TARGET: target.address.encode(),
                _TOKEN_FILE: str(target.token_file or "").encode(),
                _HOME_KEY: home_key,
                _DEVICE_KEY: device_key.raw,
            }
        )
        syncing = Syncing(state, carrier, _Nothing(), home_key=home_key, device_key=device_key)
        await asyncio.to_thread(syncing.introduce, name)
    (home / JOINING).rename(home / FOLDER)


class SyncedHome:
    """A home that belongs to a target. Use :meth:`open`.

    Args:
        settings: Those of the home.
        state: What the device keeps.
        clock: Returns the current time.
    """

    def __init__(self, settings: Settings, state: SyncState, *, clock: Clock = utc_now) -> None:
        self._settings = settings
        self._state = state
        self._clock = clock
        self._device_key = DeviceKey.from_bytes(self._own(_DEVICE_KEY))
        token_file = self._own(_TOKEN_FILE).decode()
        self._target = SyncTarget(
            address=self._own(_TARGET).decode(), token_file=Path(token_file) if token_file else None
        )

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, clock: Clock = utc_now) -> AsyncGenerator[Self]:
        """Open what the device keeps, and close it at the end of the block.

        Raises:
            SyncError: The home does not sync.
            StorageUnavailableError: The state cannot be used.
        """
        if not is_synced(settings.home):
            raise SyncError(
                "this home does not sync: begin with `commonplace sync init` or `commonplace sync join`"
            )
        with closing(SyncState(settings.home / FOLDER / FILE)) as state:
            yield cls(settings, state, clock=clock)

    def status(self) -> SyncStatus:
        """Return what a person sees of sync, without a look at the target."""
        last = self._state.own(_LAST)
        return SyncStatus(
            target=self._target.address,
            device=self._device_key.device,
            devices=self._state.devices(),
            is_waiting=bool(self._state.unsent(1) or self._state.outbox()),
            unwritten=len(self._state.pending()),
            erasures=self._state.erasures(),
            last=_last_of(last) if last else None,
        )

    async def count_files(self) -> int:
        """Return the number of files at the target.

        Raises:
            StorageUnavailableError: The target cannot be reached.
        """
        return len(await asyncio.to_thread(self._carrier().names))

    async def sync(
        self,
        *,
        deletes_many: bool = False,
        knowledge: KnowledgeMemory | None = None,
    ) -> SyncReport:
        """Sync once; two syncs of a home run one after the other.

        Args:
            deletes_many: Whether to sync though most memories are gone since the last sync.
            knowledge: Open knowledge memory to use.

        Raises:
            SyncError: Most memories are gone since the last sync.
            StorageError: The target, the state or a memory cannot be used; what was done before stays done.
        """
        async with self._reading(knowledge, deletes_many=deletes_many) as replica:
            report = await self._syncing(replica).run()
        last = {"at": format_timestamp(self._clock()), "problems": list(report.problems)}
        if report.is_news or list(report.problems) != self._last_problems():
            self._state.keep_own({_LAST: json.dumps(last).encode()})
        return report

    async def leave(self, *, only_here: bool = False) -> None:
        """Sync a last time, tell the other devices, and forget that the home syncs; all memories stay.

        Args:
            only_here: Whether to forget it without a last sync, as when the target is lost.

        Raises:
            StorageError: The target, the state or a memory cannot be used; the home still syncs.
        """
        if not only_here:
            async with self._reading() as replica:
                await self._syncing(replica).leave()
        self._state.close()
        forget_sync(self._settings.home)

    async def revoke(self, device: str, *, passphrase: str) -> KnownDevice:
        """Refuse what a lost device writes from now on, and change the key and the passphrase of the home.

        Args:
            device: Its id, or its name.
            passphrase: The new passphrase, with which devices join from now on.

        Raises:
            NotFoundError: There is no such device.
            ConflictError: Several devices have the name, or it is this one.
            InvalidInputError: The passphrase is too short.
            StorageError: The target or the state cannot be used; call it again.
        """
        require_passphrase(passphrase)
        matches = [each for each in self._state.devices() if device in {each.device, each.name}]
        matches = [each for each in matches if each.is_member] or matches
        if not matches:
            raise NotFoundError("device", device)
        if len(matches) > 1:
            several = ", ".join(each.device for each in matches)
            raise ConflictError("device", f"Several devices have this name. Give an id: {several}.", device)
        syncing = self._syncing(_Nothing())
        await syncing.revoke(matches[0].device)
        document = await asyncio.to_thread(wrapped, syncing.home_key, passphrase)
        carrier = self._carrier()
        await asyncio.to_thread(carrier.delete, HOME_KEY_FILE)
        await asyncio.to_thread(carrier.put, HOME_KEY_FILE, document)
        return matches[0]

    async def erase(self, keys: Collection[Key]) -> None:
        """Have every device erase memories that were erased here, with the next syncs.

        Raises:
            StorageError: The state cannot be used, or another process reads its file, so that it still has the texts;
                the next sync goes on.
        """
        await self._syncing(_Nothing()).erase(keys)
        await asyncio.to_thread(self._state.compact)

    @asynccontextmanager
    async def _reading(
        self, knowledge: KnowledgeMemory | None = None, *, deletes_many: bool = False
    ) -> AsyncGenerator[Replica]:
        """Open the memories of the home."""
        async with AsyncExitStack() as stack:
            opened = await OpenedMemories.open(
                stack, self._settings, knowledge=knowledge, besides=("workspace",)
            )
            replica: Replica = HomeReplica(opened, self._settings)
            yield replica if deletes_many else _Guarded(replica, self._state, self._clock)

    def _syncing(self, replica: Replica) -> Syncing:
        return Syncing(
            self._state,
            self._carrier(),
            replica,
            home_key=self._own(_HOME_KEY),
            device_key=self._device_key,
            clock=self._clock,
        )

    def _carrier(self) -> Carrier:
        return carrier_at(self._target, self._settings.home / FOLDER)

    def _own(self, name: str) -> bytes:
        value = self._state.own(name)
        if value is None:
            raise SyncError(
                f"the {name} of this home is missing: leave with `commonplace sync leave`, and join again"
            )
        return value

    def _last_problems(self) -> list[str] | None:
        last = self._state.own(_LAST)
        return list(_last_of(last).problems) if last else None


def forget_sync(home: Path) -> None:
    """Forget that a home syncs, as a restore does; it can join again as another device."""
    shutil.rmtree(home / FOLDER, ignore_errors=True)


def _last_of(document: bytes) -> LastSync:
    values = json.loads(document)
    return LastSync(at=parse_timestamp(values["at"]), problems=values["problems"])


class _Nothing:
    """The replica of a device that only speaks of itself."""

    async def read(self) -> Mapping[Key, Fields]:
        """Return nothing."""
        return {}

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Do nothing: a write needs nothing else."""

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Do nothing."""
        del key, fields, others
        return seen

    async def erase(self, keys: Collection[Key]) -> None:
        """Do nothing."""


class _Guarded:
    """A replica that does not tell others that most memories are gone: their database may be another one."""

    def __init__(self, replica: Replica, state: SyncState, clock: Clock) -> None:
        self._replica = replica
        self._state = state
        self._clock = clock

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Get the memories ready."""
        await self._replica.prepare(writes)

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory."""
        return await self._replica.write(key, fields, seen=seen, others=others)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories."""
        await self._replica.erase(keys)

    async def read(self) -> Mapping[Key, Fields]:
        """Return the memories.

        Raises:
            SyncError: Most memories are gone since the last sync.
        """
        rows = await self._replica.read()
        now = self._clock()
        before = [
            key
            for key, fields in self._state.seen_fields().items()
            if fields is not None and not has_expired(fields, now)
        ]
        missing = sum(key not in rows for key in before)
        if missing > FEW and missing > len(before) / 2:
            raise SyncError(
                f"{missing:,} of {len(before):,} memories are gone here since the last sync, so nothing was synced. "
                "If you deleted them, run `commonplace sync --delete-many`. If their database was lost, "
                "`commonplace sync leave --here` and `commonplace sync join` bring them back"
            )
        return rows
