"""Views for operators: apps with their usage, memories by space, changes, and waiting digests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal

from commonplace.apps.conversations import Message, messages_of
from commonplace.apps.digests.queue import QueuedDigest
from commonplace.apps.memories import ALL_ROWS, MAX_MEMORIES, Change, ChangeKind, Memory
from commonplace.apps.registry import App, get_app
from commonplace.apps.search import by_meaning, by_words
from commonplace.apps.statements import AppStatements
from commonplace.apps.statistics import DAY, HOUR, share
from commonplace.apps.vectors import Vectors
from commonplace.core.clock import format_timestamp
from commonplace.core.quarantine import Quarantine
from commonplace.storage.database import Row, containing
from commonplace.storage.rows import Noun, read_row
from commonplace.storage.store import Store

WEEK: Final = timedelta(days=7)

LISTED: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSummary:
    """An app in a list.

    Attributes:
        users: The number of users whose spaces hold memories.
        fullest: The number of memories in its fullest space, of ten.
        last_digest_at: The time of its last digest; ``None`` before the first.
        energy_last_day: Units that its memories took within 24 hours.
    """

    app: App
    memories: int
    users: int
    fullest: int
    last_digest_at: datetime | None
    energy_last_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPage:
    """One page of the apps that match a filter, and the number of all that match."""

    apps: list[AppSummary]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Space(Noun):
    """A space with its number of memories; ``user_id`` is ``None`` for the app's common space."""

    user_id: str | None
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFigures:
    """Usage figures of one app (APP-12).

    Attributes:
        created_last_hour: Memories created within an hour.
        created_last_day: Memories created within 24 hours.
        compactions_last_day: Memories compacted within 24 hours.
        utilisation: The memories in its fullest space as a share of ten, 0.0 to 1.0.
        injection_rate: The share of conversations with a context whose model saw a memory, 0.0 to 1.0.
        energy_last_day: Units that its memories took within 24 hours.
    """

    created_last_hour: int
    created_last_day: int
    compactions_last_day: int
    utilisation: float
    conversations: int
    injection_rate: float
    energy_last_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedDigest(QueuedDigest):
    """A digest in the queue, with the time when it was queued."""

    queued_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDigests:
    """At most fifty open digests, the longest waiting first, and the number of all open digests."""

    digests: list[DatedDigest]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentEnergy:
    """Units that memories took in each hour; the last hour is not over."""

    hours: list[datetime]
    units: list[float]


