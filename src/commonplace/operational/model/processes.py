"""The process that records a session."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingProcess:
    """The process that records a session: its machine, its id there, and its start."""

    host: str
    pid: int
    started_at: datetime
