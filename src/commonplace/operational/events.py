"""Events: what happened during a session, as its markers told it (OPS-20.2)."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.operational.transcript.markers import EventLevel, EventMarker
from commonplace.storage.database import Row, Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of ``events``; a general event has no service."""

    id: int
    session_id: int | None
    level: EventLevel
    service: str | None
    message: str
    created_at: datetime

    @classmethod
    def from_row(cls, row: Row) -> "Event":
        """Read a row."""
        return cls(
            id=row["id"],
            session_id=row["session_id"],
            level=EventLevel(row["level"]),
            service=row["service"],
            message=row["message"],
            created_at=parse_timestamp(row["created_at"]),
        )


async def record(sql: Statements, marker: EventMarker, session_id: int | None, now: datetime) -> Event:
    """Record an event."""
    row = await sql.insert_event(
        session_id=session_id,
        level=marker.level,
        service=marker.service,
        message=marker.message,
        moment=format_timestamp(now),
    )
    return Event.from_row(row)


async def recent(
    sql: Statements, *, session_id: int | None = None, limit: int, offset: int = 0
) -> list[Event]:
    """Return the events of one session or of all, newest first."""
    rows = await sql.list_events(session_id=session_id, limit=limit, offset=offset)
    return [Event.from_row(row) for row in rows]
