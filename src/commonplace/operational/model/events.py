"""Events that the agent's markers report from a session (OPS-20.2)."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.operational.model.markers import EventLevel
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Noun):
    """A row of ``events``; a general event has no service."""

    id: int
    session_id: int | None
    level: EventLevel
    service: str | None
    message: str
    created_at: datetime
