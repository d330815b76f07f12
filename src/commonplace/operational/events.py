"""Events that the agent's markers report from a session (OPS-20.2)."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.operational.transcript.markers import EventLevel, EventMarker
from commonplace.storage.database import Row, Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A row of ``events``; a general event has no service."""

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
    """Store an event."""
    row = await sql.insert_event(
        session_id=session_id,
        level=marker.level,
        service=marker.service,
        message=marker.message,
        moment=format_timestamp(now),
    )
    return Event.from_row(row)
