"""Events and cooldowns that sessions reported."""

from commonplace.operational.model.cooldowns import Cooldown
from commonplace.operational.model.events import Event
from commonplace.operational.model.figures import Page
from commonplace.operational.model.markers import EventLevel
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.store import Store


class OperationalEvents:
    """Reads the events of sessions."""

    def __init__(self, store: Store[OperationalStatements]) -> None:
        self._store = store

    async def page(
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

    async def list(self, *, session_id: int | None = None, limit: int = 50, offset: int = 0) -> list[Event]:
        """Return the events of one session or of all sessions, newest first."""
        return (await self.page(session_id=session_id, limit=limit, offset=offset)).items


class OperationalCooldowns:
    """Reads the cooldown actions of sessions."""

    def __init__(self, store: Store[OperationalStatements]) -> None:
        self._store = store

    async def page(
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

    async def list(self, *, limit: int = 50, offset: int = 0) -> list[Cooldown]:
        """Return cooldown actions, newest first."""
        return (await self.page(limit=limit, offset=offset)).items
