"""Facade of operational memory: the methods that the command line, the service and hosts call."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Final, cast

from commonplace.core.choices import require_items, require_one_of
from commonplace.core.clock import Clock, require_moment, utc_now
from commonplace.core.confidence import clamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.quarantine import Quarantine
from commonplace.core.request_context import current_actor
from commonplace.core.safe_text import refuse_secret, require_safe_text
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import plural
from commonplace.operational.lessons.context import build_memory_context
from commonplace.operational.model.bounds import (
    DEFAULT_CONFIDENCE,
    MAX_SERVICE_CHARS,
    MAX_TEXT_CHARS,
    SERVICE_PATTERN,
)
from commonplace.operational.model.context import MemoryContext
from commonplace.operational.model.figures import MemoryPage
from commonplace.operational.model.markers import GENERAL, MemoryCategory
from commonplace.operational.model.memories import Author, Change, ChangeKind, Lesson, MemoryFilter
from commonplace.operational.model.receipts import AddReceipt, Receipt, ReceiptOutcome, SessionReport
from commonplace.operational.model.stream import Damaged
from commonplace.operational.parts.changes import OperationalChanges
from commonplace.operational.parts.exchange import OperationalExchange
from commonplace.operational.parts.figures import OperationalFigures
from commonplace.operational.parts.records import OperationalCooldowns, OperationalEvents
from commonplace.operational.parts.reviews import OperationalReviews
from commonplace.operational.parts.second_opinions import OperationalSecondOpinions
from commonplace.operational.parts.sessions import OperationalSessions
from commonplace.operational.parts.upkeep import OperationalUpkeep
from commonplace.operational.parts.wordings import OperationalWordings
from commonplace.operational.rules import decay
from commonplace.operational.rules.edits import edited
from commonplace.operational.store import memories
from commonplace.operational.store.statements import OperationalStatements
from commonplace.operational.transcript.recorder import Recorder
from commonplace.operational.transcript.stream import read_events
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.database import Database
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.request_answers import RequestAnswers
from commonplace.storage.store import Store, read_statements

SQL_DIRECTORY: Final = Path(__file__).parent / "store" / "sql"


def prepare_statements() -> None:
    """Read the named statements for SQLite before a process forks, so that its forks need not."""
    read_statements(OperationalStatements, SQL_DIRECTORY, "sqlite")


class OperationalMemory:
    """Memories of a scheduled ops agent in an open database; use :meth:`open`.

    Several tasks and processes may use one database at once. The author of a change is the actor of the request
    context, or ``operator`` without a context.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = utc_now,
        budget_tokens: int = 2000,
        home: Path | None = None,
        quarantine: Quarantine = Quarantine(),  # noqa: B008 - frozen
        zone: tzinfo = UTC,
        grace: timedelta = decay.GRACE,
    ) -> None:
        self.quarantine = quarantine
        self.grace = grace
        """How long a memory is not reinforced before it loses confidence."""
        self._zone = zone
        self._store = store = Store(database, OperationalStatements, SQL_DIRECTORY, clock)
        self.requests = RequestAnswers(database)
        """The answers of requests with a key that changed the database."""
        self._recorder = partial(Recorder, store, quarantine=quarantine)
        self._budget_tokens = budget_tokens
        self.reviews = OperationalReviews(store)
        """Lists and decides doubtful pairs."""
        self.second_opinions = OperationalSecondOpinions(store, quarantine, clock, home)
        """Limits and counts the calls of a model about doubtful pairs."""
        self.sessions = OperationalSessions(store, quarantine)
        """Reads sessions, their output and their memories."""
        self.events = OperationalEvents(store)
        """Reads the events of sessions."""
        self.cooldowns = OperationalCooldowns(store)
        """Reads the cooldown actions of sessions."""
        self.wordings = OperationalWordings(store, quarantine)
        """Lists and restores the wordings of a memory."""
        self.changes = OperationalChanges(store)
        """Reads the changes of all memories."""
        self.figures = OperationalFigures(store, quarantine, grace)
        """Figures for overviews."""
        self.upkeep = OperationalUpkeep(store, clock, home, grace)
        """Lowers the confidence of stale memories, and ends lost sessions."""
        self.exchange = OperationalExchange(store, grace)
        """Reads and writes memories as other devices have them."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings | None = None, *, clock: Clock = utc_now
    ) -> "AsyncGenerator[OperationalMemory]":
        """Open the database of the settings, migrate it, and close it at the end of the block.

        Raises:
            SettingsError: No settings are passed, and they cannot be loaded.
            StorageError: The database cannot be opened, or is newer than this release.
        """
        settings = settings or load_settings().settings
        database = await open_database(settings, "operational")
        ClockGuard(settings.home).fault()
        try:
            yield cls(
                database,
                clock=clock,
                budget_tokens=settings.memory_budget,
                home=settings.home,
                quarantine=Quarantine.of(settings),
                zone=settings.zone,
                grace=timedelta(days=settings.lesson_grace_days),
            )
        finally:
            await database.close()

    async def ingest(
        self,
        chunks: AsyncIterator[bytes],
        *,
        tiers: Sequence[int] = (1,),
        trigger: str = "ingest",
        allow_secrets: bool = False,
        asks_model: bool = False,
        on_receipt: Callable[[Receipt], None] | None = None,
    ) -> list[SessionReport]:
        """Read a stream-json transcript, live or from a file, and store its sessions.

        Args:
            chunks: Pieces of the stream, cut anywhere.
            tiers: The tiers of the first session, the second, and so on; the last tier also holds for later sessions.
            trigger: The reason why the sessions ran.
            allow_secrets: Whether to store text that looks like a secret.
            asks_model: Whether the caller asks a model about doubtful pairs afterwards. Then pairs wait that would
                otherwise be decided with less certainty.
            on_receipt: Called with each receipt as soon as its marker is durable.

        Returns:
            A report for each session, in order. Reading the same transcript again has no effect.

        Raises:
            InvalidInputError: A tier is not 1, 2 or 3, or no line of the transcript is readable, for example in UTF-16.
            StorageError: The database cannot be reached or written. Markers with a receipt are stored.
        """
        recorder = self._recorder(
            tiers=require_items(tiers, field="tiers"),
            trigger=trigger,
            allow_secrets=allow_secrets,
            asks_model=asks_model,
            on_receipt=on_receipt,
        )
        events, damaged = 0, 0
        async for found in read_events(chunks):
            for event in found:
                events, damaged = events + 1, damaged + isinstance(event, Damaged)
                await recorder.take(event)
            await recorder.flush()
        if damaged and damaged == events:
            lines = f"{plural(damaged, 'line')} without a JSON object"
            raise InvalidInputError("transcript", "stream-json in UTF-8, one JSON object per line", lines)
        return await recorder.end()

    def recorder(
        self,
        *,
        tier: int,
        trigger: str,
        prompt_text: str | None = None,
        asks_model: bool = False,
        on_receipt: Callable[[Receipt], None] | None = None,
    ) -> Recorder:
        """Return a recorder that stores a session event by event; see :meth:`ingest`.

        Raises:
            InvalidInputError: The tier is not 1, 2 or 3.
        """
        return self._recorder(
            tiers=[tier],
            trigger=trigger,
            asks_model=asks_model,
            on_receipt=on_receipt,
            prompt_text=prompt_text,
        )

    async def context(
        self,
        *,
        budget_tokens: int | None = None,
        services: Sequence[str] = (),
        others: bool = True,
        dates: bool = False,
    ) -> MemoryContext:
        """Return the block of memories for the next session's system prompt.

        Args:
            budget_tokens: The budget of the whole block; ``None`` for the setting ``memory_budget``.
            services: The services that the session will check; their memories are chosen first.
            others: Whether memories of other services follow. Without them, general memories are chosen with those of
                the services, and none if there are no services.
            dates: Whether each line has the day on which its memory was last seen or edited.

        Source: OPS-06, OPS-07, OPS-15, OPS-19.
        """
        budget = self._budget_tokens if budget_tokens is None else budget_tokens
        if type(budget) is not int:
            raise InvalidInputError("budget_tokens", "a whole number", budget)
        names = require_items(services, field="services")
        if not all(isinstance(each, str) for each in names):
            raise InvalidInputError("services", "a list of names", services)
        async with self._store.reading() as sql:
            return await build_memory_context(
                sql,
                budget_tokens=budget,
                services=names,
                others=others,
                holds=self.quarantine.holds,
                zone=self._zone,
                dates=dates,
            )

    async def list_memories(self, wanted: MemoryFilter | None = None) -> list[Lesson]:
        """Return the memories that match a filter, in the order of the filter; by default all memories."""
        async with self._store.reading() as sql:
            found = await memories.find(sql, wanted or MemoryFilter())
        return self.quarantine.watch(found)

    async def page(self, wanted: MemoryFilter) -> MemoryPage:
        """Return a page of memories, with the number of active and inactive ones."""
        async with self._store.reading() as sql:
            found = await memories.find(sql, wanted)
            counts = await memories.count(sql, wanted)
        return MemoryPage(
            memories=self.quarantine.watch(found),
            active=counts.get(True, 0),
            inactive=counts.get(False, 0),
        )

    async def get(self, memory_id: int) -> Lesson:
        """Return a memory.

        Raises:
            NotFoundError: No memory has this id.
        """
        async with self._store.reading() as sql:
            return (await memories.get(sql, memory_id)).watched_by(self.quarantine)

    async def history(self, memory_id: int) -> list[Change]:
        """Return the changes of a memory, oldest first; a deleted memory keeps its history."""
        async with self._store.reading() as sql:
            return await memories.history(sql, memory_id)

    async def add(
        self,
        *,
        category: str,
        observation: str,
        service: str | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
        updated_at: datetime | None = None,
        allow_secrets: bool = False,
    ) -> AddReceipt:
        """Store a memory by hand, without comparing it with others.

        Args:
            category: One of the five categories.
            observation: 1 to 2,000 characters.
            service: Letters, digits, ``-`` and ``_``; ``None`` or ``"general"`` for a general memory.
            confidence: Clamped to 0.0 to 1.0; below 0.3 the memory is inactive.
            updated_at: When it was last seen (aware), by default now; a time to come counts as now. ``confidence`` is
                what is left of it today, so that decay goes on from here.
            allow_secrets: Whether to store text that looks like a secret.

        Raises:
            InvalidInputError: A value is not valid; nothing was written.
            SecretRefusedError: The observation or the service looks like a secret.
        """
        kind = require_one_of(MemoryCategory, category, field="category")
        text = _require_observation(observation, allow_secrets=allow_secrets)
        name = require_service(service)
        refuse_secret(name or "", field="service", allow_secrets=allow_secrets)
        value = _require_confidence(confidence)
        author = self._author()
        seen_at = author.now
        if updated_at is not None:
            seen_at = min(seen_at, require_moment(updated_at, field="updated_at"))
        self.quarantine.release_own(text)
        async with self._store.writing() as sql:
            memory = await memories.create(
                sql,
                service=name,
                category=kind,
                observation=text,
                confidence=value,
                author=author,
                seen_at=seen_at,
                weeks_charged=decay.weeks_stale(seen_at, author.now, self.grace),
            )
        memory = memory.watched_by(self.quarantine)
        return AddReceipt(id=memory.id, outcome=ReceiptOutcome.CREATED, memory=memory)

    async def edit(
        self,
        ids: Sequence[int],
        *,
        observation: str | None = None,
        confidence: float | None = None,
        allow_secrets: bool = False,
    ) -> list[Lesson]:
        """Change the text or the confidence of memories: all of them, or none if an id is unknown.

        Args:
            ids: The memories.
            observation: The new text; for one memory only.
            confidence: Clamped to 0.0 to 1.0. Below 0.3 the memories become inactive, above 0.3 active.
            allow_secrets: Whether to store text that looks like a secret.

        Raises:
            InvalidInputError: A value is not valid, or there is nothing to change.
            NotFoundError: An id is unknown; nothing was written.
        """
        if observation is None and confidence is None:
            raise InvalidInputError("edit", "an observation or a confidence to change", None)
        wanted = _require_ids(ids)
        if observation is not None and len(wanted) != 1:
            raise InvalidInputError("observation", "exactly one memory to change", f"{len(wanted)} memories")
        text = None if observation is None else _require_observation(observation, allow_secrets=allow_secrets)
        value = None if confidence is None else _require_confidence(confidence)
        self.quarantine.release_own(text or "")
        async with self._store.writing() as sql:
            found = [await memories.lock(sql, memory_id) for memory_id in wanted]
            author = self._author()
            changed: list[Lesson] = []
            for before in found:
                after = edited(before, observation=text, confidence_value=value, now=author.now)
                changed.append(await memories.replace(sql, before, after, ChangeKind.EDITED, author))
        return self.quarantine.watch(changed)

    async def delete(self, ids: Sequence[int]) -> list[int]:
        """Delete memories permanently: all of them, or none if an id is unknown.

        Returns:
            The ids, ascending.

        Raises:
            InvalidInputError: The ids are not a list of whole numbers.
            NotFoundError: An id is unknown; nothing was deleted.
        """
        wanted = _require_ids(ids)
        async with self._store.writing() as sql:
            for memory_id in wanted:
                await memories.lock(sql, memory_id)
            return await memories.delete(sql, wanted, self._author())

    def now(self) -> datetime:
        """Return the current time of this memory's clock."""
        return self._store.now()

    def _author(self) -> Author:
        return Author(actor=current_actor(), now=self._store.now())


