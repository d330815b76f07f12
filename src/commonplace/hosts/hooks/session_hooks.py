"""Hooks for the start and the end of a session."""

import asyncio
import logging
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.core.request_context import request_context
from commonplace.hosts.hooks.events import ACTOR
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.hooks.learning import has_news, learn, store_of, sweep
from commonplace.hosts.hooks.loaded_texts import loaded_texts
from commonplace.hosts.hooks.seen_lines import SeenLines
from commonplace.hosts.hooks.sessions import SessionRecord, SessionRecords
from commonplace.knowledge import GLOBAL_SCOPE, KnowledgeMemory
from commonplace.projects import Projects
from commonplace.prompts.injected import framed_data
from commonplace.services.background.following import read_followed
from commonplace.services.briefing import Briefing, BriefingPart, brief

FORGETTING: Final = frozenset({"compact", "clear"})
"""Sources of a session start after which the conversation no longer has earlier injections."""

SWEEP_TIMEOUT_S: Final = 5.0
"""Time to learn from earlier sessions at the start of a session, while the user waits."""

_log = logging.getLogger(__name__)


async def session_start(
    call: HookCall, memory: KnowledgeMemory, *, learning_s: float = SWEEP_TIMEOUT_S
) -> str:
    """Return the briefing, after learning from earlier sessions of the project for a limited time."""
    if not call.has_workspace:
        _log.warning("session %s: the directory %s is gone", call.session_id, call.settings.workspace)
    with request_context(actor=ACTOR):
        try:
            async with asyncio.timeout(learning_s):
                await _begin(call, memory)
        except (CommonplaceError, OSError) as error:
            reason = str(error) or f"learning took longer than {learning_s:g} s"
            # A session right after another one often has no time left, while the background still learns: no fault.
            level = logging.WARNING if isinstance(error, TimeoutError) else logging.ERROR
            _log.log(
                level,
                "session %s: earlier sessions are left to the next session: %s",
                call.session_id,
                reason,
            )
        except Exception:  # noqa: BLE001 - the fail-open boundary: the briefing follows
            _log.exception("session %s: earlier sessions are left to the next session", call.session_id)
        briefing = await brief(
            call.settings,
            prompt="",
            butler=call.butler,
            knowledge=memory,
            besides=_left_out(call),
            service=call.service,
            but_session=call.session_id,
            project=call.settings.workspace if call.has_workspace else None,
            hides=loaded_texts(call).repeat,
        )
    return _unseen(call, briefing, today=memory.clock().date())


async def session_end(call: HookCall, memory: KnowledgeMemory) -> str:
    """Store an episode of the session's new messages; return an empty text."""
    note_end(call)
    records = SessionRecords(call.settings.home)
    async with records.locked():
        record = replace(_record(records, _new_record(call)), ended=True)
        records.put(record)
        store = store_of(call.settings.home, memory, record)
        await learn(records, store, record)
    await store.deliver()
    return ""


async def sweep_all(home: Path, memory: KnowledgeMemory) -> None:
    """Learn from all ended sessions of a home that were not learned yet, and send waiting episodes.

    Raises:
        StorageUnavailableError: Knowledge memory cannot be reached, or the records cannot be locked.
    """
    records = SessionRecords(home)
    found = await asyncio.to_thread(records.latest)
    off = {each.id for each in Projects(home).list_projects() if each.is_off}
    for record in found:
        if record.butler not in off and has_news(record):
            async with records.locked():
                known = records.get(record.session_id) or record
                await learn(records, store_of(home, memory, known), known)
    for record in {record.server: record for record in found}.values():
        await store_of(home, memory, record).deliver()


def note_end(call: HookCall) -> None:
    """Store a record of an ended session, so that a later hook can learn from it.

    Raises:
        StorageUnavailableError: The record cannot be written.
    """
    SessionRecords(call.settings.home).add(replace(_new_record(call), ended=True))


def _left_out(call: HookCall) -> list[BriefingPart]:
    """Return the sections to leave out: memories without a database, and memories that are not the project's."""
    settings = call.settings
    no_workspace = [] if call.has_workspace else [BriefingPart.WORKSPACE]
    if call.service is not None:
        return [BriefingPart.OPERATIONAL, *no_workspace]
    has_operational = settings.database_is_postgres or settings.database_path.exists()
    return [
        *no_workspace,
        *([] if has_operational else [BriefingPart.OPERATIONAL]),
        *([] if call.has_knowledge else [BriefingPart.KNOWLEDGE, BriefingPart.SESSIONS]),
    ]


def _unseen(call: HookCall, briefing: Briefing, *, today: date) -> str:
    """Return the briefing without lines that the conversation has, as when a session is resumed, and record the rest.

    After a compaction, the conversation has no earlier lines.
    """
    seen = SeenLines(call.settings.home, call.session_id)
    text = briefing.text
    try:
        if call.source in FORGETTING:
            seen.forget()
        elif not seen.is_empty:
            text = framed_data([seen.fresh(section.text) for section in briefing.sections], today=today)
        seen.add(text)
    except OSError as error:
        _log.error("session %s: prompts may repeat the briefing: %s", call.session_id, error)
    return text


async def _begin(call: HookCall, memory: KnowledgeMemory) -> None:
    """Record that the session is running, and learn from earlier sessions."""
    records = SessionRecords(call.settings.home)
    new = _new_record(call)
    records.add(new)
    async with records.locked():
        record = replace(_record(records, new), ended=False)
        records.put(record)
        records.forget_old()
        store = store_of(call.settings.home, memory, record)
        await sweep(records, store, record)
    await store.deliver()
    if call.service is None and call.has_knowledge:
        await read_followed(call.settings.home, memory, scope=call.butler, wait_s=0.0)


def _record(records: SessionRecords, new: SessionRecord) -> SessionRecord:
    known = records.get(new.session_id)
    if known is None:
        return new
    return replace(
        known,
        transcript=new.transcript,
        butler=new.butler if new.butler != GLOBAL_SCOPE else known.butler,
        server=new.server,
        token_file=new.token_file,
    )


def _new_record(call: HookCall) -> SessionRecord:
    service = call.service
    return SessionRecord(
        session_id=call.session_id,
        transcript=call.transcript,
        butler=call.butler,
        host=call.host,
        server=service.url if service else "",
        token_file=str(service.token_file) if service else "",
    )
