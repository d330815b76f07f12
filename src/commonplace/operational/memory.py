"""Facade of operational memory: the methods that the command line, the service and hosts call."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

from commonplace.core.choices import require_items, require_one_of
from commonplace.core.clock import Clock, parse_timestamp, utc_now
from commonplace.core.confidence import clamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.quarantine import Quarantine
from commonplace.core.request_context import current_actor
from commonplace.core.safe_text import refuse_secret, require_safe_text
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import plural
from commonplace.operational import lifecycle, memories, reviews, sessions
from commonplace.operational.context import MemoryContext, build_memory_context
from commonplace.operational.cooldowns import Cooldown
from commonplace.operational.events import Event
from commonplace.operational.memories import Author, Change, ChangeKind, Memory, MemoryFilter, Wording
from commonplace.operational.output import OutputLine
from commonplace.operational.receipts import AddReceipt, Effect, Receipt, ReceiptOutcome, SessionReport
from commonplace.operational.reviews import Decision, Review
from commonplace.operational.sessions import Session
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.markers import (
    GENERAL,
    MAX_SERVICE_CHARS,
    MAX_TEXT_CHARS,
    SERVICE_PATTERN,
    MemoryCategory,
)
from commonplace.operational.transcript.recorder import Recorder
from commonplace.operational.transcript.stream import Damaged, read_events
from commonplace.operational.views import OperationalViews
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.database import Database
from commonplace.storage.opening import open_database
from commonplace.storage.store import Store

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"


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
        asks_model: bool = False,
        home: Path | None = None,
        quarantine: Quarantine = Quarantine(),  # noqa: B008 - frozen
    ) -> None:
        self._home, self._clock = home, clock
        self.quarantine = quarantine
        self._store = store = Store(database, OperationalStatements, SQL_DIRECTORY, clock)
        self._recorder = partial(Recorder, store, asks_model=asks_model, quarantine=quarantine)
        self._budget_tokens = budget_tokens
        self.views = OperationalViews(store, quarantine)

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
                asks_model=settings.judge == "model",
                home=settings.home,
                quarantine=Quarantine.of(settings),
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
        on_receipt: Callable[[Receipt], None] | None = None,
    ) -> list[SessionReport]:
        """Read a stream-json transcript, live or from a file, and store its sessions.

        Args:
            chunks: Pieces of the stream, cut anywhere.
            tiers: The tiers of the first session, the second, and so on; the last tier also holds for later sessions.
            trigger: The reason why the sessions ran.
            allow_secrets: Whether to store text that looks like a secret.
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
        on_receipt: Callable[[Receipt], None] | None = None,
    ) -> Recorder:
        """Return a recorder that stores a session event by event.

        Raises:
            InvalidInputError: The tier is not 1, 2 or 3.
        """
        return self._recorder(tiers=[tier], trigger=trigger, on_receipt=on_receipt, prompt_text=prompt_text)

    async def interrupt_lost_sessions(self) -> list[Session]:
        """End sessions that are marked as running but whose recording process is gone.

        Call this at the start of a process that runs or shows sessions.

        Returns:
            The ended sessions, oldest first; each session ends at the time when it was last seen.
        """
        async with self._store.writing() as sql:
            return await sessions.interrupt_lost(sql, self._store.now())

    async def context(
        self, *, budget_tokens: int | None = None, services: Sequence[str] = ()
    ) -> MemoryContext:
        """Return the block of memories for the next session's system prompt.

        Args:
            budget_tokens: The budget of the whole block; ``None`` for the setting ``memory_budget``.
            services: The services that the session will check; their memories are chosen first.

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
                sql, budget_tokens=budget, services=names, holds=self.quarantine.holds
            )

    async def run_decay(self) -> list[Effect]:
        """Lower the confidence of active memories that were not reinforced; see :mod:`.decay`.

        Returns:
            The memories whose confidence changed, by id; an immediate second call changes none.

        Raises:
            ClockError: The time is implausible; nothing was changed.
        """
        if self._home is not None:
            newest = await self._store.reads.newest_update()
            newest_at = None if newest is None else parse_timestamp(newest)
            ClockGuard(self._home, clock=self._clock).require(newest_at)
        async with self._store.writing(lock="operational:decay") as sql:
            return await lifecycle.run_decay(sql, self._store.now())

    async def list_memories(self, wanted: MemoryFilter | None = None) -> list[Memory]:
        """Return the memories that match a filter, in the order of the filter; by default all memories."""
        async with self._store.reading() as sql:
            found = await memories.find(sql, wanted or MemoryFilter())
        return self.quarantine.watch(found)

    async def get(self, memory_id: int) -> Memory:
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
        confidence: float = memories.DEFAULT_CONFIDENCE,
        allow_secrets: bool = False,
    ) -> AddReceipt:
        """Store a memory by hand, without comparing it with others.

        Args:
            category: One of the five categories.
            observation: 1 to 2,000 characters.
            service: Letters, digits, ``-`` and ``_``; ``None`` or ``"general"`` for a general memory.
            confidence: Clamped to 0.0 to 1.0; below 0.3 the memory is inactive.
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
        self.quarantine.release_own(text)
        async with self._store.writing() as sql:
            memory = await memories.create(
                sql,
                service=name,
                category=kind,
                observation=text,
                confidence=value,
                author=self._author(),
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
    ) -> list[Memory]:
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
            changed: list[Memory] = []
            for before in found:
                after = lifecycle.edited(before, observation=text, confidence_value=value, now=author.now)
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

    async def wordings(self, memory_id: int) -> list[Wording]:
        """Return every wording of a memory, in order of first use.

        Raises:
            NotFoundError: No memory has this id.
        """
        async with self._store.reading() as sql:
            await memories.get(sql, memory_id)
            return memories.wordings(await memories.history(sql, memory_id))

    async def restore(self, memory_id: int, number: int) -> Memory:
        """Restore an earlier wording of a memory.

        Raises:
            NotFoundError: No memory has this id.
            InvalidInputError: The memory has no wording with this number.
        """
        async with self._store.writing() as sql:
            before = await memories.lock(sql, memory_id)
            known = memories.wordings(await memories.history(sql, memory_id))
            if type(number) is not int or not 1 <= number <= len(known):
                raise InvalidInputError("wording", f"a number from 1 to {len(known)}", number)
            author = self._author().because(f"Restored wording {number}.")
            text = known[number - 1].text
            after = lifecycle.edited(before, observation=text, confidence_value=None, now=author.now)
            restored = await memories.replace(sql, before, after, ChangeKind.EDITED, author)
        return restored.watched_by(self.quarantine)

    async def reviews(self, *, decided: bool = False, limit: int = 50, offset: int = 0) -> list[Review]:
        """Return the pairs that wait for a decision, oldest first, or the decided pairs, newest first."""
        return Review.from_rows(
            await self._store.reads.reviews_of_status(decided=int(bool(decided)), limit=limit, offset=offset)
        )

    async def get_review(self, review_id: int) -> Review:
        """Return a pair, decided or not.

        Raises:
            NotFoundError: No review has this id.
        """
        async with self._store.reading() as sql:
            return await reviews.get(sql, review_id)

    async def count_reviews(self, *, decided: bool = False) -> int:
        """Return how many pairs wait for a decision, or were decided."""
        return int(await self._store.reads.count_reviews(decided=int(bool(decided))))

    async def decide(
        self, review_id: int, verdict: str, *, explanation: str = "", actor: str | None = None
    ) -> Review:
        """Apply a decision to a waiting pair, and remember it for the pair.

        Args:
            review_id: The pair.
            verdict: How the new text relates to the old one: same, refines, corrects or distinct.
            explanation: The reason, for the history.
            actor: Who decides; by default the actor of the request context, or the operator.

        Raises:
            NotFoundError: No review has this id.
            InvalidInputError: The verdict is not one of the four, or the pair is already decided.
        """
        decision = require_one_of(Decision, verdict, field="verdict")
        async with self._store.writing() as sql:
            review = await reviews.get(sql, review_id)
            return await lifecycle.settle(sql, review, decision, self._author(actor), explanation=explanation)

    async def undo_decision(self, review_id: int) -> Review:
        """Restore both memories of a decided pair to their state before the decision; the pair waits again.

        A memory that was seen again or edited after the decision stays as it is.

        Raises:
            NotFoundError: No review has this id.
            InvalidInputError: The pair is not decided yet.
        """
        async with self._store.writing() as sql:
            review = await reviews.get(sql, review_id)
            return await lifecycle.undo(sql, review, self._author())

    async def sessions(self, *, limit: int = 50, offset: int = 0) -> list[Session]:
        """Return sessions, newest first."""
        return (await self.views.sessions(limit=limit, offset=offset)).items

    async def last_session(self, *, tier: int, trigger: str) -> Session | None:
        """Return the latest session of a tier with a trigger such as ``scheduled``, or ``None``.

        Raises:
            InvalidInputError: The tier is not 1, 2 or 3.
        """
        row = await self._store.reads.last_session(tier=sessions.require_tier(tier), trigger=trigger)
        return None if row is None else Session.from_row(row)

    async def session_output(self, session_id: int, *, after: int = 0, limit: int = 500) -> list[OutputLine]:
        """Return output lines of a session, which may still be running in another process.

        ``after`` is the ``seq`` of the last line that the caller has. An unknown session has no lines.

        Returns:
            Lines in ascending order of ``seq``. The first numbers may be missing, because only the newest 2,000 lines
            of the newest 500 sessions are kept.
        """
        return OutputLine.from_rows(
            await self._store.reads.list_output(session_id=session_id, after=after, limit=limit)
        )

    async def events(self, *, session_id: int | None = None, limit: int = 50, offset: int = 0) -> list[Event]:
        """Return the events of one session or of all sessions, newest first."""
        return (await self.views.events(session_id=session_id, limit=limit, offset=offset)).items

    async def cooldowns(self, *, limit: int = 50, offset: int = 0) -> list[Cooldown]:
        """Return cooldown actions, newest first."""
        return (await self.views.cooldowns(limit=limit, offset=offset)).items

    def _author(self, actor: str | None = None) -> Author:
        return Author(actor=actor or current_actor(), now=self._store.now())


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


def _require_observation(observation: str, *, allow_secrets: bool) -> str:
    return require_safe_text(
        observation, field="observation", max_chars=MAX_TEXT_CHARS, allow_secrets=allow_secrets
    )


def _require_confidence(confidence: float) -> float:
    try:
        return clamp(confidence)
    except (ArithmeticError, TypeError, ValueError):
        raise InvalidInputError("confidence", "a number from 0.0 to 1.0", confidence) from None
