"""Lessons in memory, with the state of sync on disk: devices for tests of the engine."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commonplace.core.errors import ConflictError
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.keys import DeviceKey
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written, fingerprint_of, write_each
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.syncing import FileLimits, Syncing, SyncReport

NOW = datetime(2026, 11, 29, tzinfo=UTC)


class Lessons:
    """Lessons in memory, each with its earlier texts."""

    def __init__(self) -> None:
        self.rows: dict[Key, Fields] = {}
        self.texts: dict[Key, list[str]] = {}
        self.others: dict[Key, list[Fields]] = {}
        self.vectors_seen: dict[Key, Fields | None] = {}

    def put(self, key: Key, fields: Fields) -> None:
        """Store a lesson."""
        self.rows[key] = fields
        self.texts.setdefault(key, []).append(fields["text"])

    async def read(self) -> Mapping[Key, Fields]:
        """Return all lessons."""
        return dict(self.rows)

    async def fingerprint(self) -> str:
        """Return a digest of all lessons."""
        return fingerprint_of(self.rows)

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return nothing: what was forgotten leaves nothing behind."""
        del keys
        return ()

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return a vector for each lesson: its text."""
        return {key: {"values": self.rows[key]["text"]} for key in keys if key in self.rows}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write lessons one by one."""
        return await write_each(page, self.write_one)

    async def write_one(self, lesson: MemoryWrite) -> Fields | None:
        """Write a lesson."""
        if self.rows.get(lesson.key) not in (lesson.seen, lesson.fields):
            raise ConflictError("name", "a lesson as it was seen", lesson.key[1])
        self.others[lesson.key] = list(lesson.others)
        self.vectors_seen[lesson.key] = lesson.vector
        if lesson.fields is None:
            self.rows.pop(lesson.key, None)
        else:
            self.put(lesson.key, lesson.fields)
        return lesson.fields

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase lessons with their earlier texts."""
        for key in keys:
            for table in (self.rows, self.texts, self.others, self.vectors_seen):
                table.pop(key, None)


class LessonsDevice:
    """A device with lessons and a state of sync on disk.

    Args:
        folder: Where it keeps its state.
        carrier: Moves its files.
        name: What a person calls it.
        home_key: The key of the home with which it joins.
        limits: The sizes of its files.
        key: Its own key; a new one if it is not given.
    """

    def __init__(
        self,
        folder: Path,
        carrier: Carrier,
        name: str,
        home_key: bytes,
        limits: FileLimits | None = None,
        *,
        key: DeviceKey | None = None,
    ) -> None:
        self.path, self.name, self.home_key, self.limits = folder / name / FILE, name, home_key, limits
        self.carrier = carrier
        self.key = key or DeviceKey.new()
        self.lessons = Lessons()
        self.state = self.open_state()
        self.syncing.introduce(name)

    def open_state(self) -> SyncState:
        """Open the state, as a new process does."""
        return SyncState(self.path)

    def restart(self) -> None:
        """Begin anew, as after a kill."""
        self.state.close()
        self.state = self.open_state()

    @property
    def syncing(self) -> Syncing:
        """A sync of this process."""
        return Syncing(
            self.state,
            self.carrier,
            self.lessons,
            home_key=self.home_key,
            device_key=self.key,
            clock=lambda: NOW,
            limits=self.limits,
        )

    async def sync(self) -> SyncReport:
        """Sync once."""
        return await self.syncing.run()

    def learn(self, text: str, name: str = "jellyfin", *, reinforced: int = 1) -> None:
        """Store a lesson."""
        self.lessons.put((SyncKind.LESSON, name), {"text": text, "confidence": 0.5, "reinforced": reinforced})

    def forget(self, name: str = "jellyfin") -> bool:
        """Delete a lesson; return whether there was one."""
        return self.lessons.rows.pop((SyncKind.LESSON, name), None) is not None

    def text(self, name: str = "jellyfin") -> Any:  # noqa: ANN401 - a text or None
        """The text of a lesson; ``None`` if there is none."""
        return self.lessons.rows.get((SyncKind.LESSON, name), {}).get("text")


async def sync_devices(*devices: LessonsDevice, rounds: int = 3) -> list[list[str]]:
    """Sync devices in turn until all have everything; return the problems of the last round."""
    problems: list[list[str]] = []
    for _ in range(rounds):
        problems = [list((await device.sync()).problems) for device in devices]
    return problems
