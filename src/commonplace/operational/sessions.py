"""Sessions of the scheduled agent: trigger, tier, result and cost (OPS-20.1)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.operational.run.processes import RecordingProcess, is_gone, this_process
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.stream import SessionResult
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


def require_tier(tier: int) -> int:
    """Return a tier.

    Raises:
        InvalidInputError: The tier is not 1, 2 or 3.
    """
    if tier not in TIERS:
        raise InvalidInputError("tier", "1 (observe), 2 (investigate) or 3 (remediate)", tier)
    return tier


async def begin(
    sql: OperationalStatements,
    *,
    agent_session_id: str | None,
    tier: int,
    model: str | None,
    trigger: str,
    now: datetime,
    prompt_text: str | None = None,
) -> Session:
    """Begin a session that this process records, or resume the session with the same agent session id."""
    recorder = this_process()
    row = await sql.insert_session(
        agent_session_id=agent_session_id,
        tier=require_tier(tier),
        model=model,
        trigger=trigger,
        prompt_text=prompt_text,
        moment=format_timestamp(now),
        host=recorder.host,
        pid=recorder.pid,
        process_started_at=format_timestamp(recorder.started_at),
    )
    return Session.from_row(row)


async def interrupt_lost(sql: OperationalStatements, now: datetime) -> list[Session]:
    """End running sessions whose recording process is gone, and return them, oldest first.

    A session ends at the time when it was last seen. A session that is marked as interrupted by mistake corrects its
    row when it ends.
    """
    ended: list[Session] = []
    for row in await sql.running_sessions():
        recorder = RecordingProcess(
            host=row["recorder_host"],
            pid=row["recorder_pid"],
            started_at=parse_timestamp(row["recorder_started_at"]),
        )
        if not is_gone(recorder, seen_at=parse_timestamp(row["seen_at"]), now=now):
            continue
        interrupted = await sql.interrupt_session(id=row["id"], seen_at=row["seen_at"])
        if interrupted is not None:
            ended.append(Session.from_row(interrupted))
    return ended


def status_after(result: SessionResult | None, exit_code: int | None = None) -> SessionStatus:
    """Return the status of an ended session from its result line, else from the agent's exit status.

    Without a result line, an exit status above 0 means that the agent failed; any other status, that it was
    interrupted.
    """
    if result is not None:
        return SessionStatus.FAILED if result.is_error else SessionStatus.COMPLETED
    return SessionStatus.FAILED if (exit_code or 0) > 0 else SessionStatus.INTERRUPTED


async def finish(
    sql: OperationalStatements,
    session_id: int,
    result: SessionResult | None,
    now: datetime,
    *,
    exit_code: int | None = None,
    status: SessionStatus | None = None,
) -> Session:
    """End a session and store its result.

    ``exit_code`` is negative for a signal. ``status`` replaces the status that :func:`status_after` returns.

    Raises:
        NotFoundError: No session has this id.
    """
    row = await sql.finish_session(
        id=session_id,
        status=status or status_after(result, exit_code),
        moment=format_timestamp(now),
        response=result.response if result else None,
        cost_usd=result.cost_usd if result else None,
        num_turns=result.turns if result else None,
        duration_ms=result.duration_ms if result else None,
        exit_code=exit_code,
    )
    return Session.existing(row, session_id)
