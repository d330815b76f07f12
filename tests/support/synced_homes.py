"""Homes of two devices that sync over a folder: the one of a service, and another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.home import SyncedHome, create_home, join_home
from commonplace.services.sync.syncing import SyncReport
from support.database_stock import DatabaseStock
from support.service import open_memories

PASSPHRASE = "correct horse battery staple"
LAPTOP = "laptop"
"""The device of the service."""
DESKTOP = "desktop"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedPair:
    """The home of a service, another home, and the folder between them."""

    own: Memories
    other: Memories
    folder: Path

    @property
    def settings(self) -> Settings:
        """Those of the home of the service."""
        return self.own.knowledge.database.settings

    async def sync(self) -> SyncReport:
        """Sync the device of the service once."""
        return await _sync(self.own)

    async def sync_other(self) -> SyncReport:
        """Sync the other device once."""
        return await _sync(self.other)

    async def store_port(self, memories: Memories, port: int) -> UUID:
        """Store the port of Jellyfin on one of the two devices."""
        fact = await memories.knowledge.store_fact(subject="Jellyfin", predicate="port", content=str(port))
        return fact.id

    def block(self) -> None:
        """Put a file in the place of the folder, so that no device reaches it."""
        self.folder.rename(self.folder.with_name("hidden"))
        self.folder.write_text("no folder", encoding="utf-8")

    def unblock(self) -> None:
        """Put the folder back."""
        self.folder.unlink()
        self.folder.with_name("hidden").rename(self.folder)


@asynccontextmanager
async def synced_pair(own: Memories, databases: DatabaseStock, folder: Path) -> AsyncIterator[SyncedPair]:
    """Let the home of a service begin at a folder, and another home join it; neither has synced yet."""
    async with databases.lend() as database:
        settings = Settings(home=folder / DESKTOP, workspace=folder, postgres_url=database.url)
        async with open_memories(settings, clock=own.knowledge.clock) as other:
            pair = SyncedPair(own=own, other=other, folder=folder / "carried")
            target = SyncTarget(address=str(pair.folder))
            await create_home(pair.settings, target, passphrase=PASSPHRASE, name=LAPTOP)
            await join_home(settings, target, passphrase=PASSPHRASE, name=DESKTOP)
            yield pair


async def _sync(memories: Memories) -> SyncReport:
    async with SyncedHome.open(memories.knowledge.database.settings, clock=memories.knowledge.clock) as home:
        return await home.sync(knowledge=memories.knowledge)
