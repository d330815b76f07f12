"""Learning from sessions of hosts: storing an episode of a session's new messages."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.core.clock import Clock
from commonplace.core.decoding import decode_text
from commonplace.core.errors import StorageUnavailableError
from commonplace.hosts.hooks.formats import TranscriptMessage
from commonplace.hosts.hooks.outbox import Outbox
from commonplace.hosts.hooks.sessions import SessionRecord, SessionRecords
from commonplace.hosts.hooks.transcripts import digest, read_messages
from commonplace.knowledge import (
    Episode,
    KnowledgeMemory,
    MemoryType,
    Narrowing,
)
from commonplace.services.team_client import TeamClient

QUIET_S: Final = 300.0
"""A session without an end may have been killed if its transcript has not grown for this long."""

SWEPT: Final = 3
"""The maximum number of earlier sessions to learn from at the start of a session: about a second of work."""

LOOKED_AT: Final = 50
LOOKED_FOR_CHARS: Final = 4_000
MAX_TRANSCRIPT_BYTES: Final = 256 * 1024 * 1024

_log = logging.getLogger(__name__)


class InMemory:
    """Episodes of sessions in knowledge memory on this machine, which may be lazy."""

    def __init__(self, memory: KnowledgeMemory) -> None:
        self._memory = memory

    @property
    def clock(self) -> Clock:
        """The clock of the memory."""
        return self._memory.clock

    async def has(self, record: SessionRecord, content: str) -> bool:
        """Return whether the episode exists, because a hook may have been killed before it could record that."""
        found = await self._memory.search(
            content[:LOOKED_FOR_CHARS],
            types=[MemoryType.EPISODE],
            narrowing=Narrowing(scope=record.butler),
            limit=LOOKED_AT,
        )
        return any(
            isinstance(each.memory, Episode)
            and each.memory.content == content
            and str(each.memory.session_id) == record.session_id
            for each in found
        )

    async def store(self, record: SessionRecord, content: str, happened_at: datetime | None) -> None:
        """Store an episode of a session.

        Raises:
            StorageUnavailableError: The episode was not stored; a later session retries.
        """
        receipt = await self._memory.store_episode(
            content=content,
            butler=record.butler,
            session_id=record.session_id,
            metadata={"source": record.host},
            created_at=happened_at,
        )
        if receipt.id is None:
            raise StorageUnavailableError(
                f"session {record.session_id}: no episode was stored: {receipt.reason}"
            )

    async def deliver(self) -> int:
        """Return 0, because no episode waits."""
        return 0


EpisodeStore = InMemory | Outbox
"""The store for episodes of sessions: this machine, or the queue for a service."""


def store_of(home: Path, memory: KnowledgeMemory, record: SessionRecord) -> EpisodeStore:
    """Return the store for the episodes of a session: a service, or the memory of the home.

    Raises:
        InvalidInputError: The record names no valid service.
    """
    if record.server:
        return Outbox(home, TeamClient.at(record.server, record.token_file))
    return InMemory(memory)


async def learn(records: SessionRecords, store: EpisodeStore, record: SessionRecord) -> SessionRecord:
    """Store an episode of the new messages in a session's transcript, if there are any.

    The caller holds the lock of the records.

    Returns:
        The new record; the same record if the transcript cannot be read.

    Raises:
        StorageUnavailableError: Knowledge memory cannot be reached; a later session tries again.
    """
    status = _status(record)
    if status is None:
        return record
    size = status.st_size
    try:
        messages = await asyncio.to_thread(_read, record.transcript, size)
    except OSError as error:
        _log.error("session %s: its transcript cannot be read: %s", record.session_id, error)
        return record
    known = {each for other in records.beside(record) for each in other.read}
    new = [message for message in messages if message.id not in known]
    if (content := digest(new)) and not (record.storing and await store.has(record, content)):
        records.put(replace(record, storing=True))
        await store.store(record, content, _latest(new, store.clock))
    learned = replace(record, storing=False, size=size, read=tuple(message.id for message in messages))
    records.put(learned)
    return learned


async def sweep(records: SessionRecords, store: EpisodeStore, current: SessionRecord) -> int:
    """Learn from earlier sessions of the project that ended without a hook or whose hook failed.

    Running sessions are skipped. The caller holds the lock of the records.

    Returns:
        The number of sessions, at most three.

    Raises:
        StorageUnavailableError: Knowledge memory cannot be reached.
    """
    waiting = [
        record
        for record in records.beside(current)
        if record.session_id != current.session_id and record.server == current.server and has_news(record)
    ]
    learned = 0
    for record in waiting:
        if learned == SWEPT:
            break
        learned += await learn(records, store, record) is not record
    return learned


def has_news(record: SessionRecord) -> bool:
    """Return whether a session that is no longer running has unread messages."""
    status = _status(record)
    if status is None:
        return False
    return status.st_size != record.size and (record.ended or time.time() - status.st_mtime > QUIET_S)


def _status(record: SessionRecord) -> os.stat_result | None:
    """Return the status of a session's transcript; ``None`` if there is no transcript, or it cannot be reached."""
    try:
        return record.transcript.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.error("session %s: its transcript cannot be reached: %s", record.session_id, error)
        return None


def _read(transcript: Path, size: int) -> list[TranscriptMessage]:
    """Return the messages in the first bytes of a transcript; an incomplete last line is left out."""
    return list(read_messages(_lines(transcript, min(size, MAX_TRANSCRIPT_BYTES))))


def _lines(transcript: Path, size: int) -> Iterator[str]:
    with transcript.open("rb") as file:
        while size > 0 and (line := file.readline()):
            size -= len(line)
            if size >= 0:
                yield decode_text(line)


def _latest(messages: list[TranscriptMessage], clock: Clock) -> datetime | None:
    moments = [message.said_at for message in messages if message.said_at is not None]
    return min(max(moments), clock()) if moments else None
