"""Output of a session, for people who watch it: texts, tool calls and the result.

Lines are stored as they come and read by number, so that another process can follow. Long lines are cut, secrets are
masked, and only the newest lines of each session are kept.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from commonplace.core.clock import format_timestamp
from commonplace.operational.model.output import Shown
from commonplace.operational.store.statements import OperationalStatements

KEPT_LINES: Final = 2_000
"""Number of newest lines kept of a session, because its end matters more than its beginning."""

KEPT_SESSIONS: Final = 500
"""Sessions whose lines are kept. Older ones keep their result and their memories."""


async def store(
    sql: OperationalStatements, session_id: int, lines: Sequence[tuple[Shown, str]], now: datetime
) -> None:
    """Store lines, each with its fingerprint, and delete the oldest ones beyond the limit."""
    last = 0
    for shown, fingerprint in lines:
        seq = await sql.insert_output(
            session_id=session_id,
            kind=shown.kind.value,
            text=shown.text,
            fingerprint=fingerprint,
            moment=format_timestamp(now),
        )
        last = seq or last
    if last > KEPT_LINES:
        await sql.trim_output(session_id=session_id, up_to=last - KEPT_LINES)
