"""Bringing a mirror and the memory up to date with each other.

First the mirror is read: a note that was edited changes its memory, and a note that was deleted becomes a question in
review. Then it is written: new memories, changed ones, and those that no longer belong there. A note that differs from
what was written into it is never overwritten or deleted.

Source: MIR-01, MIR-02.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
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
from commonplace.core.text import is_blank
from commonplace.knowledge import Fact, KnowledgeMemory, MemoryType, Rule, short_id
from commonplace.services.mirrors.choosing import chosen
from commonplace.services.mirrors.forms import LAYOUTS, Layout, NoteContent, name_of, title_of
from commonplace.services.mirrors.notes import (
    READABLE,
    MirrorNote,
    notes_in,
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
    LEFT = "left"
    """The note, or the memory, was left as it is, for the reason that the line tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorLine:
    """One line of a report.

    Attributes:
        file: The file in the mirror; empty for a memory without one.
        text: The text of the memory, or why nothing happened.
        memory_id: The short id of the memory.
    """

    change: MirrorChange
    file: str
    text: str
    memory_id: str


@dataclass(slots=True)
class _Update:
    """The state of one update: what is on disk, what was written before, and the report."""

    mirror: Mirror
    layout: Layout
    notes: dict[str, MirrorNote]
    records: dict[str, NoteRecord]
    lines: list[MirrorLine] = field(default_factory=list[MirrorLine])

    def report(self, change: MirrorChange, name: str, path: Path | None, text: str) -> None:
        """Add a line."""
        file = "" if path is None else _relative(path, self.mirror.path)
        kind, _, id_ = name.partition(":")
        short = short_id(MemoryType(kind), UUID(id_))
        self.lines.append(MirrorLine(change=change, file=file, text=text, memory_id=short))


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
            InvalidInputError: The file with lines has a begin mark without an end mark, or is not UTF-8.
            StorageError: A memory or file cannot be read or written. A repetition goes on.
        """
        async with self._updating(mirror) as update:
            if await asyncio.to_thread(_is_gone, mirror.path):
                update.records.clear()
            else:
                await self._read(update)
            await self._write(update)
        return update.lines

    async def read_all(self, *, scope: str | None = None, wait_s: float = LOCK_TIMEOUT_S) -> list[MirrorLine]:
        """Read the edits of all mirrors of this tenant, and return what changed; nothing is written into mirrors.

        A mirror that cannot be read, or whose folder is gone or empty, is left for later.

        Args:
            scope: Only mirrors of this scope; ``None`` for all.
            wait_s: How long to wait for another process that works on the mirrors.
        """
        lines: list[MirrorLine] = []
        for mirror in self._registry.list():
            is_own = mirror.tenant_id == self._knowledge.tenant_id and scope in {None, mirror.scope}
            if not is_own or LAYOUTS[mirror.form].note is None:
                continue
            try:
                async with self._updating(mirror, wait_s=wait_s) as update:
                    if not await asyncio.to_thread(_is_gone, mirror.path):
                        await self._read(update)
            except CommonplaceError as error:
                line = MirrorLine(
                    change=MirrorChange.LEFT, file=str(mirror.path), text=str(error), memory_id=""
                )
                lines.append(line)
            else:
                lines += update.lines
        return lines

    @asynccontextmanager
    async def _updating(self, mirror: Mirror, *, wait_s: float = LOCK_TIMEOUT_S) -> AsyncGenerator[_Update]:
        """Yield the state of a mirror, and store what was written even if the block fails."""
        try:
            async with self._registry.locked(wait_s=wait_s):
                known = [each for each in self._registry.list() if each.path == mirror.path]
                before = next((each for each in known if each.form is mirror.form), mirror)
                layout = LAYOUTS[mirror.form]
                notes = {} if layout.note is None else await asyncio.to_thread(notes_in, mirror.path)
                update = _Update(mirror, layout, notes, dict(before.notes))
                try:
                    yield update
                finally:
                    after = replace(mirror, notes=update.records)
                    if after != before or not known:
                        await asyncio.to_thread(self._registry.put, after)
        except OSError as error:
            reason = error.strerror or error
            raise StorageUnavailableError(f"{error.filename or mirror.path}: {reason}") from error

    async def _read(self, update: _Update) -> None:
        for name, record in list(update.records.items()):
            memory = await self._current(name)
            note = update.notes.get(name)
            if note is None:
                self._read_deletion(update, name, record, memory)
            elif note.digest != record.digest:
                await self._read_edit(update, note, memory)
            elif record.deleted_at is not None:
                update.records[name] = replace(record, deleted_at=None)

    def _read_deletion(
        self, update: _Update, name: str, record: NoteRecord, memory: Fact | Rule | None
    ) -> None:
        """Note that a note was deleted; a memory that was confirmed since gets a new one."""
        if memory is None or not waits(record, memory):
            del update.records[name]
        elif record.deleted_at is None:
            update.records[name] = replace(record, deleted_at=self._knowledge.clock())
            update.report(MirrorChange.DELETED, name, None, memory.content)

    async def _read_edit(self, update: _Update, note: MirrorNote, memory: Fact | Rule | None) -> None:
        """Give a memory the text of its note."""
        if memory is not None and text_digest(memory.content) == note.digest:
            update.records[note.name] = NoteRecord(digest=note.digest)
            return
        if memory is None or is_blank(note.text):
            reason = (
                "it was edited, and its memory was replaced or forgotten"
                if memory is None
                else "it is empty: delete it, and review asks whether to forget its memory"
            )
            update.report(MirrorChange.LEFT, note.name, note.path, reason)
            return
        knowledge = self._knowledge.acting_for(
            tenant_id=self._knowledge.tenant_id, actor=EDITOR, source=update.layout.edits_by
        )
        try:
            edited = await knowledge.edit(memory.memory_type, memory.id, note.text)
        except (InvalidInputError, NotFoundError) as error:
            update.report(MirrorChange.LEFT, note.name, note.path, str(error))
            return
        record = NoteRecord(digest=note.digest)
        if not isinstance(edited, Fact | Rule) or not edited.is_current:
            update.records[note.name] = record
            update.report(MirrorChange.HELD, note.name, note.path, note.text)
            return
        del update.records[note.name]
        del update.notes[note.name]
        moved = replace(note, name=name_of(edited))
        draft = self._draft(update, edited)
        await asyncio.to_thread(rewrite_note, note, draft)
        update.records[moved.name] = NoteRecord(digest=text_digest(draft.text))
        update.notes[moved.name] = replace(moved, text=draft.text)
        update.report(MirrorChange.EDITED, moved.name, note.path, edited.content)

    async def _write(self, update: _Update) -> None:
        memories = [each for each in await chosen(self._knowledge, update.mirror) if _may_leave(update, each)]
        if update.layout.note is not None:
            await asyncio.to_thread(self._write_notes, update, memories)
        if update.layout.file:
            await asyncio.to_thread(self._write_lines, update, memories)

    def _write_notes(self, update: _Update, memories: Sequence[Fact | Rule]) -> None:
        wanted = {name_of(each): each for each in memories}
        for name in [name for name in update.records if name not in wanted]:
            self._remove(update, name)
        for name, memory in wanted.items():
            record, note = update.records.get(name), update.notes.get(name)
            draft = self._draft(update, memory)
            digest = text_digest(draft.text)
            if note is None and record is None:
                taken = [each.path for each in update.notes.values()]
                path = write_note(update.mirror.path, draft, taken)
                update.notes[name] = MirrorNote(path=path, name=name, text=draft.text)
                update.report(MirrorChange.WRITTEN, name, path, memory.content)
            elif note is None or note.digest == digest:
                pass
            elif record is not None and record.digest == note.digest:
                rewrite_note(note, draft)
                update.report(MirrorChange.CHANGED, name, note.path, memory.content)
            else:
                reason = "it differs from what was written into it"
                update.report(MirrorChange.LEFT, name, note.path, reason)
                continue
            if name in update.notes:
                update.records[name] = NoteRecord(digest=digest)

    def _remove(self, update: _Update, name: str) -> None:
        """Delete the note of a memory that no longer belongs to a mirror, unless it was edited."""
        note = update.notes.get(name)
        if note is not None and note.digest != update.records[name].digest:
            return
        if note is not None:
            note.path.unlink(missing_ok=True)
            update.report(MirrorChange.REMOVED, name, note.path, note.text)
        del update.records[name]

    def _write_lines(self, update: _Update, memories: Sequence[Fact | Rule]) -> None:
        path = file_with_lines(update.mirror)
        before = _text_of(path)
        named = [
            (note.path.name, each) if (note := update.notes.get(name_of(each))) else ("", each)
            for each in memories
            if update.layout.note is None or name_of(each) in update.notes
        ]
        after = with_own_lines(before.replace("\r\n", "\n"), update.layout.lines(named))
        if "\r\n" in before:
            after = after.replace("\n", "\r\n")
        if after == before:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()  # Often one file of instructions is a link to another.
        mode = real.stat().st_mode & 0o777 if real.exists() else READABLE
        write_text(real, after, mode=mode)
        change = MirrorChange.CHANGED if before else MirrorChange.WRITTEN
        line = MirrorLine(change=change, file=path.name, text=f"{len(named)} memories", memory_id="")
        update.lines.append(line)

    def _draft(self, update: _Update, memory: Fact | Rule) -> NoteContent:
        assert update.layout.note is not None  # noqa: S101 - only forms with notes come here
        return update.layout.note(memory)

    async def _current(self, name: str) -> Fact | Rule | None:
        """Return the memory of a note; ``None`` if it was replaced or forgotten."""
        kind, _, id_ = name.partition(":")
        try:
            memory = await self._knowledge.read(kind, id_)
        except NotFoundError:
            return None
        return memory if isinstance(memory, Fact | Rule) and memory.is_current else None


def file_with_lines(mirror: Mirror) -> Path:
    """Return the file with lines: the path itself if it names a file in Markdown."""
    is_file = mirror.path.suffix.lower() == ".md" and not mirror.path.is_dir()
    return mirror.path if is_file else mirror.path / LAYOUTS[mirror.form].file


def waits(record: NoteRecord, memory: Fact | Rule) -> bool:
    """Return whether a person must still say what a deleted note means: nobody confirmed the memory since."""
    confirmed_at = memory.last_confirmed_at
    return record.deleted_at is None or confirmed_at is None or confirmed_at <= record.deleted_at


def summary(lines: Iterable[MirrorLine]) -> Mapping[MirrorChange, int]:
    """Return the number of lines of each change."""
    counts = Counter(line.change for line in lines)
    return {change: counts[change] for change in MirrorChange}


def _is_gone(folder: Path) -> bool:
    """Return whether a folder is missing or empty: its disk may not be mounted, or it was deleted as a whole."""
    return not folder.is_dir() or not any(folder.iterdir())


def _may_leave(update: _Update, memory: Fact | Rule) -> bool:
    """Return whether a memory may be written into files that other programs read; one with a secret may not."""
    secret = find_secret(memory.content) or find_secret(title_of(memory))
    if secret is not None:
        update.report(MirrorChange.LEFT, name_of(memory), None, f"it looks like it holds a {secret.kind}")
    return secret is None


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidInputError("file", "UTF-8", f"{path}: {error.reason}") from None
