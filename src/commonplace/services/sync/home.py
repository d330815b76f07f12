"""Sync of a home: it joins a target, syncs with it, and can leave it.

A home belongs to one target. The state of a device is in the folder ``sync`` of the home; without it a home does not
sync.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from commonplace.core.clock import Clock, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import (
    CommonplaceError,
    ConflictError,
    HomeMissingError,
    NotFoundError,
    StorageError,
    SyncError,
)
from commonplace.core.settings import Settings
from commonplace.core.urls import mask_url, without_logins
from commonplace.knowledge import KnowledgeMemory
from commonplace.projects import Projects
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync import disputes
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.carriers.targets import SyncTarget, carrier_at
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.clones import distant_ids, settle_clones
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.finding import has_expired
from commonplace.services.sync.keys import (
    DeviceKey,
    new_home_key,
    require_passphrase,
    unwrapped,
    wrapped,
)
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.replica import MemoryWrite, Replica, Written
from commonplace.services.sync.replicas.home import HomeReplica
from commonplace.services.sync.sending import LEFT_OVER
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.status import LastSync, SyncFailure, SyncStatus, device_statuses
from commonplace.services.sync.syncing import Syncing, SyncReport
from commonplace.storage.backup.copies import SYNC

FOLDER: Final = SYNC
"""The folder of a home with all that a device keeps of sync."""

HOME_KEY_FILE: Final = "home.key"
"""The file at a target with the key of the home, which the passphrase opens."""

JOINING: Final = "sync.joining"
"""The folder until the device has introduced itself; a kill leaves it behind, and the next try deletes it."""

SYNCED: Final = "synced"
"""The empty file whose time says when a sync last worked, so that a sync without news writes nothing."""

FEW: Final = 20
"""So many memories may be gone since the last sync without a question."""

_TARGET: Final = "target"
_TOKEN_FILE: Final = "token file"  # noqa: S105 - a name
_HOME_KEY: Final = "home key"
_DEVICE_KEY: Final = "device key"
_LAST: Final = "last sync"
_FAILURE: Final = "failure"


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
        HomeMissingError: There is no home at the target.
        SyncFileError: Its key cannot be read.
    """
    carrier = _carrier_of_new(settings.home, target)
    document = await asyncio.to_thread(carrier.get, HOME_KEY_FILE)
    if document is None:
        raise HomeMissingError(target.address)
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
        self._projects = Projects(settings.home)
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
        own, last = self._device_key.device, self._last()
        unsent, outbox = self._state.count_unsent(), len(self._state.outbox())
        synced_at = _time_of(self._settings.home / FOLDER / SYNCED) or (last and last.at)
        sightings = self._state.sightings() | ({own: synced_at} if synced_at else {})
        return SyncStatus(
            target=mask_url(without_logins(self._target.address)),
            device=own,
            devices=device_statuses(
                self._state.devices(), own=own, seen_at=sightings, mentions=self._state.mentions()
            ),
            is_waiting=bool(unsent or outbox),
            unsent=unsent,
            outbox=outbox,
            unwritten=self._state.count_unwritten(own),
            erasures=self._state.erasures(),
            notes=[
                *filter(None, [(self._state.own(LEFT_OVER) or b"").decode()]),
                *disputes.notes(self._state),
            ],
            synced_at=synced_at,
            last=last,
            failure=self._failure(),
        )

    async def count_files(self) -> int:
        """Return the number of files at the target.

        Raises:
            StorageUnavailableError: The target cannot be reached.
        """
        return len(await asyncio.to_thread(self._carrier().names))

    async def count_conflicts(self) -> int:
        """Return the number of memories that wait in review because two devices changed them at once.

        Raises:
            StorageError: Knowledge memory cannot be read.
        """
        async with KnowledgeMemory.open(self._settings) as knowledge:
            return await knowledge.exchange.count_conflicts()

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
        try:
            async with self._reading(knowledge, deletes_many=deletes_many) as replica:
                report = await self._syncing(replica).run()
        except CommonplaceError as error:
            with suppress(StorageError):  # What failed may be the state.
                self._note_failure(without_logins(str(error)))
            raise
        self._note_success(report)
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
        """Open the memories of the home; after a sync, clones and memories follow what arrived with it."""
        async with AsyncExitStack() as stack:
            opened = await OpenedMemories.open(
                stack, self._settings, knowledge=knowledge, besides=("workspace",)
            )
            known = distant_ids(self._projects)
            replica = HomeReplica(opened, self._settings)
            yield replica if deletes_many else _Guarded(replica, self._state, self._clock)
            await settle_clones(self._projects, opened.knowledge(), known)
            await replica.follow_merges()

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

    def _last(self) -> LastSync | None:
        document = self._state.own(_LAST)
        return LastSync.from_json(document) if document else None

    def _failure(self) -> SyncFailure | None:
        document = self._state.own(_FAILURE)
        return SyncFailure.from_json(document) if document else None

    def _note_success(self, report: SyncReport) -> None:
        """Note when a sync worked, and its news; a sync without news writes nothing."""
        now, before = self._clock(), self._last()
        if report.is_news or before is None or list(report.problems) != list(before.problems):
            self._state.keep_own({_LAST: LastSync(at=now, problems=report.problems).to_json()})
        if self._failure() is not None:
            self._state.keep_own({_FAILURE: b""})
        with suppress(OSError):
            _set_time(self._settings.home / FOLDER / SYNCED, now)

    def _note_failure(self, error: str) -> None:
        """Note why a sync failed, and keep since when syncs fail."""
        before = self._failure()
        if before is None or before.error != error:
            since = self._clock() if before is None else before.since
            self._state.keep_own({_FAILURE: SyncFailure(since=since, error=error).to_json()})


async def read_status(settings: Settings) -> SyncStatus | None:
    """Return what a person sees of sync, without a look at the target; ``None`` if the home does not sync.

    Raises:
        StorageError: The state cannot be used.
    """
    if not is_synced(settings.home):
        return None
    async with SyncedHome.open(settings) as home:
        return await asyncio.to_thread(home.status)


def forget_sync(home: Path) -> None:
    """Forget that a home syncs, as a restore does; it can join again as another device."""
    shutil.rmtree(home / FOLDER, ignore_errors=True)


def _time_of(file: Path) -> datetime | None:
    """Return the time of a file; ``None`` if it is not there."""
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError:
        return None


def _set_time(file: Path, at: datetime) -> None:
    """Set the time of a file, which is made if it is not there."""
    file.touch(mode=0o600)
    os.utime(file, (at.timestamp(), at.timestamp()))


class _Nothing:
    """The replica of a device that only speaks of itself."""

    async def fingerprint(self) -> str:
        """Return the digest of nothing."""
        return ""

    async def read(self) -> Mapping[Key, Fields]:
        """Return nothing."""
        return {}

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return nothing."""
        del keys
        return ()

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return nothing."""
        del keys
        return {}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Do nothing."""
        return [each.seen for each in page]

    async def erase(self, keys: Collection[Key]) -> None:
        """Do nothing."""


class _Guarded:
    """A replica that does not tell others that most memories are gone: their database may be another one."""

    def __init__(self, replica: Replica, state: SyncState, clock: Clock) -> None:
        self._replica = replica
        self._state = state
        self._clock = clock

    async def fingerprint(self) -> str:
        """Return a digest of the memories."""
        return await self._replica.fingerprint()

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return those that were forgotten."""
        return await self._replica.forgotten(keys)

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return the vectors of the texts of memories."""
        return await self._replica.vectors(keys)

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories."""
        return await self._replica.write(page)

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
