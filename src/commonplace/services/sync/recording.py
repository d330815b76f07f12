"""Recording what changed in the memories of this device since they were last seen.

Source: ADR 0040.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.finding import SeenMemory, change_of, seen_after
from commonplace.services.sync.merging import merged
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.state import SyncState
from commonplace.services.sync.versions import Stamp


class ChangeRecorder:
    """Finds and records changes.

    Args:
        state: The state of sync.
        replica: The memories of this device.
        tick: Returns the stamp of the next change.
    """

    def __init__(self, state: SyncState, replica: Replica, tick: Callable[[], Stamp]) -> None:
        self._state = state
        self._replica = replica
        self._tick = tick

    async def record_all(self) -> int:
        """Record what is different from what was last seen; return the number of changes."""
        fingerprint = await self._replica.fingerprint()
        if fingerprint == self._state.fingerprint():
            return 0
        rows = await self._replica.read()
        changes = await asyncio.to_thread(self._changes, rows)
        if changes:
            named = [(each.kind, each.name) for each in changes if not each.is_deletion]
            vectors = await self._replica.vectors(named)
            await asyncio.to_thread(self._record, changes, rows, vectors)
        if fingerprint == await self._replica.fingerprint():
            self._state.keep_fingerprint(fingerprint)
        return len(changes)

    async def note_contents(self) -> None:
        """Note the fingerprint of memories that were written, so that the next sync without news reads none of them."""
        fingerprint = await self._replica.fingerprint()
        rows = await self._replica.read()
        if await asyncio.to_thread(self._is_seen, rows) and fingerprint == await self._replica.fingerprint():
            self._state.keep_fingerprint(fingerprint)

    def _is_seen(self, rows: Mapping[Key, Fields]) -> bool:
        seen = {key: fields for key, fields in self._state.seen_fields().items() if fields is not None}
        return rows == seen

    def _changes(self, rows: Mapping[Key, Fields]) -> list[Change]:
        """Return the changes of this device, without writes that a kill has left half noted."""
        seen = self._state.seen_fields()
        keys = sorted(key for key in {*rows, *seen} if rows.get(key) != seen.get(key))
        waiting = set(self._state.pending()) if keys else set[Key]()
        changes: list[Change] = []
        for key in keys:
            before, now = self._state.seen(key), rows.get(key)
            if key in waiting and self._finish_write(key, before, now):
                continue
            changes.append(change_of(*key, now, before, self._tick()))
        return changes

    def _record(
        self, changes: Sequence[Change], rows: Mapping[Key, Fields], vectors: Mapping[Key, Fields]
    ) -> None:
        states = {
            (each.kind, each.name): SeenMemory(
                fields=rows.get((each.kind, each.name)), as_change=each.fields, versions=each.versions
            )
            for each in changes
        }
        with_vectors = [replace(each, vector=vectors.get((each.kind, each.name))) for each in changes]
        self._state.record(with_vectors, states)

    def _finish_write(self, key: Key, before: SeenMemory, now: Fields | None) -> bool:
        """Note a memory that was written just before a kill; return whether it was."""
        heads = self._state.heads(key)
        made = seen_after(key, heads, merged(heads))
        if not _shows(now, made.fields, before.fields):
            return False
        self._state.written({key: replace(made, fields=now)})
        return True


def _shows(now: Fields | None, made: Fields | None, before: Fields | None) -> bool:
    """Return whether a memory shows a state, but for fields that this release does not know."""
    if now is None or made is None:
        return now is made
    later = made.keys() - now.keys() - (before or {}).keys()
    return now == {name: value for name, value in made.items() if name not in later}
