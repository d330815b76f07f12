"""The journal of changes: what the catalog needs to undo them, in a file of the home.

Each line is one change as JSON. Undoing a change removes its line. An erasure removes the lines that name its subject,
like those of any other file of lines in the home. Several processes may use the file at once.
"""

import fcntl
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.json_values import json_safe
from commonplace.core.sources import Source
from commonplace.services.catalog.entries import Verb
from commonplace.services.memory_ids import MemoryId, MemoryKind

FILE: Final = "undo.jsonl"
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

    def add(self, entry: JournalEntry) -> None:
        """Add a change, and drop the oldest and those older than 30 days.

        Raises:
            OSError: The file cannot be written.
        """
        with self._locked() as file:
            kept = [each for each in _read(file) if each.at > entry.at - KEPT_FOR]
            _write(file, [*kept, entry][-MOST:])

    def latest(self, tenant_id: str, memory_id: MemoryId | None = None) -> JournalEntry | None:
        """Return the latest change of a tenant, or of one of its memories; ``None`` if there is none.

        Raises:
            OSError: The file cannot be read.
        """
        if not self._path.exists():
            return None
        with self._locked() as file:
            entries = [each for each in _read(file) if each.tenant_id == tenant_id]
        about = entries if memory_id is None else [each for each in entries if each.is_about(memory_id)]
        return about[-1] if about else None

    def remove(self, entry: JournalEntry) -> bool:
        """Remove a change, and return whether it was there: of two processes, only one undoes it.

        Raises:
            OSError: The file cannot be written.
        """
        with self._locked() as file:
            entries = _read(file)
            kept = [each for each in entries if each != entry]
            _write(file, kept)
        return len(kept) < len(entries)

    @contextmanager
    def _locked(self) -> Generator[BinaryIO]:
        """Open the file for this process alone; a lock ends with its process."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _read(file: BinaryIO) -> list[JournalEntry]:
    """Return the changes in a file; a line that an interrupted write left behind is ignored."""
    file.seek(0)
    entries: list[JournalEntry] = []
    for line in file:
        try:
            entries.append(_entry(cast("dict[str, Any]", json.loads(line))))
        except (ValueError, KeyError, TypeError):
            continue
    return entries


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


def _write(file: BinaryIO, entries: Sequence[JournalEntry]) -> None:
    lines = [
        json.dumps(json_safe(asdict(each) | {"at": format_timestamp(each.at)}), ensure_ascii=False)
        for each in entries
    ]
    file.seek(0)
    file.truncate()
    file.write("".join(f"{line}\n" for line in lines).encode())
    file.flush()
    os.fsync(file.fileno())


def _is_head(short: str) -> bool:
    """Return whether an id is the beginning of a UUID, which may be longer elsewhere."""
    return not short.partition(":")[2].isdigit() or short[0] in "fren"
