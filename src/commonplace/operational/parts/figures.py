"""Figures for overviews and monitoring."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta

from commonplace.core.clock import format_timestamp
from commonplace.core.quarantine import Quarantine
from commonplace.operational.model.figures import Figures, ServiceCount
from commonplace.operational.model.memories import (
    Lesson,
)
from commonplace.operational.rules.decay import WEEK
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.rows import read_row
from commonplace.storage.store import Store


class OperationalFigures:
    """Counts memories, sessions and events, and reads the memories of an overview."""

    def __init__(self, store: Store[OperationalStatements], quarantine: Quarantine, grace: timedelta) -> None:
        self._store = store
        self._grace = grace
        self._quarantine = quarantine

    async def total(self) -> Figures:
        """Return the counts of an overview."""
        row = await self._store.reads.figures(
            week_ago=self._before(WEEK), updated_before=self._before(self._grace)
        )
        return read_row(Figures, row)

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

    async def newest(self, *, limit: int) -> list[Lesson]:
        """Return the latest memories, newest first."""
        rows = await self._store.reads.recent_memories(limit=limit)
        return self._quarantine.watch(Lesson.from_rows(rows))

    async def fading(self, *, limit: int) -> list[Lesson]:
        """Return active memories that are losing confidence by age, weakest first."""
        rows = await self._store.reads.fading_memories(updated_before=self._before(self._grace), limit=limit)
        return self._quarantine.watch(Lesson.from_rows(rows))

    async def learned_by_day(self, *, since: datetime) -> Mapping[date, int]:
        """Return the number of memories by day of creation (UTC), without days that have none."""
        rows = await self._store.reads.learned_by_day(since=format_timestamp(since))
        return {date.fromisoformat(row["day"]): row["memories"] for row in rows}

    async def change_stamp(self) -> str:
        """Return a text that changes whenever a memory, session or event is stored or a session ends."""
        row = await self._store.reads.change_stamp()
        return "-".join(str(value) for value in tuple(row))

    def _before(self, span: timedelta) -> str:
        return format_timestamp(self._store.now() - span)
