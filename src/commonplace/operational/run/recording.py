"""Recording of a running session: rows in the database, and the stream in a file as a fallback.

A slow or unreachable database does not delay the agent. The file of a session is deleted when the session is stored
completely; otherwise the next run stores it.
"""

import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageError
from commonplace.operational.model.output import Shown
from commonplace.operational.model.receipts import SessionReport
from commonplace.operational.model.sessions import SessionStatus
from commonplace.operational.model.stream import StreamEvent
from commonplace.operational.transcript.recorder import Recorder
from commonplace.operational.transcript.recording_process import SEEN_EVERY_S

STORE_S: Final = 30.0
"""Seconds that the end of a session waits for the remaining lines to be stored."""

DIRECTORY: Final = "ops-transcripts"
_NAME: Final = re.compile(r"tier([1-3])-[0-9TZ]+-[0-9]+\.jsonl")
_CHUNK_BYTES: Final = 1 << 16

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The end of a session: the exit status of the CLI and the status of the session."""

    exit_code: int
    status: SessionStatus


class LiveRecording:
    """A recording that accepts events without waiting and stores them in its own task.

    ``is_complete`` is true if everything so far was stored.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.is_complete = True
        self._recorder = recorder
        self._queue: asyncio.Queue[StreamEvent | Shown | SessionEnd] = asyncio.Queue()
        self._reports: list[SessionReport] = []
        self._failures = 0
        self._task = asyncio.create_task(self._run())

    def put(self, item: StreamEvent | Shown) -> None:
        """Take an event or a line to store."""
        self._queue.put_nowait(item)

    async def end(self, end: SessionEnd) -> list[SessionReport]:
        """Store the rest and the end of the session within 30 seconds; return a report of each session."""
        self._queue.put_nowait(end)
        await asyncio.wait({self._task}, timeout=STORE_S)
        if not self._task.done():
            log.warning("the end of the session is not stored: the database took longer than %g s", STORE_S)
            self.is_complete = False
            await self.abandon()
        elif self._failures > 1:
            log.warning("%d writes failed in total", self._failures)
        return self._reports

    async def abandon(self) -> None:
        """Stop storing; a second call does nothing."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        await self._store(self._recorder.begin())
        next_sign = loop.time() + SEEN_EVERY_S
        while True:
            item = await self._next()
            if loop.time() >= next_sign:
                next_sign = loop.time() + SEEN_EVERY_S
                await self._store(self._recorder.see())
            match item:
                case None:
                    continue
                case SessionEnd():
                    await self._store(self._end(item))
                    return
                case Shown():
                    self._recorder.show(item)
                case _:
                    await self._store(self._recorder.take(item))
            if self._queue.empty():
                await self._store(self._recorder.flush())

    async def _next(self) -> StreamEvent | Shown | SessionEnd | None:
        """Return the next item, or ``None`` when the session's last-seen time is due for an update."""
        try:
            async with asyncio.timeout(SEEN_EVERY_S):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def _end(self, end: SessionEnd) -> None:
        self._reports = await self._recorder.end(exit_code=end.exit_code, status=end.status)
        if any(report.failed for report in self._reports):
            self.is_complete = False

    async def _store(self, work: Awaitable[object]) -> None:
        """Await a write; a failed write must not stop the agent."""
        try:
            await work
        except StorageError as error:
            self._note_failure("the session cannot be stored: %s", error)
        except Exception as error:  # noqa: BLE001 - the boundary where memory fails open
            self._note_failure("the session cannot be stored: %r", error, trace=True)

    def _note_failure(self, message: str, error: Exception, *, trace: bool = False) -> None:
        self.is_complete = False
        self._failures += 1
        if self._failures == 1 or trace:
            log.warning(message, error, exc_info=trace)


class TranscriptFile:
    """A file that receives the stream of a session. A failed write is logged once and has no other effect."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def create(cls, home: Path, *, tier: int, now: datetime) -> "TranscriptFile | None":
        """Create the file of a session for its owner only; return ``None`` if it cannot be created."""
        directory = home / DIRECTORY
        path = directory / f"tier{tier}-{now:%Y%m%dT%H%M%SZ}-{os.getpid()}.jsonl"
        try:
            make_directories(directory)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            log.warning("the session has no transcript file: %s", error)
            return None
        return cls(path, fd)

    def write(self, chunk: bytes) -> None:
        """Append a piece of the stream."""
        rest = memoryview(chunk)
        try:
            while rest and self._fd >= 0:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            log.warning("%s is incomplete: %s", self.path, error)
            self.close()

    def close(self) -> None:
        """Close the file and keep it; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def remove(self) -> None:
        """Delete the file once the session is stored."""
        self.close()
        self.path.unlink(missing_ok=True)


def unstored_transcripts(home: Path) -> list[tuple[Path, int]]:
    """Return the transcript files left by earlier runs, each with its tier, oldest first.

    Call this only while no session of this home runs.
    """
    found = sorted((home / DIRECTORY).glob("*.jsonl"), key=lambda path: path.name.partition("-")[2])
    named = ((path, _NAME.fullmatch(path.name)) for path in found)
    return [(path, int(name[1])) for path, name in named if name]


async def read_transcript(path: Path) -> AsyncGenerator[bytes]:
    """Yield a transcript file in pieces."""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
