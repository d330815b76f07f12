"""The port to the memories of a device."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key


class Replica(Protocol):
    """Memories of this device, each called by the name that it has on every device."""

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all memories that sync."""
        ...

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Get ready for writes that follow, such as by computing the vectors of all texts together."""
        ...

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory, or delete it, and return the fields that it shows now.

        They may be others than those that were asked for, if the memory decides so by what else it holds.

        Args:
            key: The memory.
            fields: What it should show; ``None`` to delete it.
            seen: What it showed when it was last read; ``None`` if there was none.
            others: The fields of changes whose text lost, or that were made while the memory was deleted elsewhere.

        Raises:
            ConflictError: It shows something else by now, or what it refers to is not there yet; nothing was written.
        """
        ...

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories, so that nothing of their texts stays on this device."""
        ...
