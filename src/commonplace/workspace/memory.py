"""The facade of workspace memory: store, get, search, delete, and the block for every model call."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Self, TypeVar

from commonplace.core.choices import require_items
from commonplace.core.clock import Clock, require_moment, utc_now
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, StorageUnavailableError
from commonplace.core.pages import require_page
from commonplace.core.quarantine import Quarantine
from commonplace.core.request_context import current_actor
from commonplace.core.safe_text import refuse_secret
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import require_text
from commonplace.judge import Relatives
from commonplace.language.relative_days import with_dates, with_new_dates
from commonplace.workspace.model.bounds import MAX_RESULTS, MAX_TEXT_CHARS
from commonplace.workspace.model.config import MemoryConfig
from commonplace.workspace.model.memories import (
    DEFAULT_SCOPE,
    DamagedLine,
    Note,
    NoteDraft,
    require_id,
    require_scope,
    require_tags,
)
from commonplace.workspace.model.receipts import DeleteReceipt, StoreReceipt
from commonplace.workspace.parts.reviews import NoteReviews
from commonplace.workspace.rules.context_block import Message, insert_block, last_user_message, render, select
from commonplace.workspace.rules.relevance import NoteRelevance, rank
from commonplace.workspace.rules.repetition import find_repeated
from commonplace.workspace.rules.search import NoteSearch, search
from commonplace.workspace.store.config import load_config
from commonplace.workspace.store.file import DEFAULT_LOCK_TIMEOUT_S, MemoryStore

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class WorkspaceMemory:
    """The memory of one workspace. Use :meth:`open`.

    File work runs on a separate thread, so that a slow disk does not block the event loop. Each method checks its
    arguments at run time, because they often come from a model.

    Attributes:
        reviews: Pairs of notes that oppose each other, and what a person decided.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: MemoryConfig,
        *,
        clock: Clock,
        quarantine: Quarantine = Quarantine(),  # noqa: B008 - frozen
        zone: tzinfo = UTC,
    ) -> None:
        self._store = store
        self._clock = clock
        self.config = config
        """The settings in ``agent.json``."""
        self.quarantine = quarantine
        """The texts that the block leaves out."""
        self._zone = zone
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="workspace-memory")
        self.reviews = NoteReviews(store, clock, self._run)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        workspace: Path | str | None = None,
        clock: Clock = utc_now,
        lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S,
    ) -> AsyncGenerator[Self]:
        """Open the memory of a workspace for the ``async with`` block. Nothing is written before the first store.

        Args:
            settings: Give the quarantine, and the workspace if none is passed; loaded if ``None``.
            workspace: A directory, with or without ``agent.json`` and ``.aegis``.
            clock: Returns the current time.
            lock_timeout_s: How long a call waits for another process.

        Raises:
            InvalidInputError: The workspace is not a directory.
            SettingsError: ``agent.json`` cannot be used.
        """
        settings = settings or load_settings().settings
        workspace = Path(workspace or settings.workspace)
        config = await asyncio.to_thread(load_config, workspace)
        store = MemoryStore(workspace, max_total=config.max_total, lock_timeout_s=lock_timeout_s)
        memory = cls(store, config, clock=clock, quarantine=Quarantine.of(settings), zone=settings.zone)
        try:
            yield memory
        finally:
            await asyncio.to_thread(memory._thread.shutdown)
            store.close()

    @property
    def path(self) -> Path:
        """The path of the memory file, which may not exist yet."""
        return self._store.path

    async def store(
        self,
        text: str,
        *,
        tags: Sequence[str] | str | None = None,
        scope: str | None = DEFAULT_SCOPE,
        allow_secrets: bool = False,
        is_new: bool = True,
        created_at: datetime | None = None,
        replaces: str | None = None,
    ) -> StoreReceipt:
        """Store a note; the note is on disk when this method returns.

        A note that is there already, with the same words, scope and tags, is returned instead: the receipt says so. A
        note that an older one says in other words is stored; blocks show one of them. A note that an older one
        contradicts is stored too, and both wait for a person: ``reviews``.

        Words such as "tomorrow" get their date: ``tomorrow (2026-11-28)``, unless the text would then be too long.

        Args:
            text: 1 to 500 characters.
            tags: At most five, as a list or as a string that holds a JSON list.
            scope: ``user``, ``workspace`` or ``session``.
            allow_secrets: Whether to store text that looks like a secret. Only an operator should set this.
            is_new: Whether the text was said now. Otherwise nobody knows which day its "tomorrow" means.
            created_at: When the text was first stored (aware), if it comes from elsewhere; now if it is ``None`` or in
                the future.
            replaces: The id of a note that this one corrects. That note is deleted; ``reviews`` keeps its text, and
                ``reviews.undo`` restores it. If only the new note looks like an instruction, both are kept and wait.

        Raises:
            InvalidInputError: A value is invalid; nothing was written.
            SecretRefusedError: The text or a tag looks like a secret; nothing was written.
            NotFoundError: The note to replace does not exist; nothing was written.
            ConflictError: The note to replace was replaced already; nothing was written.
            StorageUnavailableError: The file cannot be written; nothing was written.

        Source: WSP-02, JDG-07.
        """
        now, said = self._clock(), require_text(text, field="text", max_chars=MAX_TEXT_CHARS)
        stored_at = now if created_at is None else min(now, require_moment(created_at, field="created_at"))
        if is_new:
            said = with_dates(said, now.astimezone(self._zone), max_chars=MAX_TEXT_CHARS)
        draft = NoteDraft(
            text=said,
            scope=require_scope(scope),
            tags=require_tags(tags),
            created_at=stored_at,
        )
        for field, value in (("text", draft.text), *(("tags", tag) for tag in draft.tags)):
            refuse_secret(value, field=field, allow_secrets=allow_secrets)
        number, actor = None if replaces is None else require_id(replaces, field="replaces"), current_actor()
        self.quarantine.release_own(draft.text)
        if number is not None:
            return await self._run(lambda: self._replaced(number, draft, actor))
        return await self._run(lambda: self._stored(draft))

    async def get(self, memory_id: str) -> Note:
        """Return the memory with an id such as ``m-4``.

        Raises:
            InvalidInputError: The value is not an id.
            NotFoundError: No memory has this id.
            StorageUnavailableError: The file cannot be read.
        """
        number = require_id(memory_id)
        for memory in (await self._run(self._store.load)).memories:
            if memory.number == number:
                return memory
        raise NotFoundError("memory", f"m-{number}")

    async def search(
        self, query: str | None = None, *, tag: str | None = None, limit: int | None = MAX_RESULTS
    ) -> NoteSearch:
        """Find memories, newest first, by a substring of the text, a tag, or both.

        Args:
            query: Searched as one piece, spaces included; case does not matter.
            tag: Compared with whole tags.
            limit: Maximum number of memories, from 1; ``None`` for all.

        Raises:
            InvalidInputError: ``query`` or ``tag`` is neither text nor ``None``, or ``limit`` is out of range.
            StorageUnavailableError: The file cannot be read.
        """
        if limit is not None:
            require_page(limit)
        wanted, wanted_tag = _optional_text(query, field="query"), _optional_text(tag, field="tag")
        return await self._run(
            lambda: search(self._store.load().memories, query=wanted, tag=wanted_tag, limit=limit)
        )

    async def delete(self, memory_id: str) -> DeleteReceipt:
        """Delete the memory with an id such as ``m-4``; it is removed from disk when this method returns.

        Raises:
            InvalidInputError: The value is not an id.
            NotFoundError: No memory has this id.
            StorageUnavailableError: The file cannot be written; the memory stays.
        """
        number = require_id(memory_id)
        return await self._run(lambda: self._store.delete(number))

    async def edit(
        self, memory_id: str, text: str, *, allow_secrets: bool = False, is_new: bool = True
    ) -> Note:
        """Change the text of the memory with an id such as ``m-4``, and return the memory; its time stays.

        Args:
            memory_id: The id.
            text: 1 to 500 characters.
            allow_secrets: Whether to store text that looks like a secret. Only an operator should set this.
            is_new: Whether the text was written now, so that words such as "tomorrow" get their date, unless such words
                of the old text have none.

        Raises:
            InvalidInputError: A value is invalid; nothing was written.
            SecretRefusedError: The text looks like a secret; nothing was written.
            NotFoundError: No memory has this id.
            StorageUnavailableError: The file cannot be written; the memory stays as it was.
        """
        number = require_id(memory_id)
        content = require_text(text, field="text", max_chars=MAX_TEXT_CHARS)
        refuse_secret(content, field="text", allow_secrets=allow_secrets)
        self.quarantine.release_own(content)
        if is_new:
            old, today = (await self.get(memory_id)).text, self._clock().astimezone(self._zone)
            content = with_new_dates(content, old, today, max_chars=MAX_TEXT_CHARS)
        note = await self._run(lambda: self._store.edit(number, content))
        await self._run(lambda: self._related(note))
        return note

    async def restore(self, memory: Note) -> Note:
        """Put a deleted memory back under its id, and return it.

        Raises:
            InvalidInputError: The value is no note.
            ConflictError: A memory has this id.
            StorageUnavailableError: The file cannot be written; nothing was written.
        """
        if not isinstance(memory, Note):  # pyright: ignore[reportUnnecessaryIsInstance] - from other programs
            raise InvalidInputError("memory", "a note", memory)
        return await self._run(lambda: self._store.restore(memory))

    async def context(self, message: str, *, dates: bool = False) -> str:
        """Return the ``[Memories]`` block for the last user message; empty if there is no memory to show.

        With ``dates``, each line has the day on which its memory was stored.

        Raises:
            StorageUnavailableError: The file cannot be read.
        """
        now, said = self._clock(), _text(message, field="message")

        def block() -> str:
            memories = self._store.load().memories
            shown = select(memories, said, self.config, now, holds=self.quarantine.holds)
            return render(shown, dates=dates)

        return await self._run(block)

    async def assemble(self, messages: Sequence[Message]) -> list[Message]:
        """Return chat messages with the block right after the system prompt; call this before every model call.

        The messages passed are not changed, and a block from an earlier call is replaced.

        Raises:
            StorageUnavailableError: The file cannot be read.
        """
        said = require_items(messages, field="messages")
        if not all(isinstance(each, Mapping) for each in said):
            raise InvalidInputError("messages", "a list of mappings with role and content", messages)
        return insert_block(said, await self.context(last_user_message(said)))

    async def explain(self, message: str) -> tuple[NoteRelevance, ...]:
        """Return every memory that shares a word with a message, with the words and the score, best first.

        Raises:
            StorageUnavailableError: The file cannot be read.
        """
        now, said = self._clock(), _text(message, field="message")
        return await self._run(lambda: rank(self._store.load().memories, said, now))

    async def problems(self) -> tuple[DamagedLine, ...]:
        """Return the lines of the file that cannot be read as memories.

        Raises:
            StorageUnavailableError: The file cannot be read.
        """
        return await self._run(lambda: self._store.load().problems)

    def _stored(self, draft: NoteDraft) -> StoreReceipt:
        receipt = self._store.store(draft, repeats=False)
        if receipt.repeated:
            return receipt
        relatives = self._related(receipt.memory)
        opposed = tuple(each.other for each in relatives.opposed)
        return replace(receipt, same=relatives.same, opposed=opposed)

    def _replaced(self, number: int, draft: NoteDraft, actor: str) -> StoreReceipt:
        """Store a note in place of the note ``m-<number>``, unless the latter has the same words."""
        notes = self._store.load().memories
        old = next((each for each in notes if each.number == number), None)
        if old is None:
            raise self._not_there(number)
        if find_repeated([old], draft) is not None:
            return StoreReceipt(memory=old, repeated=True)
        if self.quarantine.holds(draft.text) and not self.quarantine.holds(old.text):
            receipt = self._stored(draft)
            self.reviews.mark(old, receipt.memory)
            opposed = (old, *(each for each in receipt.opposed if each != old))
            return replace(receipt, opposed=opposed, same=tuple(each for each in receipt.same if each != old))
        receipt = self.reviews.replace(old, draft, actor)
        relatives = self._related(receipt.memory)
        return replace(receipt, same=relatives.same, opposed=tuple(each.other for each in relatives.opposed))

    def _not_there(self, number: int) -> NotFoundError | ConflictError:
        """Return the error for a note that a call wants to replace and that does not exist."""
        newer = self.reviews.replacement_of(number)
        if newer is None:
            return NotFoundError("memory", f"m-{number}")
        message = f"The note m-{number} was replaced by {newer.id} already. Replace {newer.id}."
        return ConflictError("replaces", message, f"m-{number}")

    def _related(self, note: Note) -> Relatives[Note]:
        """Return the older notes that a stored note is related to; the store stands if they cannot be compared."""
        try:
            return self.reviews.compare(note)
        except StorageUnavailableError as error:
            _log.warning("%s is stored, and not compared with other notes: %s", note.id, error)
            return Relatives()

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        except RuntimeError as error:  # The thread has ended.
            raise StorageUnavailableError(f"{self.path}: the memory is closed") from error
        return await running


def _optional_text(value: object, *, field: str) -> str:
    return "" if value is None else _text(value, field=field)


def _text(value: object, *, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(field, "text", value)
    return value


def check_note(text: str, *, tags: Sequence[str] = (), scope: str, allow_secrets: bool = False) -> None:
    """Raise the error with which :meth:`WorkspaceMemory.store` would refuse a note.

    Raises:
        InvalidInputError: A value is invalid; the message names the field.
        SecretRefusedError: The text or a tag looks like a secret.
    """
    require_scope(scope)
    values = [("text", require_text(text, field="text", max_chars=MAX_TEXT_CHARS))]
    values += [("tags", tag) for tag in require_tags(tags)]
    for field, value in values:
        refuse_secret(value, field=field, allow_secrets=allow_secrets)
