"""Recording what changed in the memories of this device since they were last seen.

Source: ADR 0040.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from commonplace.core.clock import Clock
from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.finding import SeenMemory, change_of, is_edit_of, is_passage_of_time
from commonplace.services.sync.pending_writes import pending_write, shows
from commonplace.services.sync.replica import Replica
from commonplace.services.sync.state import SyncState
from commonplace.services.sync.versions import HybridClock, Stamp


class ChangeRecorder:
    """Finds and records changes.

    Args:
        state: The state of sync.
        replica: The memories of this device.
        clock: Stamps changes.
        now: Returns the current time.
    """

    def __init__(self, state: SyncState, replica: Replica, clock: HybridClock, now: Clock) -> None:
        self._state = state
        self._replica = replica
        self._clock = clock
        self._now = now

    async def record_all(self) -> int:
        """Record what is different from what was last seen; return the number of changes."""
        fingerprint = await self._replica.fingerprint()
        if fingerprint == self._state.fingerprint():
            return 0
        rows = await self._replica.read()
        absent = [key for key in self._state.unfinished_page() if key not in rows]
        forgotten = await self._replica.forgotten(absent)
        changes = await asyncio.to_thread(self._changes, rows, forgotten)
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

    def _changes(self, rows: Mapping[Key, Fields], forgotten: Collection[Key]) -> list[Change]:
        """Return the changes of this device, without writes that a kill has left half noted.

        Args:
            rows: The memories of this device.
            forgotten: Memories that wait, were written before a kill, and were then forgotten here.
        """
        seen = self._state.seen_fields()
        keys = sorted({key for key in {*rows, *seen} if rows.get(key) != seen.get(key)} | {*forgotten})
        waiting = set(self._state.pending()) if keys else set[Key]()
        changes: list[Change] = []
        shown: dict[Key, SeenMemory] = {}
        for key in keys:
            before, now = self._state.seen(key), rows.get(key)
            if is_passage_of_time(key[0], now, before, self._now()):
                shown[key] = replace(before, fields=now)
                continue
            if key in forgotten:
                before = self._made(key, before)
            elif key in waiting:
                before = self._seen_after_kill(key, before, now)
                if now == before.fields:
                    continue
            changes.append(change_of(*key, now, before, self._tick()))
        if shown:
            self._state.see(shown)
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

    def _seen_after_kill(self, key: Key, before: SeenMemory, now: Fields | None) -> SeenMemory:
        """Return how a memory that waits was last seen: it may have been written just before a kill."""
        made = self._made(key, before)
        if shows(now, made.fields, before.fields):
            made = replace(made, fields=now)
            self._state.written({key: made})
            return made
        return made if is_edit_of(now, made.fields, before.fields) else before

    def _made(self, key: Key, before: SeenMemory) -> SeenMemory:
        """Return how a memory that waits is seen once it is written."""
        return pending_write(key, self._state.heads(key), before).made

    def _tick(self) -> Stamp:
        """Return the stamp of the next change."""
        return self._clock.tick(int(self._now().timestamp() * 1000))
