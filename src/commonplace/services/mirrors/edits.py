"""Reading a mirror: a note that was edited changes its memory, and a note that was deleted becomes a question.

Source: MIR-02.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.text import is_blank
from commonplace.knowledge import Fact, KnowledgeMemory, Rule
from commonplace.services.lineage.successors import successor
from commonplace.services.mirrors.forms import name_of
from commonplace.services.mirrors.notes import MirrorNote, place_of, text_digest
from commonplace.services.mirrors.registry import NoteRecord
from commonplace.services.mirrors.update import MirrorChange, MirrorUpdate

EDITOR: Final = "mirror"
"""The actor of edits that were read from a mirror."""


class EditReader:
    """Reads edits and deletions from mirrors.

    Args:
        knowledge: Knowledge memory, of the tenant whose memories they show.
    """

    def __init__(self, knowledge: KnowledgeMemory) -> None:
        self._knowledge = knowledge

    async def read(self, update: MirrorUpdate) -> None:
        """Read what a person, or an agent, changed in a mirror.

        Raises:
            StorageError: A memory cannot be read or written.
        """
        for mark, notes in update.disk.notes.items():
            update.notes[mark] = _counting(notes, update.records.get(mark), update.mirror.path)
            if mark not in update.records:
                await self._adopt(update, mark, update.notes[mark])
        for mark in list(update.records):
            await self._read_note(update, mark)

    async def _adopt(self, update: MirrorUpdate, mark: str, note: MirrorNote) -> None:
        """Record a note that this home does not know, as after the loss of its list; its text counts as an edit."""
        memory = await self._standing(mark)
        if memory is not None:
            update.note(mark, note, name_of(memory), text_digest(memory.content))

    async def _read_note(self, update: MirrorUpdate, mark: str) -> None:
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
                "it was edited, and its memory was replaced or forgotten: edit it once more, or delete it",
            )
        elif is_blank(note.text):
            update.refuse(mark, note, "it is empty: delete it, and review asks whether to forget its memory")
        elif record.refused != note.digest:
            await self._store_edit(update, mark, note, memory)

    def _read_deletion(self, update: MirrorUpdate, mark: str, memory: Fact | Rule | None) -> None:
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

    async def _store_edit(
        self, update: MirrorUpdate, mark: str, note: MirrorNote, memory: Fact | Rule
    ) -> None:
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


def is_undecided(record: NoteRecord, memory: Fact | Rule) -> bool:
    """Return whether a person must still say what a deleted note means: nobody confirmed the memory since."""
    confirmed_at = memory.last_confirmed_at
    return record.deleted_at is None or confirmed_at is None or confirmed_at <= record.deleted_at


def _counting(notes: Sequence[MirrorNote], record: NoteRecord | None, folder: Path) -> MirrorNote:
    """Return the note that counts among copies: that at the known place, else the only edited one, else the first."""
    if record is None or len(notes) == 1:
        return notes[0]
    at_place = [note for note in notes if place_of(note.path, folder) == record.place]
    edited = [note for note in notes if note.digest != record.digest]
    return (at_place or (edited if len(edited) == 1 else []) or list(notes))[0]
