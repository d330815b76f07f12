"""Sessions of the scheduled agent: trigger, tier, result and cost (OPS-20.1)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.core.errors import InvalidInputError
from commonplace.operational.model.processes import RecordingProcess
from commonplace.storage.rows import Noun

TIERS = (1, 2, 3)
"""Observe, investigate, remediate."""


class SessionStatus(StrEnum):
    """The state of a session; an ``interrupted`` one ended without a result."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Noun):
    """A row of ``sessions``; times are aware UTC, ``duration_ms`` is wall-clock time."""

    id: int
    agent_session_id: str | None
    tier: int
    status: SessionStatus
    model: str | None
    trigger: str
    prompt_text: str | None
    started_at: datetime
    ended_at: datetime | None
    response: str | None
    cost_usd: float | None
    num_turns: int | None
    duration_ms: int | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSession:
    """A session that is marked as running, its recording process, and when that process last stored that it records."""

    id: int
    recorder: RecordingProcess
    seen_at: datetime


def require_tier(tier: int) -> int:
    """Return a tier.

    Raises:
        InvalidInputError: The tier is not 1, 2 or 3.
    """
    if tier not in TIERS:
        raise InvalidInputError("tier", "1 (observe), 2 (investigate) or 3 (remediate)", tier)
    return tier
