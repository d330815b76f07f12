"""Learns from sessions of Claude Code: an episode of what was said in one since it was last looked at."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.cli.claude_code.sessions import SessionRecord, SessionRecords
from commonplace.cli.claude_code.transcripts import Message, digest, read_messages
from commonplace.core.clock import Clock
from commonplace.core.errors import StorageUnavailableError
from commonplace.knowledge.kinds import Episode, MemoryType
from commonplace.knowledge.memory import KnowledgeMemory

SOURCE: Final = "claude-code"
QUIET_S: Final = 300.0
"""A session that was not seen to end, and whose transcript has not grown for so long, may have been killed."""

SWEPT: Final = 3
"""Sessions that are taken up at the beginning of another: a second or so of work."""

LOOKED_AT: Final = 50
LOOKED_FOR_CHARS: Final = 4_000
MAX_TRANSCRIPT_BYTES: Final = 256 * 1024 * 1024


async def learn(records: SessionRecords, memory: KnowledgeMemory, record: SessionRecord) -> SessionRecord:
    """Store an episode of what is new in a session's transcript; nothing where nothing is.

    The caller holds the lock of the records.

    Returns:
        The record as it then is; unchanged where there is no transcript.

    Raises:
        StorageUnavailableError: Knowledge memory is out of reach: the session stays to be learned from.
    """
    try:
        size = record.transcript.stat().st_size
    except FileNotFoundError:
        return record
    known = {each for other in records.beside(record.transcript) for each in other.read}
    messages = await asyncio.to_thread(_read, record.transcript, size)
    new = [message for message in messages if message.id not in known]
    if (content := digest(new)) and not (record.storing and await _is_stored(memory, record, content)):
        records.put(replace(record, storing=True))
        await _store(memory, record, content, _latest(new, memory.clock))
    learned = replace(record, storing=False, size=size, read=tuple(message.id for message in messages))
    records.put(learned)
    return learned


async def sweep(records: SessionRecords, memory: KnowledgeMemory, current: SessionRecord) -> int:
    """Learn from earlier sessions of the same project that ended without a word, or could not be learned from then.

    A session that still goes on is left alone. The caller holds the lock of the records.

    Returns:
        How many were looked at, at most three.

    Raises:
        StorageUnavailableError: Knowledge memory is out of reach.
    """
    waiting = [
        record
        for record in records.beside(current.transcript)
        if record.session_id != current.session_id and _has_news(record)
    ]
    for record in waiting[:SWEPT]:
        await learn(records, memory, record)
    return len(waiting[:SWEPT])


async def _store(
    memory: KnowledgeMemory, record: SessionRecord, content: str, happened_at: datetime | None
) -> None:
    receipt = await memory.store_episode(
        content=content,
        butler=record.butler,
        session_id=record.session_id,
        metadata={"source": SOURCE},
        created_at=happened_at,
    )
    if receipt.id is None:
        raise StorageUnavailableError(f"session {record.session_id}: no episode stored: {receipt.reason}")


async def _is_stored(memory: KnowledgeMemory, record: SessionRecord, content: str) -> bool:
    """Tell whether an episode was stored by one that was ended before it could say so."""
    found = await memory.search(
        content[:LOOKED_FOR_CHARS], types=[MemoryType.EPISODE], scope=record.butler, limit=LOOKED_AT
    )
    return any(
        isinstance(each.memory, Episode)
        and each.memory.content == content
        and str(each.memory.session_id) == record.session_id
        for each in found
    )


def _has_news(record: SessionRecord) -> bool:
    try:
        status = record.transcript.stat()
    except FileNotFoundError:
        return False
    return status.st_size != record.size and (record.ended or time.time() - status.st_mtime > QUIET_S)


def _read(transcript: Path, size: int) -> list[Message]:
    """Return what a transcript says within so many bytes; a line that is still being written is left for later."""
    return list(read_messages(_lines(transcript, min(size, MAX_TRANSCRIPT_BYTES))))


def _lines(transcript: Path, size: int) -> Iterator[str]:
    with transcript.open("rb") as file:
        while size > 0 and (line := file.readline()):
            size -= len(line)
            if size >= 0:
                yield line.decode("utf-8", "replace")


def _latest(messages: list[Message], clock: Clock) -> datetime | None:
    moments = [message.said_at for message in messages if message.said_at is not None]
    return min(max(moments), clock()) if moments else None
