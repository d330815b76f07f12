"""The catalog: one set of verbs over all memories."""

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import (
    CommonplaceError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
)
from commonplace.core.quoting import quoted
from commonplace.core.request_context import DEFAULT_TENANT, current_context
from commonplace.core.sources import Source
from commonplace.judge import remark
from commonplace.knowledge import EpisodeDraft, FactDraft, FactReceipt, RuleDraft
from commonplace.services.catalog.digests import Digests
from commonplace.services.catalog.entries import (
    CatalogChange,
    CatalogEntry,
    CatalogFilter,
    HistoryStep,
    MemoryState,
    Verb,
)
from commonplace.services.catalog.journal import Journal, JournalEntry
from commonplace.services.catalog.knowledge import Knowledge
from commonplace.services.catalog.lessons import Lessons
from commonplace.services.catalog.notes import Notes
from commonplace.services.catalog.rule_remarks import rule_note
from commonplace.services.catalog.shelf import Shelf, ShelfChange
from commonplace.services.code.sights import confirm_references
from commonplace.services.memory_ids import FORMS, MemoryId, MemoryKind, is_beginning, parse_memory_id
from commonplace.services.opening import OpenedMemories
from commonplace.workspace import Note, remark_on

_OVER: Final = frozenset({MemoryState.REPLACED, MemoryState.FORGOTTEN, MemoryState.EXPIRED})
_MOST_MERGES: Final = 20
_REPLACING: Final = {"replaces": True}
"""Marks the undo of a fact or rule that replaced another. It needs no more, because a link joins the two."""


