"""The memories of a simulated device: all kinds, in memory, with the texts that are kept for people."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from commonplace.core.clock import Clock
from commonplace.core.errors import ConflictError
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written, fingerprint_of, write_each


class YearMemories:
    """Memories in memory.

    Args:
        clock: The clock of the device, by which episodes expire.
        step: Called with the name of each step, to raise an error there.
    """

    def __init__(self, clock: Clock, step: Callable[[str], None]) -> None:
        self.rows: dict[Key, Fields] = {}
        self.texts: dict[Key, list[str]] = {}
        self.erased_keys: set[Key] = set()
        self.clock = clock
        self.step = step
        self.unnoted_keys: set[Key] = set()
        self.before_write: Callable[[Key], None] | None = None

    def shown(self, key: Key) -> Fields | None:
        """Return what a memory shows; ``None`` if there is none, or if it expired."""
        fields = self.rows.get(key)
        return None if fields is None or is_expired(fields, self.clock()) else fields

    async def read(self) -> Mapping[Key, Fields]:
        """Return all memories that have not expired."""
        self.step("memories.read")
        now = self.clock()
        return {key: fields for key, fields in self.rows.items() if not is_expired(fields, now)}

    async def fingerprint(self) -> str:
        """Return a digest of all memories that have not expired."""
        return fingerprint_of(await self.read())

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return nothing: what was forgotten leaves nothing behind."""
        del keys
        return ()

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return nothing: these memories have no vectors."""
        del keys
        return {}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories one by one; a sync that gets further has noted those of the page before."""
        self.unnoted_keys.clear()
        return await write_each(page, self._write_one)

    async def _write_one(self, memory: MemoryWrite) -> Fields | None:
        if self.before_write is not None:
            self.before_write(memory.key)
        self.step("memories.write, before")
        if self.shown(memory.key) not in (memory.seen, memory.fields):
            raise ConflictError("name", "a memory as it was seen", memory.key[1])
        texts = self.texts.setdefault(memory.key, [])
        texts.extend(str(each["text"]) for each in memory.others if "text" in each)
        if memory.fields is None:
            self.rows.pop(memory.key, None)
        else:
            self.rows[memory.key] = memory.fields
        self.unnoted_keys.add(memory.key)
        self.step("memories.write, after")
        return self.shown(memory.key)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories with their other texts."""
        self.step("memories.erase, before")
        for key in keys:
            self.rows.pop(key, None)
            self.texts.pop(key, None)
            self.erased_keys.add(key)
        self.step("memories.erase, after")

    def of(self, kind: SyncKind) -> list[Key]:
        """Return the memories of a kind, in an order that does not depend on the device's history."""
        now = self.clock()
        return sorted(
            key for key, fields in self.rows.items() if key[0] is kind and not is_expired(fields, now)
        )


def is_expired(fields: Fields, now: datetime) -> bool:
    """Return whether a memory has expired."""
    expires_at = fields.get("expires_at")
    return expires_at is not None and datetime.fromisoformat(expires_at) <= now
