"""Devices for tests of sync: each has memories of its own, and all share a folder."""

from pathlib import Path

from commonplace.core.clock import Clock
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.services.sync.keys import DeviceKey, new_home_key
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.syncing import Syncing

HOME_KEY = new_home_key()


class SyncedDevice:
    """A device of a home.

    Args:
        folder: What all devices share.
        home: Where this one keeps its state.
        replica: Its memories.
        name: What a person calls it.
        clock: Its clock.
    """

    def __init__(self, folder: Path, home: Path, replica: Replica, name: str, clock: Clock) -> None:
        self.name = name
        self.replica = replica
        self.folder = folder
        self._state = SyncState(home / name / FILE)
        self._syncing = Syncing(
            self._state,
            FolderCarrier(folder),
            replica,
            home_key=HOME_KEY,
            device_key=DeviceKey.new(),
            clock=clock,
        )
        self._syncing.introduce(name)

    async def sync(self) -> list[str]:
        """Sync once, and return the problems."""
        return list((await self._syncing.run()).problems)

    def pending(self) -> int:
        """The number of memories that wait to be written."""
        return len(self._state.pending())

    def close(self) -> None:
        """Close the state."""
        self._state.close()


async def sync_all(*devices: SyncedDevice, rounds: int = 3) -> list[str]:
    """Sync devices in turn until each has what all made; return the problems of the last round."""
    problems: list[str] = []
    for _ in range(rounds):
        problems = [problem for device in devices for problem in await device.sync()]
    return problems
