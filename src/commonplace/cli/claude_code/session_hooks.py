"""Hooks of the start and the end of a session."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from commonplace.briefing import brief
from commonplace.cli.claude_code.call import HookCall
from commonplace.cli.claude_code.learning import learn, sweep
from commonplace.cli.claude_code.sessions import SessionRecord, SessionRecords
from commonplace.core.context import request_context
from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import KnowledgeMemory

ACTOR: Final = "claude-code"
SWEEP_TIMEOUT_S: Final = 5.0
"""Time to learn from earlier sessions at the start of a session, while the user waits."""

_log = logging.getLogger(__name__)


async def session_start(call: HookCall) -> str:
    """Return the briefing, after learning from earlier sessions of the project."""
    with request_context(actor=ACTOR):
        async with KnowledgeMemory.open(call.settings, actor=ACTOR, lazy=True) as memory:
            try:
                async with asyncio.timeout(SWEEP_TIMEOUT_S):
                    await _begin(call, memory)
            except (CommonplaceError, OSError) as error:
                reason = str(error) or f"learning took longer than {SWEEP_TIMEOUT_S:g} s"
                _log.error(
                    "session %s: earlier sessions are left to the next session: %s", call.session_id, reason
                )
            except Exception:  # noqa: BLE001 - the fail-open boundary: the briefing follows
                _log.exception("session %s: earlier sessions are left to the next session", call.session_id)
            return (await brief(call.settings, prompt="", butler=call.butler, knowledge=memory)).text


async def session_end(call: HookCall) -> str:
    """Store an episode of the session's new messages; return an empty text."""
    records = SessionRecords(call.settings.home)
    new = _new_record(call)
    records.add(replace(new, ended=True))
    with records.locked():
        record = replace(_record(records, new), ended=True)
        records.put(record)
        async with KnowledgeMemory.open(call.settings, actor=ACTOR, lazy=True) as memory:
            await learn(records, memory, record)
    return ""


async def _begin(call: HookCall, memory: KnowledgeMemory) -> None:
    """Note that the session runs, and learn from earlier sessions."""
    records = SessionRecords(call.settings.home)
    new = _new_record(call)
    records.add(new)
    with records.locked():
        record = replace(_record(records, new), ended=False)
        records.put(record)
        records.forget_old()
        await sweep(records, memory, record)


def _record(records: SessionRecords, new: SessionRecord) -> SessionRecord:
    known = records.get(new.session_id)
    return new if known is None else replace(known, transcript=new.transcript, butler=new.butler)


def _new_record(call: HookCall) -> SessionRecord:
    return SessionRecord(
        session_id=call.session_id, transcript=call.transcript, butler=call.butler, host=call.host
    )