class Catalog:
    """The verbs over all memories of a home, in the name of the caller of the request context.

    Ids are texts as people and models write them: see :mod:`commonplace.services.memory_ids`. The id of a memory that
    was replaced stands for the memory in its place, and receipts say so.
    """

    def __init__(self, memories: OpenedMemories, home: Path, *, clock: Clock = utc_now) -> None:
        self._memories = memories
        self._home = home
        self._journal = Journal(home)
        self._clock = clock

    async def show(self, memory_id: str) -> CatalogEntry:
        """Return the memory with an id, or the entity with a name, in any state, without counting a use.

        Raises:
            InvalidInputError: The text is neither an id nor a name, or fits several memories.
            NotFoundError: No memory has the id.
            StorageError: Its memory cannot be read.
        """
        return await self._get(await self._named(memory_id))

    async def about(self, entity: CatalogEntry) -> Sequence[CatalogEntry]:
        """Return the current facts about an entity, newest first.

        Raises:
            StorageError: Knowledge memory cannot be read.
        """
        return await self._knowledge().about(entity.memory_id)

    async def resolve(self, memory_id: str) -> tuple[CatalogEntry, str | None]:
        """Return the memory that an id stands for, and the id if the memory with it was replaced.

        For errors see :meth:`show`.
        """
        asked = entry = await self._get(await self._parse(memory_id))
        for _ in range(_MOST_MERGES):
            if entry.replaced_by is None:
                break
            entry = await self._get(await self._parse(entry.replaced_by))
        return entry, None if entry.id == asked.id else asked.id

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:
        """Return the memories of a kind that pass a filter, newest first; entities by name.

        Raises:
            StorageError: Their memory cannot be read.
        """
        return await self._shelf(kind).list(kind, narrowing)

    async def history(self, memory_id: str) -> Sequence[HistoryStep]:
        """Return the changes of the memory with an id, or the facts about a name over time, oldest first.

        For errors see :meth:`show`.
        """
        try:
            key = await self._named(memory_id)
        except (InvalidInputError, NotFoundError):
            if _is_name(memory_id) and (facts := await self._knowledge().timeline(memory_id)):
                return facts
            raise
        return await self._shelf(key.kind).history(key)

    async def add_fact(
        self, draft: FactDraft, *, replaces: str | None = None, allow_secrets: bool = False
    ) -> CatalogChange:
        """Store a fact; it replaces the fact of the same subject, predicate and scope, which then counts as an edit.

        Args:
            draft: The fact.
            replaces: The id of another fact that this one replaces.
            allow_secrets: Whether text that looks like a secret is stored.

        Raises:
            InvalidInputError: A value is malformed, or looks like a secret; nothing was written.
            NotFoundError: There is no fact to replace with the id; nothing was written.
            ConflictError: The fact to replace does not hold any more; nothing was written.
            StorageError: Knowledge memory cannot be written.
        """
        receipt = await self._memories.knowledge().store_fact(
            **_said_now(draft),
            replaces=await self._replaced(replaces, MemoryKind.FACT),
            allow_secrets=allow_secrets,
        )
        entry = await self._get(MemoryId.of(MemoryKind.FACT, receipt.id))
        note, text = fact_note(receipt), receipt.superseded_text
        if text is None:
            return self._kept(Verb.ADD, ShelfChange(entry=entry, note=note))
        return self._replacing(
            ShelfChange(entry=entry, undo=_REPLACING, note=note),
            old=MemoryId.of(MemoryKind.FACT, receipt.superseded_id),
            text=text,
        )

    async def add_rule(
        self, draft: RuleDraft, *, replaces: str | None = None, allow_secrets: bool = False
    ) -> CatalogChange:
        """Store a rule, in place of another if ``replaces`` is its id. For errors see :meth:`add_fact`."""
        receipt = await self._memories.knowledge().store_rule(
            **_said_now(draft),
            replaces=await self._replaced(replaces, MemoryKind.RULE),
            allow_secrets=allow_secrets,
        )
        note, text = rule_note(receipt), receipt.superseded_text
        if text is None or receipt.repeated:
            return await self._added(MemoryKind.RULE, receipt.id, note=note, repeated=receipt.repeated)
        entry = await self._get(MemoryId.of(MemoryKind.RULE, receipt.id))
        return self._replacing(
            ShelfChange(entry=entry, undo=_REPLACING, note=note),
            old=MemoryId.of(MemoryKind.RULE, receipt.superseded_id),
            text=text,
        )

    async def add_episode(self, draft: EpisodeDraft, *, allow_secrets: bool = False) -> CatalogChange:
        """Store an episode. For errors see :meth:`add_fact`."""
        (receipt,) = await self._memories.knowledge().store_episodes([draft], allow_secrets=allow_secrets)
        return await self._added(MemoryKind.EPISODE, receipt.id)

    async def add_lesson(
        self, text: str, *, category: str, service: str | None = None, allow_secrets: bool = False
    ) -> CatalogChange:
        """Store a lesson. For errors see :meth:`OperationalMemory.add`."""
        receipt = await self._memories.operational().add(
            category=category, observation=text, service=service, allow_secrets=allow_secrets
        )
        return await self._added(MemoryKind.LESSON, receipt.id)

    async def add_note(
        self,
        text: str,
        *,
        tags: Sequence[str] = (),
        scope: str | None = None,
        replaces: str | None = None,
        allow_secrets: bool = False,
    ) -> CatalogChange:
        """Store a note of the workspace. For errors see :meth:`WorkspaceMemory.store`."""
        receipt = await self._memories.workspace().store(
            text,
            tags=tags,
            scope=scope,
            replaces=await self._replaced(replaces, MemoryKind.NOTE),
            allow_secrets=allow_secrets,
        )
        pruned = ", ".join(str(MemoryId.of(MemoryKind.NOTE, each.id)) for each in receipt.pruned)
        full = f"The workspace is full, so the oldest notes were deleted: {pruned}." if pruned else ""
        note = " ".join(filter(None, (remark_on(receipt, named=_note_id), full)))
        if receipt.replaced is None:
            return await self._added(MemoryKind.NOTE, receipt.id, note=note, repeated=receipt.repeated)
        entry = await self._get(MemoryId.of(MemoryKind.NOTE, receipt.id))
        return self._replacing(
            ShelfChange(entry=entry, undo={"replaced": receipt.replaced.id}, note=note),
            old=MemoryId.of(MemoryKind.NOTE, receipt.replaced.id),
            text=receipt.replaced.text,
        )

    async def edit(self, memory_id: str, content: str, *, allow_secrets: bool = False) -> CatalogChange:
        """Change the text of a memory; a fact or rule gets a new id, and the old id leads to it.

        Raises:
            InvalidInputError: The text is no id, several memories have it, or the new text is not accepted.
            NotFoundError: No memory has the id.
            ConflictError: The kind or the state of the memory does not allow the change.
            StorageError: Its memory cannot be written.
        """
        before, instead_of = await self._current(memory_id)
        done = await self._shelf(before.kind).edit(before.memory_id, content, allow_secrets=allow_secrets)
        change = self._kept(Verb.EDIT, done, was=before.id, instead_of=instead_of)
        return replace(change, before=before.content)

    async def confirm(self, memory_id: str) -> CatalogChange:
        """Say that a memory still holds, so that it does not fade. For errors see :meth:`edit`.

        Later checks compare the code that the memory names with the code of today.
        """
        entry, instead_of = await self._current(memory_id)
        done = await self._shelf(entry.kind).confirm(entry.memory_id)
        await asyncio.to_thread(confirm_references, self._home, (entry.text, entry.content))
        return self._kept(Verb.CONFIRM, done, instead_of=instead_of)

    async def pin(self, memory_id: str, *, pinned: bool = True) -> CatalogChange:
        """Show a fact or rule in every prompt of its scope, or only where relevant. For errors see :meth:`edit`."""
        entry, instead_of = await self._current(memory_id)
        verb = Verb.PIN if pinned else Verb.UNPIN
        if entry.pinned is pinned and entry.kind in {MemoryKind.FACT, MemoryKind.RULE}:
            state = "pinned already" if pinned else "not pinned"
            return CatalogChange(verb=verb, entry=entry, instead_of=instead_of, note=f"It is {state}.")
        done = await self._shelf(entry.kind).pin(entry.memory_id, pinned=pinned)
        return self._kept(verb, done, instead_of=instead_of)

    async def forget(self, memory_id: str) -> CatalogChange:
        """Remove a memory from every search and prompt. For further errors see :meth:`edit`.

        The journal has what an undo needs before the memory is gone.

        Raises:
            StorageUnavailableError: The journal cannot be written; nothing was forgotten.
        """
        entry, instead_of = await self.resolve(memory_id)
        if entry.state in _OVER or (entry.state is MemoryState.INACTIVE and entry.confidence == 0.0):
            return CatalogChange(
                verb=Verb.FORGET, entry=entry, instead_of=instead_of, note=f"It is {entry.state} already."
            )
        shelf = self._shelf(entry.kind)
        before = ShelfChange(entry=entry, undo=await shelf.keep_for_undo(entry.memory_id))
        line = self._journal_entry(Verb.FORGET, before, None)
        try:
            self._journal.add(line)
        except OSError as error:
            reason = f"{entry.id} was not forgotten, because the journal of undo cannot be written"
            raise StorageUnavailableError(f"{reason}: {error.strerror}") from error
        try:
            forgotten = await shelf.forget(entry.memory_id)
        except CommonplaceError:
            self._journal.remove(line)
            raise
        return CatalogChange(verb=Verb.FORGET, entry=forgotten, undo=entry.id, instead_of=instead_of)

    async def undo(self, memory_id: str | None = None) -> CatalogChange:
        """Undo the latest change that the catalog made, or its latest change of one memory.

        Raises:
            InvalidInputError: The text is no id.
            NotFoundError: There is no change to undo: none was made, or it is older than 30 days.
            ConflictError: The change can no longer be undone, or an agent asks and a person made the change.
            StorageError: Its memory cannot be written.
        """
        key = None if memory_id is None else await self._parse(memory_id)
        entry = self._journal.latest(_tenant_id(), key)
        if entry is None:
            raise NotFoundError("change to undo", memory_id or "latest")
        if entry.source is Source.PERSON and _source() is not Source.PERSON:
            message = f"A person made the latest change of {entry.memory_id}, so a person must undo it"
            raise ConflictError("id", f"{message}: commonplace undo {entry.memory_id}", memory_id)
        try:
            done = await self._shelf(entry.kind).undo(entry.memory_id, entry.verb, entry.state)
        except (ConflictError, NotFoundError):
            self._journal.remove(entry)  # It will never succeed, and must not stand before older changes.
            raise
        self._journal.remove(entry)
        return CatalogChange(verb=entry.verb, entry=done.entry, undone=True, note=done.note)

    async def _replaced(self, memory_id: str | None, kind: MemoryKind) -> str | None:
        """Return the full id of the memory that a new memory of a kind replaces.

        Raises:
            InvalidInputError: The text is no id, or the memory is of another kind.
            NotFoundError: No memory has the id.
        """
        if memory_id is None:
            return None
        try:
            parsed = await self._parse(memory_id)
        except InvalidInputError as error:
            raise InvalidInputError("replaces", error.expected, memory_id) from None
        if parsed.kind is not kind:
            raise InvalidInputError("replaces", f"the id of a {kind}", memory_id)
        return parsed.full

    def _replacing(self, done: ShelfChange, *, old: MemoryId, text: str) -> CatalogChange:
        """Return the receipt of a memory that replaced an old one with a text."""
        return replace(self._kept(Verb.EDIT, done, was=str(old)), verb=Verb.ADD, before=text)

    async def _added(
        self, kind: MemoryKind, key: object, *, note: str = "", repeated: bool = False
    ) -> CatalogChange:
        """Return the receipt of a stored memory; if it was there before, there is nothing to undo."""
        done = ShelfChange(entry=await self._get(MemoryId.of(kind, key)), note=note)
        return self._kept(Verb.ADD, replace(done, undo=None) if repeated else done)

    def _kept(
        self, verb: Verb, done: ShelfChange, *, was: str | None = None, instead_of: str | None = None
    ) -> CatalogChange:
        """Write a change into the journal, and return its receipt."""
        entry, note, undo = done.entry, done.note, None
        if done.undo is not None:
            try:
                self._journal.add(self._journal_entry(verb, done, was))
                undo = entry.id
            except OSError as error:
                note = f"{note} The change cannot be undone, because the journal cannot be written: {error.strerror}."
        return CatalogChange(verb=verb, entry=entry, undo=undo, instead_of=instead_of, note=note.strip())

    def _journal_entry(self, verb: Verb, done: ShelfChange, was: str | None) -> JournalEntry:
        return JournalEntry(
            kind=done.entry.kind,
            key=done.entry.full_id,
            verb=verb,
            was=() if was is None or was == done.entry.id else (was,),
            tenant_id=_tenant_id(),
            source=_source(),
            state=done.undo or {},
            at=self._clock(),
        )

    async def _current(self, memory_id: str) -> tuple[CatalogEntry, str | None]:
        """Return the memory that an id stands for, if it still holds."""
        entry, instead_of = await self.resolve(memory_id)
        if entry.state in _OVER:
            message = f"{entry.id} is {entry.state}, so it cannot be changed. To undo its last change: "
            raise ConflictError("id", f"{message}commonplace undo {entry.id}", memory_id)
        return entry, instead_of

    async def _get(self, memory_id: MemoryId) -> CatalogEntry:
        try:
            return await self._shelf(memory_id.kind).get(memory_id)
        except NotFoundError:
            raise NotFoundError(memory_id.kind, str(memory_id)) from None

    async def _named(self, text: str) -> MemoryId:
        """Return the id that a text is, or that of the entity with this name."""
        try:
            return await self._parse(text)
        except (InvalidInputError, NotFoundError) as error:
            ids = await self._knowledge().named(text) if _is_name(text) else ()
            if len(ids) > 1:
                raise _several(ids, text) from None
            if ids:
                return ids[0]
            if isinstance(error, NotFoundError) or not _is_name(text):
                raise
            raise InvalidInputError("id", f"{FORMS}, or the name of an entity", text) from None

    async def _parse(self, text: str) -> MemoryId:
        parsed = text.strip() if is_beginning(text) else parse_memory_id(text)
        if isinstance(parsed, MemoryId):
            return parsed
        ids = await self._knowledge().find(parsed)
        if not ids:
            raise NotFoundError("memory", text)
        if len(ids) > 1:
            raise _several(ids, text)
        return ids[0]

    def _knowledge(self) -> Knowledge:
        return Knowledge(self._memories.knowledge())

    def _shelf(self, kind: MemoryKind) -> Shelf:
        match kind:
            case MemoryKind.LESSON:
                return Lessons(self._memories.operational())
            case MemoryKind.DIGEST:
                return Digests(self._memories.apps())
            case MemoryKind.NOTE:
                return Notes(self._memories.workspace())
            case _:
                return self._knowledge()