def require_service(service: object) -> str | None:
    """Return the name of a service, or ``None`` for ``general``.

    Raises:
        InvalidInputError: The name is too long or has characters other than letters, digits, ``-`` and ``_``.
    """
    if service is None or (isinstance(service, str) and service.lower() == GENERAL):
        return None
    if (
        not isinstance(service, str)
        or not SERVICE_PATTERN.fullmatch(service)
        or len(service) > MAX_SERVICE_CHARS
    ):
        form = f"1 to {MAX_SERVICE_CHARS} letters, digits, - or _"
        raise InvalidInputError("service", form, service)
    return service


def _require_ids(ids: object) -> list[int]:
    """Return ids, ascending and each once; a text is refused, because it would be the list of its digits."""
    given = cast("Collection[object]", ids)
    if not isinstance(ids, Collection) or not all(isinstance(each, int) for each in given):
        raise InvalidInputError("ids", "a list of whole numbers", given)
    return sorted(set(cast("Collection[int]", ids)))


def check_lesson(
    *,
    category: str,
    observation: str,
    service: str | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    allow_secrets: bool = False,
) -> None:
    """Raise the error with which :meth:`OperationalMemory.add` would refuse a lesson.

    Raises:
        InvalidInputError: A value is not valid; the message names the field.
        SecretRefusedError: The observation or the service looks like a secret.
    """
    require_one_of(MemoryCategory, category, field="category")
    _require_observation(observation, allow_secrets=allow_secrets)
    refuse_secret(require_service(service) or "", field="service", allow_secrets=allow_secrets)
    _require_confidence(confidence)


def _require_observation(observation: str, *, allow_secrets: bool) -> str:
    return require_safe_text(
        observation, field="observation", max_chars=MAX_TEXT_CHARS, allow_secrets=allow_secrets
    )


def _require_confidence(confidence: float) -> float:
    try:
        return clamp(confidence)
    except (ArithmeticError, TypeError, ValueError):
        raise InvalidInputError("confidence", "a number from 0.0 to 1.0", confidence) from None
