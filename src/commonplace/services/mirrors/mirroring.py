"""Bringing a mirror and the memory up to date with each other.

First the mirror is read: a note that was edited changes its memory, and a note that was deleted becomes a question in
review. Then it is written: new memories, changed ones, and those that no longer belong there. A note that differs from
what was written into it is never overwritten or deleted.

Source: MIR-01, MIR-02.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from commonplace.core.atomic_write import write_text
from commonplace.core.errors import (
    CommonplaceError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
)
from commonplace.core.secrets import find_secret
from commonplace.core.text import is_blank, plural
from commonplace.knowledge import GLOBAL_SCOPE, Fact, KnowledgeMemory, MemoryType, Rule, short_id
from commonplace.services.lineage.successors import successor
from commonplace.services.mirrors.choosing import chosen
from commonplace.services.mirrors.forms import LAYOUTS, Layout, NoteContent, name_of
from commonplace.services.mirrors.notes import (
    READABLE,
    MirrorNote,
    NotesOnDisk,
    notes_in,
    place_of,
    read_note,
    rewrite_note,
    text_digest,
    write_note,
)
from commonplace.services.mirrors.registry import LOCK_TIMEOUT_S, Mirror, MirrorRegistry, NoteRecord
from commonplace.services.transfer.own_texts import with_own_lines

EDITOR: Final = "mirror"
"""The actor of edits that were read from a mirror."""


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
class _Update:
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


class MirrorKeeper:
    """Keeps the mirrors of a home up to date.

    Args:
        registry: The mirrors.
        knowledge: Knowledge memory, of the tenant whose memories they show.
    """

    def __init__(self, registry: MirrorRegistry, knowledge: KnowledgeMemory) -> None:
        self._registry = registry
        self._knowledge = knowledge

    async def update(self, mirror: Mirror) -> list[MirrorLine]:
        """Read the edits of a mirror, write what it lacks, and return what changed.

        Args:
            mirror: The mirror; what was written into its notes before is taken from the registry.

        Raises:
            InvalidInputError: The path is the mirror of another project or tenant; or the file with lines has several
                sections of commonplace, or one without an end, or is not UTF-8.
            StorageError: A memory or file cannot be read or written. A repetition goes on.
        """
        async with self._updating(mirror, wait_s=LOCK_TIMEOUT_S) as update:
            if not update.disk.places:  # It was deleted as a whole, or is new.
                update.records.clear()
            await self._read(update)
            await self._write(update)
        return update.lines

    async def read_all(self, *, scope: str | None = None, wait_s: float = LOCK_TIMEOUT_S) -> list[MirrorLine]:
        """Read the edits of all mirrors of this tenant, and return what changed; nothing is written into mirrors.

        A mirror that cannot be read is a line of the report; one whose folder is gone or has no note is left for later,
        because its disk may not be mounted.

        Args:
            scope: Only mirrors of this scope and global ones; ``None`` for all.
            wait_s: How long to wait for another process that works on the mirrors.
        """
        lines: list[MirrorLine] = []
        for mirror in self._registry.list():
            is_own = mirror.tenant_id == self._knowledge.tenant_id and LAYOUTS[mirror.form].note is not None
            if not is_own or (scope is not None and mirror.scope not in {scope, GLOBAL_SCOPE}):
                continue
            try:
                async with self._updating(mirror, wait_s=wait_s, as_registered=True) as update:
                    if update.disk.places:
                        await self._read(update)
            except CommonplaceError as error:
                text = str(error)
                lines.append(
                    MirrorLine(change=MirrorChange.SKIPPED, file=str(mirror.path), text=text, memory_id="")
                )
            else:
                lines += update.lines
        return lines

    @asynccontextmanager
    async def _updating(
        self, mirror: Mirror, *, wait_s: float, as_registered: bool = False
    ) -> AsyncGenerator[_Update]:
        """Yield the state of a mirror, and store what was written even if the block fails.

        Args:
            mirror: The mirror.
            wait_s: How long to wait for another process that works on the mirrors.
            as_registered: Whether what it shows is not changed, if it was changed meanwhile.
        """
        try:
            async with self._registry.locked(wait_s=wait_s):
                before = self._before(mirror)
                mirror = before if before is not None and as_registered else mirror
                layout = LAYOUTS[mirror.form]
                disk = (
                    NotesOnDisk() if layout.note is None else await asyncio.to_thread(notes_in, mirror.path)
                )
                update = _Update(mirror, layout, disk, dict(before.notes) if before else {})
                try:
                    yield update
                except BaseException:
                    if update.records:
                        self._store(update, before)
                    raise
                self._store(update, before)
        except OSError as error:
            reason = error.strerror or error
            raise StorageUnavailableError(f"{error.filename or mirror.path}: {reason}") from error

    def _store(self, update: _Update, before: Mirror | None) -> None:
        after = replace(update.mirror, notes=update.records)
        if after != before:
            self._registry.put(after)

    def _before(self, mirror: Mirror) -> Mirror | None:
        """Return the mirror as it is registered; ``None`` for a new one.

        Raises:
            InvalidInputError: It is that of another project or tenant.
        """
        key = (mirror.form, mirror.path)
        before = next((each for each in self._registry.list() if (each.form, each.path) == key), None)
        if before and (before.scope, before.tenant_id) != (mirror.scope, mirror.tenant_id):
            expected = f"another path: this is the mirror of {before.scope}"
            raise InvalidInputError("target", expected, str(mirror.path))
        return before

    async def _read(self, update: _Update) -> None:
        for mark, notes in update.disk.notes.items():
            update.notes[mark] = _counting(notes, update.records.get(mark), update.mirror.path)
            if mark not in update.records:
                await self._adopt(update, mark, update.notes[mark])
        for mark in list(update.records):
            await self._read_note(update, mark)

    async def _adopt(self, update: _Update, mark: str, note: MirrorNote) -> None:
        """Record a note that this home does not know, as after the loss of its list; its text counts as an edit."""
        memory = await self._standing(mark)
        if memory is not None:
            update.note(mark, note, name_of(memory), text_digest(memory.content))

    async def _read_note(self, update: _Update, mark: str) -> None:
        record, note = update.records[mark], update.notes.get(mark)
        memory = await self._standing(record.memory)
        is_replaced = memory is not None and name_of(memory) != record.memory
        if memory is not None:
            record = update.records[mark] = replace(record, memory=name_of(memory))
        if note is None:
            self._read_deletion(update, mark, memory)
        elif note.digest == record.digest or (memory and text_digest(memory.content) == note.digest):
            update.note(mark, note, record.memory, note.digest)
        elif memory is None or is_replaced:
            update.refuse(
                mark,
                note,
                "it was edited, and its memory was replaced or forgotten: delete it, or say it again",
            )
        elif is_blank(note.text):
            update.refuse(mark, note, "it is empty: delete it, and review asks whether to forget its memory")
        elif record.refused != note.digest:
            await self._store_edit(update, mark, note, memory)

    def _read_deletion(self, update: _Update, mark: str, memory: Fact | Rule | None) -> None:
        """Note that a note was deleted; a memory that was confirmed since gets a new one."""
        record = update.records[mark]
        if memory is None or not is_undecided(record, memory):
            del update.records[mark]
        elif record.place in update.disk.places:
            if record.refused != record.place:
                update.records[mark] = replace(record, refused=record.place)
                reason = "its note cannot be read: it is no UTF-8, or the line of commonplace in it is gone"
                update.report(MirrorChange.SKIPPED, record.memory, None, reason)
        elif record.deleted_at is None:
            update.records[mark] = replace(record, deleted_at=self._knowledge.clock())
            update.report(MirrorChange.DELETED, record.memory, None, memory.content)

    async def _store_edit(self, update: _Update, mark: str, note: MirrorNote, memory: Fact | Rule) -> None:
        """Give a memory the text of its note."""
        knowledge = self._knowledge.acting_for(
            tenant_id=self._knowledge.tenant_id, actor=EDITOR, source=update.layout.edits_by
        )
        try:
            edited = await knowledge.edit(memory.memory_type, memory.id, note.text)
        except (InvalidInputError, NotFoundError) as error:
            update.refuse(mark, note, f"the edit was not stored: {error}")
            return
        if not isinstance(edited, Fact | Rule) or not edited.is_current:
            record = update.records[mark]
            update.records[mark] = replace(record, refused=note.digest)
            update.report(MirrorChange.HELD, record.memory, note.path, note.text)
            return
        update.note(mark, note, name_of(edited), note.digest)
        update.report(MirrorChange.EDITED, name_of(edited), note.path, edited.content)

    async def _write(self, update: _Update) -> None:
        memories = [
            each for each in await chosen(self._knowledge, update.mirror) if _may_be_written(update, each)
        ]
        if update.layout.note is not None:
            await asyncio.to_thread(self._write_notes, update, memories)
        if update.layout.file:
            await asyncio.to_thread(self._write_lines, update, memories)

    def _write_notes(self, update: _Update, memories: Sequence[Fact | Rule]) -> None:
        assert update.layout.note is not None  # noqa: S101 - see the caller
        names = {name_of(each) for each in memories}
        for mark in [mark for mark, record in update.records.items() if record.memory not in names]:
            self._remove(update, mark)
        marks = defaultdict[str, list[str]](list)
        for mark, record in update.records.items():
            marks[record.memory].append(mark)
        taken = {path.name.casefold() for path in update.mirror.path.glob("*")}
        for memory in memories:
            content = update.layout.note(memory)
            try:
                for mark in marks[name_of(memory)]:
                    _rewrite(update, mark, memory, content)
                if not marks[name_of(memory)]:
                    note = write_note(update.mirror.path, content, taken)
                    update.note(note.mark, note, name_of(memory), note.digest)
                    update.report(MirrorChange.WRITTEN, name_of(memory), note.path, memory.content)
            except OSError as error:
                reason = f"its note cannot be written: {error.strerror or error}"
                update.report(MirrorChange.SKIPPED, name_of(memory), None, reason)

    def _remove(self, update: _Update, mark: str) -> None:
        """Delete the note of a memory that no longer belongs to a mirror, unless it was edited."""
        note, record = update.notes.get(mark), update.records[mark]
        if note is not None and (note.digest != record.digest or _was_changed(note)):
            return
        if note is not None:
            note.path.unlink(missing_ok=True)
            update.report(MirrorChange.REMOVED, record.memory, note.path, note.text)
        del update.records[mark]
        update.notes.pop(mark, None)

    def _write_lines(self, update: _Update, memories: Sequence[Fact | Rule]) -> None:
        path = file_with_lines(update.mirror)
        before = _text_of(path)
        files = {
            update.records[mark].memory: note.path.relative_to(update.mirror.path).as_posix()
            for mark, note in update.notes.items()
            if mark in update.records
        }
        has_notes = update.layout.note is not None
        named = [
            (files.get(name_of(each), ""), each)
            for each in memories
            if not has_notes or name_of(each) in files
        ]
        after = with_own_lines(
            before, [line for item in update.layout.lines(named) for line in item.split("\n")]
        )
        if after == before:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()  # Often one file of instructions is a link to another.
        mode = real.stat().st_mode & 0o777 if real.exists() else READABLE
        write_text(real, after, mode=mode)
        change = MirrorChange.CHANGED if before else MirrorChange.WRITTEN
        line = MirrorLine(
            change=change, file=path.name, text=plural(len(named), "memory", "memories"), memory_id=""
        )
        update.lines.append(line)

    async def _standing(self, name: str) -> Fact | Rule | None:
        """Return the current memory of a note, perhaps the one that replaced it; ``None`` if it was forgotten."""
        kind, _, id_ = name.partition(":")
        try:
            memory = await self._knowledge.read(kind, id_)
        except NotFoundError:
            return None
        if isinstance(memory, Fact | Rule) and memory.is_current:
            return memory
        return await successor(self._knowledge, memory)


def file_with_lines(mirror: Mirror) -> Path:
    """Return the file with lines: the path itself if it names a file in Markdown."""
    is_file = mirror.path.suffix.lower() == ".md" and not mirror.path.is_dir()
    return mirror.path if is_file else mirror.path / LAYOUTS[mirror.form].file


def is_undecided(record: NoteRecord, memory: Fact | Rule) -> bool:
    """Return whether a person must still say what a deleted note means: nobody confirmed the memory since."""
    confirmed_at = memory.last_confirmed_at
    return record.deleted_at is None or confirmed_at is None or confirmed_at <= record.deleted_at


def _rewrite(update: _Update, mark: str, memory: Fact | Rule, content: NoteContent) -> None:
    """Give a note the text of its memory, unless it has another one than was written into it."""
    note, digest = update.notes.get(mark), text_digest(content.text)
    if note is None or note.digest != update.records[mark].digest or note.digest == digest:
        return
    if rewrite_note(note, content):
        update.note(mark, replace(note, text=content.text), name_of(memory), digest)
        update.report(MirrorChange.CHANGED, name_of(memory), note.path, memory.content)


def _counting(notes: Sequence[MirrorNote], record: NoteRecord | None, folder: Path) -> MirrorNote:
    """Return the note that counts among copies: that at the known place, else the only edited one, else the first."""
    if record is None or len(notes) == 1:
        return notes[0]
    at_place = [note for note in notes if place_of(note.path, folder) == record.place]
    edited = [note for note in notes if note.digest != record.digest]
    return (at_place or (edited if len(edited) == 1 else []) or list(notes))[0]


def _may_be_written(update: _Update, memory: Fact | Rule) -> bool:
    """Return whether a memory may be written into files that other programs read; one with a secret may not."""
    key = (memory.subject, memory.predicate) if isinstance(memory, Fact) else ()
    secret = find_secret("\n".join([*key, *memory.tags, memory.content]))
    if secret is not None:
        update.report(MirrorChange.SKIPPED, name_of(memory), None, f"it looks like it holds a {secret.kind}")
    return secret is None


def _was_changed(note: MirrorNote) -> bool:
    """Return whether a person changed or deleted a note since it was read."""
    fresh = read_note(note.path)
    return fresh is None or fresh.digest != note.digest


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidInputError("file", "UTF-8", f"{path}: {error.reason}") from None
