"""Cooldown actions: remediations that the agent must not repeat at once (OPS-20.3)."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.operational.transcript.markers import CooldownAction, CooldownMarker
from commonplace.storage.database import Row, Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """A row of ``cooldown_actions``."""

    id: int
    session_id: int | None
    service: str
    action: CooldownAction
    reason: str
    tier: int
    created_at: datetime

    @classmethod
    def from_row(cls, row: Row) -> "Cooldown":
        """Read a row."""
        return cls(
            id=row["id"],
            session_id=row["session_id"],
            service=row["service"],
            action=CooldownAction(row["action"]),
            reason=row["reason"],
            tier=row["tier"],
            created_at=parse_timestamp(row["created_at"]),
        )


async def record(
    sql: Statements, marker: CooldownMarker, session_id: int | None, tier: int, now: datetime
) -> Cooldown:
    """Store an action."""
    row = await sql.insert_cooldown(
        session_id=session_id,
        service=marker.service,
        action=marker.action,
        reason=marker.reason,
        tier=tier,
        moment=format_timestamp(now),
    )
    return Cooldown.from_row(row)
