"""All memories of a home that sync, and its projects."""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Final

from commonplace.apps import AppMemory
from commonplace.core.settings import Settings
from commonplace.operational import OperationalMemory
from commonplace.projects import Projects
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Replica, Written
from commonplace.services.sync.replicas.knowledge import KnowledgeReplica
from commonplace.services.sync.replicas.merges import follow_merges
from commonplace.services.sync.replicas.named import NamedReplica
from commonplace.services.sync.replicas.projects import ProjectsReplica

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

    async def fingerprint(self) -> str:
        """Return a digest of all memories.

        Raises:
            StorageError: One of the memories cannot be read.
        """
        return " ".join([await replica.fingerprint() for replica in dict.fromkeys(self._replicas.values())])

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return those of facts and rules that were forgotten."""
        forgotten: list[Key] = []
        for replica, own in self._by_replica(keys).items():
            forgotten += await replica.forgotten(own)
        return forgotten

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return the vectors of the texts of memories."""
        vectors: dict[Key, Fields] = {}
        for replica, own in self._by_replica(keys).items():
            vectors.update(await replica.vectors(own))
        return vectors

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories, each where it belongs; see :class:`~commonplace.services.sync.replica.Replica`."""
        results: list[Written] = []
        for replica, group in groupby(page, key=lambda each: self._replicas[each.key[0]]):
            results += await replica.write(list(group))
        return results

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories, each where it is."""
        for replica, own in self._by_replica(keys).items():
            await replica.erase(own)

    def _by_replica(self, keys: Collection[Key]) -> Mapping[Replica, list[Key]]:
        groups: dict[Replica, list[Key]] = {}
        for key in keys:
            groups.setdefault(self._replicas[key[0]], []).append(key)
        return groups
