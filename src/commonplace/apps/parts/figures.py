"""Usage figures of the database and of one app (APP-12, APP-16.4)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from typing import Final

from commonplace.apps.model.apps import App
from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.counts import Counts
from commonplace.apps.model.figures import (
    DAY,
    HOUR,
    WEEK,
    AppFigures,
    AppPage,
    AppSummary,
    SpentEnergy,
    Statistics,
)
from commonplace.apps.model.memories import LISTED, ChangeKind, Digest
from commonplace.apps.resources.energy_budget import EnergyBudget
from commonplace.apps.rules.figures import share
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.core.quarantine import Quarantine
from commonplace.storage.database import containing
from commonplace.storage.rows import read_row
from commonplace.storage.store import Store

MOST_APPS: Final = 20
"""The fullest apps that the figures of the database name."""


class AppUsage:
    """Usage figures, for overviews and monitoring."""

    def __init__(
        self, store: Store[AppStatements], energy: EnergyBudget, counts: Counts, quarantine: Quarantine
    ) -> None:
        self._store = store
        self._energy = energy
        self._counts = counts
        self._quarantine = quarantine

    async def total(self) -> Statistics:
        """Return usage figures of the database, over all processes."""
        async with self._store.reading() as sql:
            apps = await sql.count_apps()
            contents = await sql.count_contents()
            talks = await sql.count_conversations()
            hour = await sql.changes_since(since=self._since(HOUR))
            day = await sql.changes_since(since=self._since(DAY))
            digests = {row["state"]: row["digests"] for row in await sql.digests_by_state()}
            fullest = {row["app_id"]: row["memories"] for row in await sql.memories_per_app(limit=MOST_APPS)}
        return Statistics(
            apps=apps["apps"],
            apps_with_memories=apps["with_memories"],
            utilisation=share(apps["with_memories"], apps["apps"]),
            memories=contents["memories"],
            average_chars=round(contents["characters"] / max(1, contents["memories"]), 1),
            created_last_hour=_changes(hour, ChangeKind.CREATED),
            created_last_day=_changes(day, ChangeKind.CREATED),
            compactions_last_day={
                row["app_id"]: row["changes"] for row in day if row["kind"] == ChangeKind.COMPACTED
            },
            conversations=talks["conversations"],
            in_focus=talks["in_focus"],
            injection_rate=share(talks["with_memories"], talks["in_focus"]),
            digests=digests,
            energy=await self._energy.status(),
            energy_last_day=await self._energy.spent(DAY),
            fullest=fullest,
        )

    def counts(self) -> Counts:
        """Return what this process counted since it opened app memory."""
        return deepcopy(self._counts)

    async def of_app(self, app_id: str) -> AppFigures:
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

    async def energy_by_hour(self, app_id: str | None = None, *, within: timedelta = WEEK) -> SpentEnergy:
        """Return the energy that memories of one app or all took in each hour up to now."""
        now = self._store.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        hours = [now - HOUR * back for back in reversed(range(within // HOUR))]
        rows = await self._store.reads.energy_by_hour(app_id=app_id, since=format_timestamp(hours[0]))
        spent = {row["hour"]: row["units"] for row in rows}
        return SpentEnergy(
            hours=hours, units=[round(spent.get(f"{hour:%Y-%m-%dT%H}", 0.0), 2) for hour in hours]
        )

    async def newest(self, *, limit: int) -> list[Digest]:
        """Return the newest memories of all apps."""
        rows = await self._store.reads.newest_memories(limit=limit)
        return self._quarantine.watch(Digest.from_rows(rows))

    async def created_by_day(self, *, since: datetime) -> Mapping[date, int]:
        """Return the number of memories created on each day (UTC); days without any are left out."""
        rows = await self._store.reads.created_by_day(since=format_timestamp(since))
        return {date.fromisoformat(row["day"]): row["memories"] for row in rows}

    async def change_stamp(self) -> str:
        """Return a text that changes when a memory changes, or a digest begins or ends to wait."""
        row = await self._store.reads.change_stamp()
        return "-".join(str(value) for value in tuple(row))

    def _since(self, span: timedelta) -> str:
        return format_timestamp(self._store.now() - span)


def _changes(rows: Sequence[Mapping[str, object]], kind: ChangeKind) -> int:
    return sum(int(str(row["changes"])) for row in rows if row["kind"] == kind)
