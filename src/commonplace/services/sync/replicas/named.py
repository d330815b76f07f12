"""Lessons and digests: their ids differ between devices, so each has a name beside its id."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from commonplace.core.settings import Settings
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written, fingerprint_of, write_each
from commonplace.services.sync.replicas.erased_rows import erase_rows


class NamedMemories(Protocol):
    """Memories by the names that they have on every device, such as ``OperationalMemory.exchange``."""

    async def read(self) -> Mapping[str, Fields]:
        """Return the fields of every memory by its name."""
        ...

    async def ids(self) -> Mapping[str, int]:
        """Return the id of every memory by its name."""
        ...

    async def write(
        self, name: str, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory, or delete it, and return the fields that it shows then."""
        ...


class NamedReplica:
    """The memories of one kind.

    Args:
        kind: Lesson or digest.
        exchange: The memories.
        table: Their table, for erasures.
        settings: Those of the home, for erasures.
    """

    def __init__(self, kind: SyncKind, exchange: NamedMemories, table: str, settings: Settings) -> None:
        self._kind = kind
        self._exchange = exchange
        self._table = table
        self._settings = settings

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all memories."""
        return {(self._kind, name): fields for name, fields in (await self._exchange.read()).items()}

    async def fingerprint(self) -> str:
        """Return a digest of all memories."""
        return fingerprint_of(await self.read())

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return nothing: a lesson or digest leaves nothing behind."""
        del keys
        return ()

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return nothing: no search compares these memories by a vector that is stored."""
        del keys
        return {}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories; their history keeps the texts of other devices that lost."""
        return await write_each(page, self._write)

    async def _write(self, memory: MemoryWrite) -> Fields | None:
        return await self._exchange.write(
            memory.key[1], memory.fields, seen=memory.seen, others=memory.others
        )

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories."""
        ids = await self._exchange.ids()
        await erase_rows(self._settings, {self._table: [str(ids[name]) for _, name in keys if name in ids]})