def _said_now(draft: FactDraft | RuleDraft) -> dict[str, Any]:
    """Return the fields of a draft of a statement that is made now; its time of confirmation is that of storing."""
    return {
        each.name: getattr(draft, each.name) for each in fields(draft) if each.name != "last_confirmed_at"
    }


def fact_note(receipt: FactReceipt) -> str:
    """Return what storing a fact did beside storing it, as sentences; empty if nothing."""
    sentences: list[str] = []
    if receipt.superseded_text is not None and receipt.superseded_id is not None:
        old = MemoryId.of(MemoryKind.FACT, receipt.superseded_id)
        until = receipt.superseded_until
        when = "." if until is None else f" from {until:%Y-%m-%d} on; until then the old value holds."
        same = ", which says the same in other words" if receipt.reworded else ""
        sentences.append(f"It replaces {old}{same}{when}")
    if receipt.current_text is not None:
        sentences.append(
            f"Its period has ended, so it is history; {quoted(receipt.current_text)} stays current."
        )
    if receipt.contradicts_id is not None:
        other = MemoryId.of(MemoryKind.FACT, receipt.contradicts_id)
        sentences.append(f"It is held, because it contradicts the more trusted {other}: commonplace review")
    if receipt.opposed_ids:
        opposed = [str(MemoryId.of(MemoryKind.FACT, each)) for each in receipt.opposed_ids]
        own = str(MemoryId.of(MemoryKind.FACT, receipt.id))
        sentences.append(remark(own, opposed=opposed, item="".join(f"{each}-{own}" for each in opposed[:1])))
    if receipt.near is not None:
        near = MemoryId.of(MemoryKind.FACT, receipt.near.id)
        sentences.append(
            f"{near} has nearly this key, {quoted(receipt.near.subject)} {quoted(receipt.near.predicate)}."
        )
    if receipt.period is not None:
        how = f": {receipt.period.remark}" if receipt.period.remark else ""
        sentences.append(f"Its period was read from the words {quoted(receipt.period.words)}{how}.")
    return " ".join(sentences)


def _note_id(note: Note) -> str:
    return str(MemoryId.of(MemoryKind.NOTE, note.id))


def _is_name(text: str) -> bool:
    return bool(text.strip()) and ":" not in text


def _several(ids: Sequence[MemoryId], text: str) -> InvalidInputError:
    return InvalidInputError("id", f"one of {', '.join(map(str, ids))}, because several memories fit", text)


def _tenant_id() -> str:
    context = current_context()
    return DEFAULT_TENANT if context is None else context.tenant_id


def _source() -> Source:
    """Return the source of the current work; without a context, a person works at this installation."""
    context = current_context()
    return Source.PERSON if context is None else context.source
