"""The status of a session that has ended."""

from commonplace.operational.model.sessions import SessionStatus
from commonplace.operational.model.stream import SessionResult


def status_after(result: SessionResult | None, exit_code: int | None = None) -> SessionStatus:
    """Return the status of an ended session from its result line, else from the agent's exit status.

    Without a result line, an exit status above 0 means that the agent failed; any other status, that it was
    interrupted.
    """
    if result is not None:
        return SessionStatus.FAILED if result.is_error else SessionStatus.COMPLETED
    return SessionStatus.FAILED if (exit_code or 0) > 0 else SessionStatus.INTERRUPTED