class AppViews:
    """Read-only views of an open app memory; see :attr:`.AppMemory.views`."""

    def __init__(self, store: Store[AppStatements], vectors: Vectors, quarantine: Quarantine) -> None:
        self._store = store
        self._vectors = vectors
        self._quarantine = quarantine

    async def change_stamp(self) -> str:
        """Return a text that changes when a memory changes, or a digest begins or ends to wait."""
        row = await self._store.reads.change_stamp()
        return "-".join(str(value) for value in tuple(row))

    async def apps(self, *, words: str = "", limit: int = LISTED, offset: int = 0) -> AppPage:
        """Return apps whose id or name contains the words, installed apps first, then by id."""
        pattern = containing(words.lower()) if words else None
        async with self._store.reading() as sql:
            rows = await sql.page_of_apps(words=pattern, limit=limit, offset=offset)
            total = await sql.count_page_of_apps(words=pattern)
            spent = {row["app_id"]: row["units"] for row in await sql.energy_by_app(since=self._since(DAY))}
        apps = [
            read_row(
                AppSummary,
                row,
                app=App.from_row(row),
                energy_last_day=round(spent.get(row["app_id"], 0.0), 2),
            )
            for row in rows
        ]
        return AppPage(apps=apps, total=total)

    async def spaces(self, app_id: str) -> list[Space]:
        """Return the spaces of an app that hold memories, the common one first, then by user."""
        return Space.from_rows(await self._store.reads.spaces_of(app_id=app_id))

    async def memories(
        self,
        app_id: str,
        *,
        common: bool = False,
        user_id: str | None = None,
        limit: int = LISTED,
        offset: int = 0,
    ) -> list[Memory]:
        """Return memories of an app, newest first; ``common`` and ``user_id`` choose one space."""
        return self._memories(
            await self._store.reads.page_of_memories(
                app_id=app_id, common=int(common), user_id=user_id, limit=limit, offset=offset
            )
        )

    async def find(
        self,
        app_id: str,
        query: str,
        *,
        by: Literal["words", "meaning"] = "words",
        common: bool = False,
        user_id: str | None = None,
    ) -> list[Memory]:
        """Return the memories of an app that match a query, best first.

        Unlike :meth:`.AppMemory.search`, it searches the spaces of all users.

        Raises:
            EmbeddingError: The search is by meaning, and the embedding engine does not work.
        """
        held = await self.memories(app_id, common=common, user_id=user_id, limit=ALL_ROWS)
        if by == "words":
            hits = by_words(held, query)
        else:
            hits = by_meaning(held, query, await self._vectors.likeness(query, app_id, held))
        return [hit.memory for hit in hits]

    async def shares(self, app_id: str) -> dict[int, list[str]]:
        """Return the apps that an app's memories are shared with, by memory id."""
        rows = await self._store.reads.shares_from(app_id=app_id)
        found: dict[int, list[str]] = {}
        for row in rows:
            found.setdefault(row["memory_id"], []).append(row["to_app_id"])
        return found

    async def changes(self, app_id: str, *, limit: int = LISTED) -> list[Change]:
        """Return the changes of an app's memories, newest first; deleted memories are included."""
        return Change.from_rows(await self._store.reads.changes_of_app(app_id=app_id, limit=limit))

    async def changes_of_all(self, *, since: datetime, limit: int) -> list[tuple[Change, str | None]]:
        """Return the changes of all memories since a time, newest first, each with the conversation of the memory.

        Deleted memories are included, without their conversations.
        """
        rows = await self._store.reads.changes_of_all(since=format_timestamp(since), limit=limit)
        return [(Change.from_row(row), row["conversation_id"]) for row in rows]

    async def transcript(self, conversation_id: str) -> list[Message]:
        """Return the messages of a conversation in order, as they are stored, with their secrets masked."""
        async with self._store.reading() as sql:
            return await messages_of(sql, conversation_id)

    async def figures(self, app_id: str) -> AppFigures:
        """Return usage figures of an app.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            await get_app(sql, app_id)
            hour = await sql.count_changes_of_app(app_id=app_id, since=self._since(HOUR))
            day = await sql.count_changes_of_app(app_id=app_id, since=self._since(DAY))
            talks = await sql.count_conversations_of(app_id=app_id)
            spaces = await sql.spaces_of(app_id=app_id)
            spent = {row["app_id"]: row["units"] for row in await sql.energy_by_app(since=self._since(DAY))}
        fullest = max((row["memories"] for row in spaces), default=0)
        return AppFigures(
            created_last_hour=_changes(hour, ChangeKind.CREATED),
            created_last_day=_changes(day, ChangeKind.CREATED),
            compactions_last_day=_changes(day, ChangeKind.COMPACTED),
            utilisation=share(fullest, MAX_MEMORIES),
            conversations=talks["conversations"],
            injection_rate=share(talks["with_memories"], talks["in_focus"]),
            energy_last_day=round(spent.get(app_id, 0.0), 2),
        )

    async def open_digests(self, app_id: str | None = None) -> OpenDigests:
        """Return waiting and running digests of one app or all."""
        async with self._store.reading() as sql:
            rows = await sql.page_of_open_digests(app_id=app_id, limit=LISTED)
            total = await sql.count_open_digests(app_id=app_id)
        return OpenDigests(digests=DatedDigest.from_rows(rows), total=total)

    async def failed_digests(self, app_id: str | None = None, *, limit: int = LISTED) -> list[DatedDigest]:
        """Return digests of one app or all that were queued within a week and failed, newest first."""
        return DatedDigest.from_rows(
            await self._store.reads.skipped_digests(app_id=app_id, since=self._since(WEEK), limit=limit)
        )

    async def energy(self, app_id: str | None = None, *, within: timedelta = WEEK) -> SpentEnergy:
        """Return the energy that memories of one app or all took in each hour up to now."""
        now = self._store.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        hours = [now - HOUR * back for back in reversed(range(within // HOUR))]
        rows = await self._store.reads.energy_by_hour(app_id=app_id, since=format_timestamp(hours[0]))
        spent = {row["hour"]: row["units"] for row in rows}
        return SpentEnergy(
            hours=hours, units=[round(spent.get(f"{hour:%Y-%m-%dT%H}", 0.0), 2) for hour in hours]
        )

    async def newest(self, *, limit: int) -> list[Memory]:
        """Return the newest memories of all apps."""
        return self._memories(await self._store.reads.newest_memories(limit=limit))

    async def created_by_day(self, *, since: datetime) -> dict[date, int]:
        """Return the number of memories created on each day (UTC); days without any are left out."""
        rows = await self._store.reads.created_by_day(since=format_timestamp(since))
        return {date.fromisoformat(row["day"]): row["memories"] for row in rows}

    def now(self) -> datetime:
        """Return the current time of this memory's clock."""
        return self._store.now()

    def _memories(self, rows: Iterable[Row]) -> list[Memory]:
        return self._quarantine.watch(Memory.from_rows(rows))

    def _since(self, span: timedelta) -> str:
        return format_timestamp(self._store.now() - span)


def _changes(rows: Sequence[Mapping[str, object]], kind: ChangeKind) -> int:
    return sum(int(str(row["changes"])) for row in rows if row["kind"] == kind)
