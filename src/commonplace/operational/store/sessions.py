"""The rows of sessions (OPS-20.1)."""

from datetime import datetime

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.operational.model.processes import RecordingProcess
from commonplace.operational.model.sessions import RunningSession, Session, SessionStatus, require_tier
from commonplace.operational.model.stream import SessionResult
from commonplace.operational.store.statements import OperationalStatements


async def begin(
    sql: OperationalStatements,
    *,
    agent_session_id: str | None,
    tier: int,
    model: str | None,
    trigger: str,
    recorder: RecordingProcess,
    now: datetime,
    prompt_text: str | None = None,
) -> Session:
    """Begin a session that a process records, or resume the session with the same agent session id."""
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


async def running(sql: OperationalStatements) -> list[RunningSession]:
    """Return the sessions that are marked as running, oldest first."""
    return [
        RunningSession(
            id=row["id"],
            recorder=RecordingProcess(
                host=row["recorder_host"],
                pid=row["recorder_pid"],
                started_at=parse_timestamp(row["recorder_started_at"]),
            ),
            seen_at=parse_timestamp(row["seen_at"]),
        )
        for row in await sql.running_sessions()
    ]


async def interrupt(sql: OperationalStatements, session: RunningSession) -> Session | None:
    """End a session at the time when it was last seen; ``None`` if it was seen or ended meanwhile."""
    row = await sql.interrupt_session(id=session.id, seen_at=format_timestamp(session.seen_at))
    return None if row is None else Session.from_row(row)


async def finish(
    sql: OperationalStatements,
    session_id: int,
    status: SessionStatus,
    result: SessionResult | None,
    now: datetime,
    *,
    exit_code: int | None = None,
) -> Session:
    """End a session and store its status and result; ``exit_code`` is negative for a signal.

    Raises:
        NotFoundError: No session has this id.
    """
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
    return Session.existing(row, session_id)
