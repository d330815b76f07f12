"""The port to the memories of a device."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from commonplace.core.errors import ConflictError
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWrite:
    """A memory that is to be written here, or deleted.

    Attributes:
        key: The memory.
        fields: What it should show; ``None`` to delete it.
        seen: What it showed when it was last read; ``None`` if there was none.
        others: The fields of changes whose text lost, or that were made while the memory was deleted elsewhere.
        vector: The vector of its text, as the memory of the other device gave it; ``None`` if none travelled.
    """

    key: Key
    fields: Fields | None
    seen: Fields | None
    others: Sequence[Fields] = ()
    vector: Fields | None = None


Written = Fields | None | ConflictError
"""What a memory shows once it is written; or why it was not: it shows something else by now, or what it refers to is
not there yet."""


class Replica(Protocol):
    """Memories of this device, each called by the name that it has on every device."""

    async def fingerprint(self) -> str:
        """Return a digest that is another one once :meth:`read` would return something else."""
        ...

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all memories that sync."""
        ...

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return those of facts and rules that are not shown, because they were forgotten; not what never was here."""
        ...

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return the vectors of the texts of memories as values of JSON, for those that have one."""
        ...

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories, and return for each what it shows now.

        That may be something else than was asked for, if the memory decides so by what else it holds.

        Args:
            page: Memories, each once, in the order in which they are written.
        """
        ...

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories, so that nothing of their texts stays on this device."""
        ...


async def write_each(
    page: Sequence[MemoryWrite], write: Callable[[MemoryWrite], Awaitable[Fields | None]]
) -> list[Written]:
    """Write memories one by one; a :class:`~commonplace.core.errors.ConflictError` becomes a result."""
    results: list[Written] = []
    for each in page:
        try:
            results.append(await write(each))
        except ConflictError as error:
            results.append(error)
    return results


def fingerprint_of(rows: Mapping[Key, Fields]) -> str:
    """Return the fingerprint of memories whose fields are all read."""
    lines = sorted(json.dumps([*key, fields], sort_keys=True) for key, fields in rows.items())
    return sha256("\n".join(lines).encode()).hexdigest()
