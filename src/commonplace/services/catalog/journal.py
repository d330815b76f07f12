"""The journal of changes: what the catalog needs to undo them, in a file of the home.

Each line is one change as JSON. Undoing a change removes its line. An erasure removes the lines that name its subject,
like those of any other file of lines in the home. Several processes may use the file at once.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.directories import make_directories
from commonplace.core.json_values import json_safe
from commonplace.core.sources import Source
from commonplace.services.catalog.entries import Verb
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.storage.file_locks import FileLock

FILE: Final = "undo.jsonl"
LOCK: Final = "undo.lock"
LOCK_TIMEOUT_S: Final = 5.0
MOST: Final = 500
"""The maximum number of changes; older ones can no longer be undone."""

KEPT_FOR: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A change that can be undone.

    Attributes:
        kind: The kind of the memory.
        key: The full id of the memory after the change.
        was: Short ids that name the memory too, such as that of the fact that an edit replaced.
        tenant_id: The owner of the memory.
        source: Who made the change.
        state: What the shelf of the kind needs to undo the change, as JSON.
        at: Aware UTC.
    """

    kind: MemoryKind
    key: str
    verb: Verb
    was: tuple[str, ...]
    tenant_id: str
    source: Source
    state: Mapping[str, object]
    at: datetime

    @property
    def memory_id(self) -> MemoryId:
        """The id of the memory after the change."""
        return MemoryId.of(self.kind, self.key)

    def is_about(self, memory_id: MemoryId) -> bool:
        """Return whether the change was made to the memory with an id, its beginning, or a former id."""
        ids = (str(self.memory_id), *self.was)
        named = str(memory_id)
        return memory_id.kind is self.kind and any(
            each.startswith(named) or named.startswith(each) if _is_head(each) else each == named
            for each in ids
        )


class Journal:
    """The changes of a home that can be undone."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._lock_path = home / LOCK

    def add(self, entry: JournalEntry) -> None:
        """Add a change, and drop the oldest and those older than 30 days.

        Raises:
            OSError: The file cannot be written; it is as it was.
            StorageUnavailableError: Another process holds the file for too long.
        """
        with self._locked():
            entries = [each for each in self._read() if each.at > entry.at - KEPT_FOR]
            self._write([*entries, entry][-MOST:])

    def latest(self, tenant_id: str, memory_id: MemoryId | None = None) -> JournalEntry | None:
        """Return the latest change of a tenant, or of one of its memories; ``None`` if there is none.

        Raises:
            OSError: The file cannot be read.
        """
        entries = [each for each in self._read() if each.tenant_id == tenant_id]
        about = entries if memory_id is None else [each for each in entries if each.is_about(memory_id)]
        return about[-1] if about else None

    def remove(self, entry: JournalEntry) -> None:
        """Remove a change, if it is there. For errors see :meth:`add`."""
        with self._locked():
            entries = self._read()
            if entry in entries:
                self._write([each for each in entries if each != entry])

    @contextmanager
    def _locked(self) -> Generator[None]:
        make_directories(self._path.parent)
        with FileLock(self._lock_path) as lock:
            lock.require(timeout_s=LOCK_TIMEOUT_S)
            yield

    def _read(self) -> list[JournalEntry]:
        """Return the changes in the file; a line that is no change is ignored."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [entry for line in lines if (entry := _read_line(line)) is not None]

    def _write(self, entries: Sequence[JournalEntry]) -> None:
        lines = [
            json.dumps(json_safe(asdict(each) | {"at": format_timestamp(each.at)}), ensure_ascii=False)
            for each in entries
        ]
        write_text(self._path, "".join(f"{line}\n" for line in lines))


def _read_line(line: bytes) -> JournalEntry | None:
    try:
        return _entry(cast("dict[str, Any]", json.loads(line)))
    except (ValueError, KeyError, TypeError):
        return None


def _entry(values: dict[str, Any]) -> JournalEntry:
    return JournalEntry(
        kind=MemoryKind(values["kind"]),
        key=str(values["key"]),
        verb=Verb(values["verb"]),
        was=tuple(values["was"]),
        tenant_id=str(values["tenant_id"]),
        source=Source(values["source"]),
        state=values["state"],
        at=parse_timestamp(values["at"]),
    )


def _is_head(short: str) -> bool:
    """Return whether an id is the beginning of a UUID, which may be longer elsewhere."""
    return not short.partition(":")[2].isdigit() or short[0] in "fren"
