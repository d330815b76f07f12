"""All memories of a home that sync, and its projects."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from commonplace.apps import AppMemory
from commonplace.core.settings import Settings
from commonplace.operational import OperationalMemory
from commonplace.projects import Projects
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replicas.knowledge import KnowledgeReplica
from commonplace.services.sync.replicas.merges import follow_merges
from commonplace.services.sync.replicas.named import NamedReplica
from commonplace.services.sync.replicas.projects import ProjectsReplica

if TYPE_CHECKING:
    from commonplace.services.sync.replica import Replica

_OTHERS: Final = frozenset({SyncKind.PROJECT, SyncKind.LESSON, SyncKind.DIGEST})


def lessons_replica(memory: OperationalMemory, settings: Settings) -> NamedReplica:
    """Return the replica of the lessons of a home."""
    return NamedReplica(SyncKind.LESSON, memory.exchange, "memories", settings)


def digests_replica(memory: AppMemory, settings: Settings) -> NamedReplica:
    """Return the replica of the digests of a home."""
    return NamedReplica(SyncKind.DIGEST, memory.exchange, "app_memories", settings)


class HomeReplica:
    """The memories of a home, each kind in its own memory.

    Args:
        opened: The open memories.
        settings: Those of the home.
    """

    def __init__(self, opened: OpenedMemories, settings: Settings) -> None:
        self._memory = opened.knowledge()
        self._projects = Projects(settings.home)
        knowledge = KnowledgeReplica(self._memory, settings)
        self._replicas: Mapping[SyncKind, Replica] = {
            **{kind: knowledge for kind in SyncKind if kind not in _OTHERS},
            SyncKind.PROJECT: ProjectsReplica(settings.home),
            SyncKind.LESSON: lessons_replica(opened.operational(), settings),
            SyncKind.DIGEST: digests_replica(opened.apps(), settings),
        }

    async def follow_merges(self) -> None:
        """Move the memories of projects that were merged, here or on another device, to the project that has them now.

        Raises:
            StorageError: Knowledge memory cannot be used.
        """
        await follow_merges(self._memory, self._projects)

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all memories, once they have followed the merges of projects.

        Raises:
            StorageError: One of the memories cannot be read.
        """
        await self.follow_merges()
        rows: dict[Key, Fields] = {}
        for replica in dict.fromkeys(self._replicas.values()):
            rows.update(await replica.read())
        return rows

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Get each memory ready for its own writes."""
        for replica in dict.fromkeys(self._replicas.values()):
            await replica.prepare([each for each in writes if self._replicas[each[0][0]] is replica])

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory; see :class:`~commonplace.services.sync.replica.Replica`."""
        return await self._replicas[key[0]].write(key, fields, seen=seen, others=others)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories, each where it is."""
        for replica in dict.fromkeys(self._replicas.values()):
            own = [key for key in keys if self._replicas[key[0]] is replica]
            if own:
                await replica.erase(own)
