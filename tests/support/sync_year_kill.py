"""A process that syncs a home and is killed by the system at a step: ``python -m support.sync_year_kill HOME STEP``.

It prints the name of the step before it dies. With fewer steps than that, the sync ends and the exit status is 0.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from commonplace.core.settings import Settings
from commonplace.services.sync import state
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.home import SyncedHome
from commonplace.services.sync.replica import MemoryWrite, Written
from commonplace.services.sync.replicas.home import HomeReplica
from support.sync_year_steps import SteppedFile, Steps


class LastStep(Steps):
    """Steps of which one kills this process.

    Args:
        index: The number of steps before it.
    """

    def __init__(self, index: int) -> None:
        super().__init__()
        self._left = index

    def step(self, name: str) -> None:
        """Pass, or die."""
        if self._left == 0:
            print(name, flush=True)  # noqa: T201 - the parent reads it
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def announce(steps: Steps) -> None:
    """Let the state, the carrier and the memories announce their steps."""
    put, delete, write, erase = FolderCarrier.put, FolderCarrier.delete, HomeReplica.write, HomeReplica.erase

    def stepped(name: str, of: Callable[..., None]) -> Callable[..., None]:
        def call(*args: object) -> None:
            steps.step(f"carrier.{name}, before")
            of(*args)
            steps.step(f"carrier.{name}, after")

        return call

    async def stepped_write(self: HomeReplica, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        steps.step("memories.write, before")
        results = await write(self, page)
        steps.step("memories.write, after")
        return results

    async def stepped_erase(self: HomeReplica, keys: Collection[Key]) -> None:
        steps.step("memories.erase, before")
        await erase(self, keys)
        steps.step("memories.erase, after")

    SteppedFile.steps = steps
    state.StateFile = SteppedFile
    FolderCarrier.put, FolderCarrier.delete = stepped("put", put), stepped("delete", delete)
    HomeReplica.write, HomeReplica.erase = stepped_write, stepped_erase


async def sync(home: Path) -> None:
    """Sync a home once."""
    async with SyncedHome.open(Settings(home=home, workspace=home.parent)) as synced:
        await synced.sync()


if __name__ == "__main__":
    announce(LastStep(int(sys.argv[2])))
    asyncio.run(sync(Path(sys.argv[1])))
