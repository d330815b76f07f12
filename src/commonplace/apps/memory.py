"""The facade of app memory: the functions that the command line, the admin API and hosts call."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from commonplace.apps.digests.worker import DigestWorker
from commonplace.apps.exchange.document_import import import_memories
from commonplace.apps.model.apps import App, AppStatus
from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.context import MemoryContext
from commonplace.apps.model.conversations import (
    Conversation,
    ConversationStatus,
    Message,
    require_message,
    require_messages,
    require_reason,
)
from commonplace.apps.model.counts import Counts
from commonplace.apps.model.digests import COMPLETED
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.apps.model.exchange import Export, read_document
from commonplace.apps.model.memories import ALL_ROWS, Author, Change, ChangeKind, Digest
from commonplace.apps.model.names import optional_user, require_app_id
from commonplace.apps.model.receipts import DigestReceipt, EndReceipt, ImportReceipt, PurgeReceipt
from commonplace.apps.parts.changes import AppChanges
from commonplace.apps.parts.conversations import AppConversations
from commonplace.apps.parts.exchange import AppExchange
from commonplace.apps.parts.figures import AppUsage
from commonplace.apps.parts.injection import Injection
from commonplace.apps.parts.registry import AppRegistry
from commonplace.apps.parts.shares import AppShares
from commonplace.apps.parts.spaces import AppSpaces
from commonplace.apps.resources.energy_budget import EnergyBudget
from commonplace.apps.resources.resources import DEFAULT_TIMEOUT_S, Resources
from commonplace.apps.resources.vectors import Vectors
from commonplace.apps.rules.conflicts import find_conflicts
from commonplace.apps.rules.search import Hit, by_meaning, by_words
from commonplace.apps.store import conversations, memories
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.locks import SQL_DIRECTORY, memories_lock
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.quarantine import Quarantine
from commonplace.core.quoting import quoted
from commonplace.core.request_context import current_actor
from commonplace.core.safe_text import require_safe_text
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import preprocess_search_query
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.language.relative_days import with_new_dates
from commonplace.llm import Model, open_model
from commonplace.storage.database import Database
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.request_answers import RequestAnswers
from commonplace.storage.store import Store, read_statements

log = logging.getLogger(__name__)


def prepare_statements() -> None:
    """Read the named statements for SQLite before a process forks, so that its forks need not."""
    read_statements(AppStatements, SQL_DIRECTORY, "sqlite")


class AppMemory:
    """App memory in an open database.

    Use :meth:`open`. Several tasks, and several processes on one database, can call every method at once. The author
    of a change is the actor of the request context.

    Args:
        database: An open database with the tables of app memory.
        model: Writes digests; the extractive model picks sentences.
        clock: Gives the time of each row, and refills the energy.
        energy: The capacity and refill of the energy budget; ``None`` for the defaults of :class:`.EnergyPolicy`.
        on_receipt: Called with the receipt of every digest made in the background.
    """

    def __init__(
        self,
        database: Database,
        *,
        model: Model,
        engine: EmbeddingEngine,
        clock: Clock = utc_now,
        energy: EnergyPolicy | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_receipt: Callable[[DigestReceipt], None] | None = None,
        zone: tzinfo = UTC,
        quarantine: Quarantine = Quarantine(),  # noqa: B008 - frozen
    ) -> None:
        self.quarantine = quarantine
        """The texts that blocks leave out."""
        self._store = store = Store(database, AppStatements, SQL_DIRECTORY, clock)
        self.requests = RequestAnswers(database)
        """The answers of requests with a key that changed the database."""
        self._zone = zone
        counts = Counts()
        self._vectors = vectors = Vectors(store, engine, counts)
        self.energy = EnergyBudget(store, energy or EnergyPolicy(), counts)
        """The energy budget. A host can spend from it for its own work too."""
        self.registry = AppRegistry(store)
        """Installs and uninstalls apps."""
        resources = Resources(
            store=store,
            model=model,
            energy=self.energy,
            vectors=vectors,
            counts=counts,
            timeout_s=timeout_s,
            zone=zone,
            quarantine=quarantine,
        )
        self.digests = DigestWorker(resources, on_receipt=on_receipt)
        """Makes the digests of ended conversations."""
        self.focus = Injection(store, counts, quarantine)
        """Puts memories into the context of later conversations."""
        self.conversations = AppConversations(store)
        """Reads and deletes stored conversations."""
        self.shares = AppShares(store)
        """Shares memories with other apps."""
        self.spaces = AppSpaces(store, vectors, quarantine)
        """Reads and searches the spaces of an app."""
        self.changes = AppChanges(store)
        """Reads the changes of memories."""
        self.figures = AppUsage(store, self.energy, counts, quarantine)
        """Usage figures."""
        self.exchange = AppExchange(store)
        """Reads and writes digests as other devices have them."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        model: Model | None = None,
        engine: EmbeddingEngine | None = None,
        clock: Clock = utc_now,
        energy: EnergyPolicy | None = None,
        timeout_s: float | None = None,
        on_receipt: Callable[[DigestReceipt], None] | None = None,
    ) -> "AsyncGenerator[AppMemory]":
        """Open the database that the settings name, migrate it, and close it at the end of the block.

        The end of the block waits for running digests. If the block raises, running digests stop and go back to the
        queue. Digests that an earlier process left in the queue wait for ``digests.run_deferred()``.

        Args:
            settings: ``None`` loads the settings.
            model: ``None`` opens the model that the settings name, else the extractive model.
            engine: ``None`` opens an engine for this block.
            clock: Gives the current time.
            energy: ``None`` for 1,000 units that refill by 2.5 a second.
            timeout_s: The time limit of one model answer; ``None`` for ``model_timeout_s`` if it is set, else 30 s.
            on_receipt: Called with the receipt of every digest made in the background.

        Raises:
            SettingsError: The settings cannot be loaded, or name a model that cannot be used.
            StorageError: The database cannot be opened, or is newer than this release.
        """
        settings = settings or load_settings().settings
        async with AsyncExitStack() as stack:
            database = await open_database(settings, "apps")
            stack.push_async_callback(database.close)
            if engine is None:
                engine = EmbeddingEngine(EmbeddingOptions.from_settings(settings))
                stack.callback(engine.close)
            if model is None:
                model = await stack.enter_async_context(open_model(settings, clock=clock))
            memory = cls(
                database,
                model=model,
                engine=engine,
                clock=clock,
                energy=energy,
                timeout_s=_timeout_s(settings) if timeout_s is None else timeout_s,
                on_receipt=on_receipt,
                zone=settings.zone,
                quarantine=Quarantine.of(settings),
            )
            try:
                yield memory
            except BaseException:
                await memory.digests.cancel()
                raise
            await memory.digests.aclose()

    async def begin_conversation(
        self, app_id: str, conversation_id: str, *, user_id: str | None = None
    ) -> Conversation:
        """Begin a conversation of an installed app, or return the active conversation with this id.

        The id is unique among all apps. The space of ``user_id`` receives the memory; ``None`` is the app's common
        space.

        Raises:
            NotFoundError: No app has this id.
            InvalidInputError: The conversation belongs to another app or user, or an id is malformed.
            ConflictError: The app is uninstalled, or the conversation has ended.
        """
        async with self._store.writing() as sql:
            _require_installed(await get_app(sql, require_app_id(app_id)))
            conversation = await conversations.begin(
                sql, app_id=app_id, conversation_id=conversation_id, user_id=user_id, now=self._store.now()
            )
        if conversation.status is not ConversationStatus.ACTIVE:
            raise conversations.ended_error(conversation_id)
        return conversation

    async def add_message(self, conversation_id: str, role: str, content: str) -> Conversation:
        """Add a message to an active conversation, and return the conversation.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The conversation has ended, or the role is neither ``user`` nor ``assistant``.
        """
        return await self._say(conversation_id, [require_message(role, content)])

    async def add_messages(self, conversation_id: str, messages: Sequence[Message]) -> Conversation:
        """Add messages to an active conversation in order, all or none, and return the conversation.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The conversation has ended, there are no messages, or a role is neither ``user`` nor
                ``assistant``.
        """
        said = require_messages(messages)
        return await self._say(conversation_id, said)

    async def end_conversation(self, conversation_id: str, reason: str = COMPLETED) -> EndReceipt:
        """End a conversation, and start its digest in the background.

        On return the end and the queued digest are durable: if the process dies, the next one makes the digest. Ending
        a conversation again makes no second memory, but retries a failed digest.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The reason is not text of 1 to 500 characters.
            StorageError: The database cannot be written; the conversation stays active.
        """
        why = require_reason(reason)
        async with self._store.writing() as sql:
            ended = await conversations.end(sql, conversation_id, why, self._store.now())
            conversation = ended or await conversations.get(sql, conversation_id)
            await sql.queue_digest(
                app_id=conversation.app_id, conversation_id=conversation_id, moment=self._store.moment()
            )
        digest = self.digests.begin(conversation)
        return EndReceipt(conversation=conversation, repeated=ended is None, digest=digest)

    async def ingest(
        self,
        app_id: str,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        user_id: str | None = None,
        reason: str = COMPLETED,
    ) -> DigestReceipt:
        """Store a whole conversation, end it, and wait for its digest.

        Ingesting it again changes nothing; a failed digest is tried again.

        Raises:
            NotFoundError: No app has this id.
            InvalidInputError: See :meth:`begin_conversation`; or the stored conversation is active, and its messages
                differ from these.
        """
        said = require_messages(messages)
        async with self._store.writing() as sql:
            _require_installed(await get_app(sql, require_app_id(app_id)))
            now = self._store.now()
            conversation = await conversations.begin(
                sql, app_id=app_id, conversation_id=conversation_id, user_id=user_id, now=now
            )
            if conversation.status is ConversationStatus.ACTIVE:
                stored = await conversations.messages_of(sql, conversation_id)
                if stored != said[: len(stored)]:
                    differing = f"{len(said)} messages with another beginning"
                    raise InvalidInputError("messages", "the stored messages, then new ones", differing)
                if missing := said[len(stored) :]:
                    await conversations.say(sql, conversation_id, missing, now)
        ended = await self.end_conversation(conversation_id, reason)
        return await ended.digested()

    async def context(self, app_id: str, *, user_id: str | None = None) -> MemoryContext:
        """Return the block that a model gets when a conversation of an app is in focus.

        Raises:
            NotFoundError: No app has this id.
            InvalidInputError: The id of the user is malformed.
        """
        app = await self.registry.get(app_id)
        shown = await self.focus.shown(app_id, user_id=optional_user(user_id))
        return MemoryContext(text=self.focus.block(app, shown), memories=tuple(shown))

    async def list_memories(self, app_id: str, *, limit: int = ALL_ROWS, offset: int = 0) -> list[Digest]:
        """Return an app's own memories from all its spaces, newest first.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            await get_app(sql, app_id)
            found = await memories.of_app(sql, app_id, limit=limit, offset=offset)
        return self.quarantine.watch(found)

    async def get(self, memory_id: int, *, app_id: str | None = None) -> Digest:
        """Return a memory.

        Raises:
            NotFoundError: No memory has this id, or the memory belongs to another app than ``app_id``.
        """
        async with self._store.reading() as sql:
            return (await _get(sql, memory_id, app_id)).watched_by(self.quarantine)

    async def history(self, memory_id: int) -> list[Change]:
        """Return the changes of a memory, oldest first; a deleted memory keeps its history."""
        async with self._store.reading() as sql:
            return await memories.history(sql, memory_id)

    async def edit(
        self, memory_id: int, content: str, *, allow_secrets: bool = False, is_new: bool = True
    ) -> Digest:
        """Change the text of a memory, and return the memory.

        Args:
            memory_id: The number of the memory.
            content: 1 to 200 characters.
            allow_secrets: Whether to store text that looks like a secret. Only an operator should set this.
            is_new: Whether the text was written now, so that words such as "tomorrow" get their date, unless such words
                of the old text have none.

        Raises:
            InvalidInputError: The text is empty or longer than 200 characters.
            SecretRefusedError: The text looks like a secret.
            NotFoundError: No memory has this id.
        """
        text = require_safe_text(
            content, field="content", max_chars=MAX_CONTENT_CHARS, allow_secrets=allow_secrets
        )
        self.quarantine.release_own(text)
        before = await self.get(memory_id)
        if is_new:
            today = self._store.now().astimezone(self._zone)
            text = with_new_dates(text, before.content, today, max_chars=MAX_CONTENT_CHARS)
        author = Author(actor=current_actor(), now=self._store.now())
        async with self._store.writing(memories_lock(before.app_id)) as sql:
            memory = await memories.get(sql, memory_id)
            edited = await memories.edit(sql, memory, text, author, kind=ChangeKind.EDITED)
        return edited.watched_by(self.quarantine)

    async def delete(self, memory_id: int, *, app_id: str | None = None) -> Digest:
        """Delete a memory permanently, including its text in the history, and return it.

        Raises:
            NotFoundError: No memory has this id, or the memory belongs to another app than ``app_id``.
        """
        found = await self.get(memory_id, app_id=app_id)
        async with self._store.writing(memories_lock(found.app_id)) as sql:
            memory = await _get(sql, memory_id, app_id)
            await memories.delete(sql, [memory], Author(actor=current_actor(), now=self._store.now()))
        return memory

    async def count(self, app_id: str) -> int:
        """Return the number of an app's memories in all its spaces; 0 for an unknown app."""
        return await self._store.reads.count_memories(app_id=app_id)

    async def purge(self, app_id: str) -> PurgeReceipt:
        """Delete every memory of an app permanently, including the texts in their history.

        The transcripts of ended conversations are deleted too; waiting and running digests are dropped.

        Raises:
            NotFoundError: No app has this id.
        """
        author = Author(actor=current_actor(), now=self._store.now(), reason="purged")
        async with self._store.writing(memories_lock(app_id)) as sql:
            await get_app(sql, app_id)
            await sql.drop_open_digests(
                app_id=app_id, reason="the app's memories were purged", moment=self._store.moment()
            )
            deleted = await memories.of_app(sql, app_id)
            await memories.delete(sql, deleted, author)
            await sql.forget_texts_of_app(app_id=app_id)
            await sql.delete_ended_conversations(app_id=app_id)
        log.info("purged %d memories of app %s", len(deleted), app_id, extra={"app_id": app_id})
        return PurgeReceipt(app_id=app_id, deleted=len(deleted))

    async def search(
        self,
        app_id: str,
        query: str,
        *,
        by: Literal["words", "meaning"] = "words",
        user_id: str | None = None,
    ) -> list[Hit]:
        """Search the memories that conversations of an app can see, best first; ties: the newest first.

        Args:
            app_id: The app.
            query: Words, or a question.
            by: ``"words"`` compares words, ``"meaning"`` compares vectors.
            user_id: Also search the memories of this user.

        Raises:
            NotFoundError: No app has this id.
            InvalidInputError: The query is empty, or ``by`` is another word.
            EmbeddingError: The search is by meaning, and the embedding engine does not work.
        """
        wanted = preprocess_search_query(query) if isinstance(query, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - from callers
        if not wanted:
            raise InvalidInputError("query", "text", query)
        await self.registry.get(app_id)
        async with self._store.reading() as sql:
            found = await memories.visible(sql, app_id, user_id=optional_user(user_id), limit=ALL_ROWS)
        found = self.quarantine.watch(found)
        match by:
            case "words":
                return by_words(found, wanted)
            case "meaning":
                likeness = await self._vectors.likeness(wanted, app_id, found)
                return by_meaning(found, wanted, likeness)
            case _:
                raise InvalidInputError("by", "words or meaning", by)

    async def conflicts(self, app_id: str) -> list[Contradiction]:
        """Return the pairs of an app's own memories that contradict each other.

        Raises:
            NotFoundError: No app has this id.
        """
        return await asyncio.to_thread(find_conflicts, await self.list_memories(app_id))

    async def export(self, app_id: str) -> Export:
        """Return an app's memories from all its spaces, for a JSON document.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            app = await get_app(sql, app_id)
            found = await memories.of_app(sql, app_id)
        return Export(app=app, memories=tuple(self.quarantine.watch(found)), exported_at=self._store.now())

    async def import_document(self, app_id: str, document: Mapping[str, Any]) -> ImportReceipt:
        """Add the memories of an exported document to an app; see :mod:`~commonplace.apps.exchange.document_import`.

        Raises:
            NotFoundError: No app has this id.
            InvalidInputError: The document is not an export; nothing was added.
        """
        receipt = await import_memories(self._store, app_id, read_document(document))
        return replace(receipt, added=tuple(self.quarantine.watch(receipt.added)))

    def now(self) -> datetime:
        """Return the current time of this memory's clock."""
        return self._store.now()

    async def _say(self, conversation_id: str, said: Sequence[Message]) -> Conversation:
        async with self._store.writing() as sql:
            return await conversations.say(sql, conversation_id, said, self._store.now())


def _timeout_s(settings: Settings) -> float:
    """Return the configured time limit, else the specified one."""
    return settings.model_timeout_s if "model_timeout_s" in settings.model_fields_set else DEFAULT_TIMEOUT_S


async def _get(sql: AppStatements, memory_id: int, app_id: str | None) -> Digest:
    memory = await memories.get(sql, memory_id)
    if app_id is not None and memory.app_id != app_id:
        raise NotFoundError("digest", memory_id)
    return memory


def _require_installed(app: App) -> None:
    if app.status is not AppStatus.INSTALLED:
        raise ConflictError(
            "app_id", f"The app {quoted(app.app_id)} is uninstalled. Install it first.", app.app_id
        )
