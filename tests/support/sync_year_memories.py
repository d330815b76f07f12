"""The memories of a simulated device: all kinds, in memory, with the texts that are kept for people."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from commonplace.core.clock import Clock
from commonplace.core.errors import ConflictError
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind


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
        self.unnoted_key: Key | None = None
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

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Do nothing: a write needs nothing else."""
        del writes
        self.step("memories.prepare")

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory."""
        if self.before_write is not None:
            self.before_write(key)
        self.step("memories.write, before")
        now = self.shown(key)
        if now not in (seen, fields):
            raise ConflictError("name", "a memory as it was seen", key[1])
        self.texts.setdefault(key, []).extend(str(each["text"]) for each in others if "text" in each)
        if fields is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = fields
        self.unnoted_key = key
        self.step("memories.write, after")
        return self.shown(key)

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
