"""Sessions of the scheduled agent: who ran, why, how it ended and what it cost (OPS-20.1)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.operational.stream import SessionResult
from commonplace.storage.database import Row, Statements

TIERS = (1, 2, 3)
"""Observe, investigate, remediate."""


class SessionStatus(StrEnum):
    """Where a session stands; ``interrupted`` means that it ended without saying how."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One row of ``sessions``; times are aware UTC, ``cost_usd`` in US dollars, ``duration_ms`` wall clock."""

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

    @classmethod
    def from_row(cls, row: Row) -> "Session":
        """Read a row."""
        return cls(
            id=row["id"],
            agent_session_id=row["agent_session_id"],
            tier=row["tier"],
            status=SessionStatus(row["status"]),
            model=row["model"],
            trigger=row["trigger"],
            prompt_text=row["prompt_text"],
            started_at=parse_timestamp(row["started_at"]),
            ended_at=parse_timestamp(row["ended_at"]) if row["ended_at"] else None,
            response=row["response"],
            cost_usd=row["cost_usd"],
            num_turns=row["num_turns"],
            duration_ms=row["duration_ms"],
            exit_code=row["exit_code"],
        )


def require_tier(tier: int) -> int:
    """Return a tier, or refuse it.

    Raises:
        InvalidInputError: It is not 1, 2 or 3.
    """
    if tier not in TIERS:
        raise InvalidInputError("tier", "1 (observe), 2 (investigate) or 3 (remediate)", tier)
    return tier


async def begin(
    sql: Statements,
    *,
    agent_session_id: str | None,
    tier: int,
    model: str | None,
    trigger: str,
    now: datetime,
    prompt_text: str | None = None,
) -> Session:
    """Begin a session, or take one up again that has the same id of the agent's."""
    row = await sql.insert_session(
        agent_session_id=agent_session_id,
        tier=require_tier(tier),
        model=model,
        trigger=trigger,
        prompt_text=prompt_text,
        moment=format_timestamp(now),
    )
    return Session.from_row(row)


async def finish(
    sql: Statements,
    session_id: int,
    result: SessionResult | None,
    now: datetime,
    *,
    exit_code: int | None = None,
) -> Session:
    """End a session with what its result line said; without one it was interrupted.

    Raises:
        NotFoundError: No session has this id.
    """
    if result is None:
        status = SessionStatus.INTERRUPTED
    else:
        status = SessionStatus.FAILED if result.is_error else SessionStatus.COMPLETED
    row = await sql.finish_session(
        id=session_id,
        status=status,
        moment=format_timestamp(now),
        response=result.response if result else None,
        cost_usd=result.cost_usd if result else None,
        num_turns=result.turns if result else None,
        duration_ms=result.duration_ms if result else None,
        exit_code=exit_code,
    )
    if row is None:
        raise NotFoundError("session", session_id)
    return Session.from_row(row)


async def recent(sql: Statements, *, limit: int, offset: int = 0) -> list[Session]:
    """Return sessions, newest first."""
    return [Session.from_row(row) for row in await sql.list_sessions(limit=limit, offset=offset)]


async def note_marker(sql: Statements, session_id: int, fingerprint: str) -> bool:
    """Note that a marker of a session is taken; ``False`` where it was before, so a replay teaches nothing."""
    return await sql.note_marker(session_id=session_id, fingerprint=fingerprint) is not None
