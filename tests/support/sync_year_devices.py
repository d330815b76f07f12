"""A device of a simulated year: its memories, its clock, its state on disk, and the faults of its syncs."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.keys import DeviceKey
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.syncing import FileLimits, Syncing, SyncReport
from support.sync_year_carrier import CarrierView, YearCarrier
from support.sync_year_memories import YearMemories
from support.sync_year_model import YearModel
from support.sync_year_person import Person
from support.sync_year_steps import Killed, SteppedFile, Steps


class World:
    """What all devices of a year share.

    Args:
        folder: An empty folder.
        chance: Decides what happens.
        limits: The sizes of files.
    """

    def __init__(self, folder: Path, chance: random.Random, limits: FileLimits) -> None:
        self.folder, self.chance, self.limits = folder, chance, limits
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.steps = Steps()
        self.model = YearModel()
        self.carrier = YearCarrier(chance, self.steps.step, lambda: self.now)


class YearDevice:
    """A device.

    Args:
        world: What all devices share.
        name: What a person calls it.
        home_key: The key of the home with which it joins.
    """

    def __init__(self, world: World, name: str, home_key: bytes) -> None:
        self.world, self.name, self.home_key = world, name, home_key
        self.key = DeviceKey.from_bytes(world.chance.randbytes(32))
        self.clock_error = timedelta()
        self.is_on = True
        self.path = world.folder / name / FILE
        self.view = CarrierView(world.carrier, name)
        self.memories = YearMemories(self.clock, world.steps.step)
        self.person = Person(world.chance, self.memories, self._note)
        self.state = self._open()
        self.syncing.introduce(name)
        world.carrier.devices.append(name)

    def clock(self) -> datetime:
        """Return the time of its clock."""
        return self.world.now + self.clock_error

    @property
    def syncing(self) -> Syncing:
        """A sync of this process."""
        return Syncing(
            self.state,
            self.view,
            self.memories,
            home_key=self.home_key,
            device_key=self.key,
            clock=self.clock,
            limits=self.world.limits,
        )

    def restart(self) -> None:
        """Begin anew, as after a kill."""
        self.state.close()
        self.state = self._open()

    async def sync(self) -> SyncReport:
        """Sync once.

        Raises:
            StorageUnavailableError: A disk was full, or the carrier could not be reached.
            Killed: The process was killed.
            SyncError: The device is no member of the home.
        """
        model = self.world.model
        model.begin_sync(self.name)
        is_plain = self.world.carrier.is_plain(self.name)
        try:
            report = await self.syncing.run()
        except (Killed, StorageUnavailableError):
            self.restart()
            self._forget_noted_keys()
            raise
        self.memories.unnoted_keys.clear()
        model.end_sync(self.name, is_whole=is_plain and not report.problems)
        return report

    async def erase(self, keys: list[Key]) -> None:
        """Erase memories, as ``commonplace erase`` does: first here, then on every device."""
        for key in keys:
            before = self.memories.shown(key)
            self.world.model.act(self.name, key, before, None, is_erasure=True)
        await self.memories.erase(keys)
        await self.syncing.erase(keys)

    async def leave(self) -> None:
        """Leave the home."""
        await self.syncing.leave()

    def files(self) -> list[Path]:
        """Return the files of its state."""
        return sorted(self.path.parent.glob(f"{self.path.name}*"))

    def size(self) -> int:
        """Return the bytes of its state."""
        return sum(each.stat().st_size for each in self.files())

    def fill_disk(self) -> None:
        """Let the state grow no more, until the next start."""
        assert isinstance(self.state._file, SteppedFile)
        self.state._file.fill_disk()

    def _forget_noted_keys(self) -> None:
        """Forget the memories that a sync wrote last and also noted before it failed."""
        unnoted = self.memories.unnoted_keys
        unnoted -= {key for key in unnoted if self.state.seen(key).fields == self.memories.shown(key)}

    def _note(self, key: Key, before: Fields | None, after: Fields | None) -> None:
        is_doubtful = key in self.memories.unnoted_keys
        self.world.model.act(self.name, key, before, after, is_doubtful=is_doubtful)

    def _open(self) -> SyncState:
        state = SyncState(self.path)
        state._file.close()
        file = SteppedFile(self.path)
        file.steps = self.world.steps
        state._file = file
        return state
