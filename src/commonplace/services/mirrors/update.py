"""An update of a mirror: what was written before, what is on disk, and the report.

Source: MIR-01.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from commonplace.knowledge import MemoryType, short_id
from commonplace.services.mirrors.forms import Layout
from commonplace.services.mirrors.notes import MirrorNote, NotesOnDisk, place_of
from commonplace.services.mirrors.registry import Mirror, NoteRecord


class MirrorChange(StrEnum):
    """The outcome for one memory or note of a mirror."""

    WRITTEN = "written"
    CHANGED = "changed"
    REMOVED = "removed"
    EDITED = "edited"
    """The note was edited, and its memory has the new text."""
    HELD = "held"
    """The edit contradicts a more trusted memory and waits in review."""
    DELETED = "deleted"
    """The note was deleted, and review asks whether to forget its memory."""
    SKIPPED = "skipped"
    """The note or memory stays as it is; the line has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorLine:
    """One line of a report.

    Attributes:
        file: The file in the mirror; empty for a memory without one.
        text: The text of the memory, or why nothing happened.
        memory_id: The short id of the memory; empty for lines of several.
    """

    change: MirrorChange
    file: str
    text: str
    memory_id: str


@dataclass(slots=True)
class MirrorUpdate:
    """The state of one update: the files, what was written before by mark, and the report.

    Attributes:
        notes: The note of each mark; of copies, the one that counts.
    """

    mirror: Mirror
    layout: Layout
    disk: NotesOnDisk
    records: dict[str, NoteRecord]
    notes: dict[str, MirrorNote] = field(default_factory=dict[str, MirrorNote])
    lines: list[MirrorLine] = field(default_factory=list[MirrorLine])

    def report(self, change: MirrorChange, name: str, path: Path | None, text: str) -> None:
        """Add a line about a memory."""
        file = "" if path is None else path.relative_to(self.mirror.path).as_posix()
        kind, _, id_ = name.partition(":")
        short = short_id(MemoryType(kind), UUID(id_))
        self.lines.append(MirrorLine(change=change, file=file, text=text, memory_id=short))

    def note(self, mark: str, note: MirrorNote, memory: str, digest: str) -> None:
        """Record what a note holds."""
        self.notes[mark] = note
        place = place_of(note.path, self.mirror.path)
        self.records[mark] = NoteRecord(memory=memory, digest=digest, place=place)

    def refuse(self, mark: str, note: MirrorNote, reason: str) -> None:
        """Report an edit that is not stored, once."""
        record = self.records[mark]
        if record.refused != note.digest:
            self.records[mark] = replace(record, refused=note.digest)
            self.report(MirrorChange.SKIPPED, record.memory, note.path, reason)
