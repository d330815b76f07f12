"""Pages of memories, sessions, events and cooldowns for an operator, with totals."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Generic, TypeVar

from commonplace.core.clock import format_timestamp
from commonplace.core.quarantine import Quarantine
from commonplace.operational import memories
from commonplace.operational.cooldowns import Cooldown
from commonplace.operational.decay import GRACE, WEEK
from commonplace.operational.events import Event
from commonplace.operational.memories import Memory, MemoryFilter
from commonplace.operational.sessions import Session, SessionStatus
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.markers import EventLevel
from commonplace.storage.database import Row, containing
from commonplace.storage.rows import Noun, read_row
from commonplace.storage.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, and the size of the whole list."""

    items: list[T]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """A part of the memories that match a filter.

    Attributes:
        active: How many active memories match the other conditions of the filter.
    """

    memories: list[Memory]
    active: int
    inactive: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCount:
    """The number of memories of a service; ``service`` is ``None`` for general ones."""

    service: str | None
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChange(Noun):
    """A change of a memory with the memory's current text and service; both ``None`` if it was deleted."""

    memory_id: int
    kind: memories.ChangeKind
    actor: str
    session_id: int | None
    reason: str
    created_at: datetime
    service: str | None
    observation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts for an overview; a week is the last seven days."""

    active: int
    inactive: int
    learned_in_week: int
    fading: int
    sessions_in_week: int
    failed_in_week: int
    running: int
    critical_in_week: int
    cost_in_week_usd: float


class OperationalViews:
    """Views of open operational memory; use :attr:`.OperationalMemory.views`."""

    def __init__(self, store: Store[OperationalStatements], quarantine: Quarantine) -> None:
        self._store = store
        self._quarantine = quarantine

    async def memories(self, wanted: MemoryFilter) -> MemoryPage:
        """Return a page of memories, with the number of active and inactive ones."""
        async with self._store.reading() as sql:
            found = await memories.find(sql, wanted)
            counts = await memories.count(sql, wanted)
        return MemoryPage(
            memories=self._quarantine.watch(found),
            active=counts.get(True, 0),
            inactive=counts.get(False, 0),
        )

    async def services(self) -> list[ServiceCount]:
        """Return every service that has memories, by name ignoring case, general last."""
        counts: dict[str | None, ServiceCount] = {}
        rows = await self._store.reads.services_of_memories()
        for row in rows:
            name: str | None = row["service"]
            key = name.lower() if name else None
            before = counts.get(key, ServiceCount(service=name, memories=0))
            counts[key] = replace(before, memories=before.memories + row["count"])
        return [counts[key] for key in sorted(counts, key=lambda key: (key is None, key or ""))]

    async def recent_memories(self, *, limit: int) -> list[Memory]:
        """Return the latest memories, newest first."""
        return self._memories(await self._store.reads.recent_memories(limit=limit))

    async def fading_memories(self, *, limit: int) -> list[Memory]:
        """Return active memories that are losing confidence by age, weakest first."""
        return self._memories(
            await self._store.reads.fading_memories(updated_before=self._before(GRACE), limit=limit)
        )

    async def memories_of_session(self, session_id: int, *, limit: int = 100) -> list[Memory]:
        """Return the memories that a session created and that still exist, oldest first."""
        return self._memories(await self._store.reads.memories_of_session(session_id=session_id, limit=limit))

    async def changes_of_session(self, session: Session, *, limit: int = 100) -> list[ListedChange]:
        """Return the changes that a session made to memories, except creations, oldest first."""
        rows = await self._store.reads.changes_of_session(
            session_id=session.id, since=format_timestamp(session.started_at), limit=limit
        )
        return ListedChange.from_rows(rows)

    async def place_of(self, memory_id: int, session_id: int) -> int | None:
        """Return the number of the first output line in which a session mentioned a memory.

        ``None`` if no stored line of the session contains a wording of the memory.
        """
        async with self._store.reading() as sql:
            known = memories.wordings(await memories.history(sql, memory_id))
            places = [
                await sql.place_in_output(session_id=session_id, pattern=containing(one.text))
                for one in known
            ]
        return min((place for place in places if place is not None), default=None)

    async def session(self, session_id: int) -> Session:
        """Return one session.

        Raises:
            NotFoundError: No session has this id.
        """
        return Session.existing(await self._store.reads.get_session(id=session_id), session_id)

    async def sessions(
        self,
        *,
        status: SessionStatus | None = None,
        tier: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Session]:
        """Return sessions, newest first, with their total."""
        async with self._store.reading() as sql:
            rows = await sql.page_of_sessions(status=status, tier=tier, limit=limit, offset=offset)
            total = await sql.count_sessions(status=status, tier=tier)
        return Page(items=Session.from_rows(rows), total=total)

    async def events(
        self,
        *,
        level: EventLevel | None = None,
        service: str | None = None,
        session_id: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Event]:
        """Return events, newest first, with their total; the case of ``service`` does not matter."""
        wanted: dict[str, object] = {"service": service, "session_id": session_id}
        async with self._store.reading() as sql:
            page, count = sql.page_of_events, sql.count_events
            if level is not None:
                page, count, wanted["level"] = sql.page_of_events_of_level, sql.count_events_of_level, level
            rows, total = await page(**wanted, limit=limit, offset=offset), await count(**wanted)
        return Page(items=Event.from_rows(rows), total=total)

    async def cooldowns(
        self,
        *,
        service: str | None = None,
        session_id: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Cooldown]:
        """Return cooldown actions, newest first, with their total."""
        async with self._store.reading() as sql:
            rows = await sql.page_of_cooldowns(
                service=service, session_id=session_id, limit=limit, offset=offset
            )
            total = await sql.count_cooldowns(service=service, session_id=session_id)
        return Page(items=Cooldown.from_rows(rows), total=total)

    async def figures(self) -> Figures:
        """Return the counts of an overview."""
        row = await self._store.reads.figures(week_ago=self._before(WEEK), updated_before=self._before(GRACE))
        return read_row(Figures, row)

    async def change_stamp(self) -> str:
        """Return a text that changes whenever a memory, session or event is stored or a session ends."""
        row = await self._store.reads.change_stamp()
        return "-".join(str(value) for value in tuple(row))

    async def learned_by_day(self, *, since: datetime) -> dict[date, int]:
        """Return the number of memories by day of creation (UTC), without days that have none."""
        rows = await self._store.reads.learned_by_day(since=format_timestamp(since))
        return {date.fromisoformat(row["day"]): row["memories"] for row in rows}

    async def changes(self, *, since: datetime, limit: int) -> list[ListedChange]:
        """Return the changes of all memories since a time, newest first."""
        rows = await self._store.reads.changes_since(since=format_timestamp(since), limit=limit)
        return ListedChange.from_rows(rows)

    def now(self) -> datetime:
        """Return the current time of this memory's clock."""
        return self._store.now()

    def _memories(self, rows: Iterable[Row]) -> list[Memory]:
        return self._quarantine.watch(Memory.from_rows(rows))

    def _before(self, span: timedelta) -> str:
        return format_timestamp(self._store.now() - span)
