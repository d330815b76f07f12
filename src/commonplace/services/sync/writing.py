"""Writing what the changes of other devices make of the memories here, in pages.

Source: ADR 0040.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from commonplace.core.errors import ConflictError
from commonplace.core.request_context import request_context
from commonplace.services.sync.actors import actor_of_device
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import WITH_TOMBSTONES, WRITTEN_TOGETHER
from commonplace.services.sync.pending_writes import PendingWrite, pending_write
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.state import SyncState

if TYPE_CHECKING:
    from commonplace.services.sync.finding import SeenMemory

PAGE: Final = 500
"""The number of memories that are written together before they are noted; a kill between the two does no harm."""


class MemoryWriter:
    """Writes the memories that wait in the state.

    Args:
        state: The state of sync.
        replica: The memories of this device.
    """

    def __init__(self, state: SyncState, replica: Replica) -> None:
        self._state = state
        self._replica = replica

    async def write_all(self) -> tuple[int, list[str]]:
        """Write the memories that changes of other devices have touched; what changed here meanwhile waits.

        Returns the number of memories that changed here, and why others wait.

        A memory may wait for another one that it names, so they are written in the order of their kinds, deletions
        last, and again as long as this gets further.
        """
        waiting = await asyncio.to_thread(self._pending_writes)
        count = 0
        while waiting:
            left: list[tuple[PendingWrite, str]] = []
            for page in _pages(waiting):
                count += await self._write_page(page, left)
            if len(left) == len(waiting):
                return count, [problem for _, problem in left]
            waiting = [each for each, _ in left]
        return count, []

    def _pending_writes(self) -> list[PendingWrite]:
        """Return what waits to be written, in its order; what the memories show already is noted here."""
        pending = sorted(map(self._pending, self._state.pending()), key=lambda each: each.place)
        same = {each.write.key: each.made for each in pending if each.is_same}
        if same:
            self._state.written(same)
        return [each for each in pending if not each.is_same]

    async def _write_page(self, page: Sequence[PendingWrite], left: list[tuple[PendingWrite, str]]) -> int:
        """Write memories in the name of the device whose changes hold.

        Adds those that must wait to ``left``, and returns the number of those that changed here.
        """
        await self._begin(page)
        with self._acting_for(page[0].by):
            results = await self._replica.write([each.write for each in page])
        states: dict[Key, SeenMemory] = {}
        for each, result in zip(page, results, strict=True):
            if isinstance(result, ConflictError):
                left.append((each, str(result)))
            else:
                states[each.write.key] = replace(each.made, fields=result)
        await asyncio.to_thread(self._state.written, states)
        before = {each.write.key: each.write.seen for each in page}
        return sum(state.fields != before[key] for key, state in states.items())

    async def _begin(self, page: Sequence[PendingWrite]) -> None:
        """Note the memories of which nothing is here yet: if a kill hits, what is forgotten then was written."""
        new = [each.write.key for each in page if each.is_new and each.write.key[0] in WITH_TOMBSTONES]
        if new:
            forgotten = set(await self._replica.forgotten(new))
            self._state.begin_page([key for key in new if key not in forgotten])

    def _pending(self, key: Key) -> PendingWrite:
        return pending_write(key, self._state.heads(key), self._state.seen(key))

    def _acting_for(self, device: str) -> AbstractContextManager[object]:
        known = self._state.device(device)
        return request_context(actor=actor_of_device(known.name if known else device))


def _pages(writes: Iterable[PendingWrite]) -> Iterator[Sequence[PendingWrite]]:
    """Yield writes in the pages that one transaction takes, each in the name of one device."""
    for (_, is_together), group in groupby(
        writes, key=lambda each: (each.by, each.write.key[0] in WRITTEN_TOGETHER)
    ):
        rows = list(group)
        size = PAGE if is_together else 1
        for first in range(0, len(rows), size):
            yield rows[first : first + size]
