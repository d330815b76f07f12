"""The shelf of workspace memory: notes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.services.catalog.entries import CatalogEntry, CatalogFilter, HistoryStep, MemoryState, Verb
from commonplace.services.catalog.shelf import ShelfChange, not_for, release
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.workspace import Note, NoteScope, WorkspaceMemory


class Notes:
    """Notes in the catalog."""

    def __init__(self, memory: WorkspaceMemory) -> None:
        self._memory = memory

    async def get(self, memory_id: MemoryId) -> CatalogEntry:
        """Return a note."""
        return self._entry(await self._memory.get(memory_id.full))

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:  # noqa: ARG002 - one kind
        """Return the notes of the workspace, newest first."""
        notes = (await self._memory.search(limit=None)).memories
        return [entry for each in notes if narrowing.matches(entry := self._entry(each))][: narrowing.limit]

    async def edit(self, memory_id: MemoryId, content: str, *, allow_secrets: bool) -> ShelfChange:
        """Change the text of a note."""
        before = await self._memory.get(memory_id.full)
        after = await self._memory.edit(before.id, content, allow_secrets=allow_secrets)
        return ShelfChange(entry=self._entry(after), undo={"text": before.text})

    async def confirm(self, memory_id: MemoryId) -> ShelfChange:
        """Let prompts show a flagged note."""
        note = await self._memory.get(memory_id.full)
        if not self._memory.quarantine.holds(note.text):
            raise not_for(memory_id, "confirm", "A note does not fade, so there is nothing to confirm.")
        release(self._memory.quarantine, memory_id, note.text)
        return ShelfChange(entry=self._entry(note), undo=None)

    async def pin(self, memory_id: MemoryId, *, pinned: bool) -> ShelfChange:
        """Refuse: notes are shown by the words of the message."""
        raise not_for(memory_id, "pin" if pinned else "unpin", "Only facts and rules can be pinned.")

    async def keep_for_undo(self, memory_id: MemoryId) -> Mapping[str, object]:
        """Return a note and its file."""
        note = await self._memory.get(memory_id.full)
        return {"note": _document(note), "file": str(self._memory.path)}

    async def forget(self, memory_id: MemoryId) -> CatalogEntry:
        """Delete a note; the journal keeps it for an undo."""
        note = (await self._memory.delete(memory_id.full)).deleted[0]
        return replace(self._entry(note), state=MemoryState.FORGOTTEN)

    async def undo(self, memory_id: MemoryId, verb: Verb, state: Mapping[str, object]) -> ShelfChange:
        """Restore the text or the note; a note that was added is deleted."""
        if verb is Verb.ADD:
            return ShelfChange(entry=await self.forget(memory_id))
        if verb is Verb.EDIT and "replaced" in state:
            pair = await self._memory.reviews.undo(str(state["replaced"]), memory_id.full)
            await self._memory.delete(memory_id.full)
            return ShelfChange(entry=self._entry(pair.older))
        if verb is Verb.EDIT:
            after = await self._memory.edit(
                memory_id.full, str(state["text"]), allow_secrets=True, is_new=False
            )
            return ShelfChange(entry=self._entry(after))
        if state["file"] != str(self._memory.path):
            raise not_for(memory_id, "restore", f"It belongs to the workspace of {state['file']}.")
        document = cast("Mapping[str, Any]", state["note"])
        note = Note(
            number=memory_id.number,
            text=document["text"],
            scope=NoteScope(document["scope"]),
            tags=tuple(document["tags"]),
            created_at=parse_timestamp(document["created_at"]),
        )
        return ShelfChange(entry=self._entry(await self._memory.restore(note)))

    async def history(self, memory_id: MemoryId) -> Sequence[HistoryStep]:
        """Return when a note was stored; its file keeps no other changes."""
        note = await self._memory.get(memory_id.full)
        return [HistoryStep(at=note.created_at, event="stored", actor="", text=note.text)]

    def _entry(self, note: Note) -> CatalogEntry:
        memory_id = MemoryId.of(MemoryKind.NOTE, note.id)
        held = self._memory.quarantine.holds(note.text)
        return CatalogEntry(
            id=str(memory_id),
            full_id=memory_id.full,
            kind=MemoryKind.NOTE,
            state=MemoryState.FLAGGED if held else MemoryState.CURRENT,
            text=note.text,
            content=note.text,
            about=", ".join(note.tags),
            created_at=note.created_at,
            fields={"id": note.id} | asdict(note),
        )


def _document(note: Note) -> dict[str, object]:
    created_at = format_timestamp(note.created_at, precision="seconds")
    return {"text": note.text, "scope": note.scope, "tags": list(note.tags), "created_at": created_at}
