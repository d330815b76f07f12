"""The hooks of the beginning and the end of a session."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from commonplace.briefing import brief
from commonplace.cli.claude_code.call import HookCall
from commonplace.cli.claude_code.learning import learn, sweep
from commonplace.cli.claude_code.sessions import SessionRecord, SessionRecords
from commonplace.core.context import request_context
from commonplace.knowledge.memory import KnowledgeMemory

ACTOR: Final = "claude-code"
SWEEP_TIMEOUT_S: Final = 5.0
"""For earlier sessions, at the beginning of another: the user waits."""

_log = logging.getLogger(__name__)


async def session_start(call: HookCall) -> str:
    """Return the briefing, after learning from sessions of the project that ended without a word."""
    with request_context(actor=ACTOR):
        async with KnowledgeMemory.open(call.settings, actor=ACTOR, lazy=True) as memory:
            try:
                async with asyncio.timeout(SWEEP_TIMEOUT_S):
                    await _begin(call, memory)
            except Exception:  # noqa: BLE001 - the fail-open boundary: the briefing is given all the same
                _log.exception("session %s: earlier sessions wait for the next one", call.session_id)
            return (await brief(call.settings, prompt="", butler=call.butler, knowledge=memory)).text


async def session_end(call: HookCall) -> str:
    """Store an episode of what is new in the session; return nothing."""
    records = SessionRecords(call.settings.home)
    with records.locked():
        record = replace(_record(records, call), ended=True)
        records.put(record)
        async with KnowledgeMemory.open(call.settings, actor=ACTOR, lazy=True) as memory:
            await learn(records, memory, record)
    return ""


async def _begin(call: HookCall, memory: KnowledgeMemory) -> None:
    """Note that a session goes on, and take up those that do not."""
    records = SessionRecords(call.settings.home)
    with records.locked():
        record = replace(_record(records, call), ended=False)
        records.put(record)
        records.forget_old()
        await sweep(records, memory, record)


def _record(records: SessionRecords, call: HookCall) -> SessionRecord:
    known = records.get(call.session_id)
    if known is None:
        return SessionRecord(session_id=call.session_id, transcript=call.transcript, butler=call.butler)
    return replace(known, transcript=call.transcript, butler=call.butler)
