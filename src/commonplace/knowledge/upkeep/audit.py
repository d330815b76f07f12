"""Reading of the audit trail: which memory changed how and when, and who changed it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonplace.core.choices import optional_one_of, require_items, require_one_of
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.pages import require_page
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.inputs import optional_filter, optional_moment, require_id
from commonplace.knowledge.model.kinds import Moment
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent(Noun):
    """One entry of the audit trail; ``payload`` holds the state before and after, without the memory's text."""

    id: UUID
    event_type: str
    actor: str | None
    payload: Mapping[str, Any]
    created_at: datetime


class AuditTrail:
    """The audit trail."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def stamp(self) -> str:
        """Return a text that changes when the tenant's memories change; empty before the first change."""
        async with self._session.reading() as sql:
            row = await sql.latest_event()
        return "" if row is None else str(row["id"])

    async def get(self, event_id: UUID | str) -> AuditEvent:
        """Return one event.

        Raises:
            NotFoundError: No event has the id.
        """
        key = require_id(event_id, field="event_id")
        async with self._session.reading() as sql:
            row = await sql.get_event(id=key)
        if row is None:
            raise NotFoundError("entry of the audit log", str(key))
        return AuditEvent.from_row(row)

    async def list(
        self,
        *,
        event_type: str | None = None,
        event_types: Collection[str] | None = None,
        memory_id: UUID | str | None = None,
        run_id: UUID | str | None = None,
        actor: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[AuditEvent]:
        """Return the tenant's events, the latest first; each filter is optional.

        Args:
            event_type: A :class:`~commonplace.knowledge.model.events.EventType`.
            event_types: Return events of any of these types.
            memory_id: The episode, fact, rule or entity that the event is about.
            run_id: The consolidation run that caused the event; not together with ``memory_id``.
            actor: The actor who caused the event.
            since: The first moment.
            until: The last moment; a day includes all of its hours.
            limit: The maximum number of events.
            offset: The number of events to skip.

        Raises:
            InvalidInputError: An id is malformed, both ids are given, or a type does not exist.
        """
        if memory_id is not None and run_id is not None:
            raise InvalidInputError("run_id", "no memory_id together with run_id", str(run_id))
        require_page(limit, offset)
        wanted = {
            "event_type": optional_one_of(EventType, event_type, field="event_type"),
            "event_types": None
            if event_types is None
            else [
                require_one_of(EventType, each, field="event_types")
                for each in require_items(event_types, field="event_types")
            ],
            "actor": optional_filter(actor, field="actor"),
            "since": optional_moment(since, field="since", times=self._session.times),
            "until": optional_moment(until, field="until", at_end=True, times=self._session.times),
            "limit": limit,
            "offset": offset,
        }
        async with self._session.reading() as sql:
            if memory_id is not None:
                rows = await sql.events_about(about=str(require_id(memory_id, field="memory_id")), **wanted)
            elif run_id is not None:
                rows = await sql.events_of_run(run_id=str(require_id(run_id, field="run_id")), **wanted)
            else:
                rows = await sql.list_events(**wanted)
        return AuditEvent.from_rows(rows)
