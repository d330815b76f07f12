"""Devices with a home, projects and knowledge memory of their own, which share a folder."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

from commonplace.apps import AppMemory
from commonplace.core.clock import Clock
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from commonplace.knowledge.model.kinds import Fact
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.operational import OperationalMemory
from commonplace.projects import Projects
from commonplace.services.briefing import build_briefing
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.sync.replicas.home import HomeReplica
from commonplace.workspace import WorkspaceMemory
from support.database_stock import DatabaseStock
from support.sync_devices import SyncedDevice

FACT = "The database listens on 5433."


class ProjectDevice(SyncedDevice):
    """A device with a home, and with knowledge memory of its own."""

    memories: Memories
    settings: Settings
    projects: Projects

    async def learn(self, directory: Path, content: str = FACT, *, subject: str = "database") -> UUID:
        """Store a fact for the project of a directory."""
        scope = self.projects.butler_at(directory)
        receipt = await self.memories.knowledge.store_fact(
            subject=subject, predicate="port", content=content, scope=scope
        )
        return receipt.id

    async def scope(self, fact: UUID) -> str:
        """The scope of a fact."""
        memory = await self.memories.knowledge.read("fact", fact)
        assert isinstance(memory, Fact)
        return memory.scope

    async def briefing(self, directory: Path) -> str:
        """The block for a session in a directory, with a prompt about the fact."""
        butler = self.projects.butler_at(directory)
        prompt = "the port of the database and of the cache"
        return (await build_briefing(self.memories, prompt=prompt, butler=butler)).text

    async def merge(self, source: str, target: str) -> None:
        """Merge a project into another one, as the command does."""
        await self.memories.knowledge.scopes.move(source, target)
        self.projects.set_merged(source, target)

    async def unmerge(self, source: str, target: str) -> None:
        """Take a merge back, as the command does."""
        await self.memories.knowledge.scopes.undo_all(source, target)
        self.projects.set_merged(source, None)

    def names(self) -> dict[str, str]:
        """The names of all projects that are shared, by id."""
        return {each.id: each.name for each in self.projects.shared()}


def opened(memories: Memories) -> OpenedMemories:
    """Return functions that return the memories."""
    return OpenedMemories(
        operational=lambda: memories.operational,
        apps=lambda: memories.apps,
        workspace=lambda: memories.workspace,
        knowledge=lambda: memories.knowledge,
    )


@asynccontextmanager
async def project_devices(
    stock: DatabaseStock, engine: EmbeddingEngine, clock: Clock, folder: Path, names: Collection[str]
) -> AsyncIterator[list[ProjectDevice]]:
    """Give devices with these names, each with a database of its own."""
    async with AsyncExitStack() as stack:
        made: list[ProjectDevice] = []
        for name in names:
            database = await stack.enter_async_context(stock.lend())
            settings = Settings(home=folder / name, workspace=folder, postgres_url=database.url)
            memories = Memories(
                operational=await stack.enter_async_context(OperationalMemory.open(settings, clock=clock)),
                apps=await stack.enter_async_context(AppMemory.open(settings, clock=clock)),
                workspace=await stack.enter_async_context(WorkspaceMemory.open(settings, clock=clock)),
                knowledge=KnowledgeMemory(
                    KnowledgeDatabase.of(await database.pool()),
                    engine,
                    tenant_id=DEFAULT_TENANT,
                    source=Source.PERSON,
                    clock=clock,
                ),
            )
            replica = HomeReplica(opened(memories), settings)
            device = ProjectDevice(folder / "carried", folder, replica, name, clock)
            device.memories, device.settings, device.projects = memories, settings, Projects(settings.home)
            stack.callback(device.close)
            made.append(device)
        yield made
