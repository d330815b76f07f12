"""Stores a session beside its running: what is slow or away in the database holds up neither agent nor operator."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from commonplace.core.errors import StorageError
from commonplace.operational.output import Shown
from commonplace.operational.receipts import ReceiptOutcome, SessionReport
from commonplace.operational.run.recording_process import SEEN_EVERY_S
from commonplace.operational.sessions import SessionStatus
from commonplace.operational.transcript.ingest import Recorder
from commonplace.operational.transcript.stream import StreamEvent

STORE_S: Final = 30.0
"""How long the end of a session waits for what is not stored yet."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """How a session ended: the exit status of the CLI and what to make of it."""

    exit_code: int
    status: SessionStatus


class LiveRecording:
    """Takes events without ever waiting, and stores them in a task of its own.

    Attributes:
        is_complete: Whether everything that came was stored.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.is_complete = True
        self._recorder = recorder
        self._queue: asyncio.Queue[StreamEvent | Shown | SessionEnd] = asyncio.Queue()
        self._reports: list[SessionReport] = []
        self._failures = 0
        self._task = asyncio.create_task(self._run())

    def put(self, item: StreamEvent | Shown) -> None:
        """Take what is to be stored."""
        self._queue.put_nowait(item)

    async def end(self, end: SessionEnd) -> list[SessionReport]:
        """Store the rest and the session's end, for 30 seconds at most; return a report of each session."""
        self._queue.put_nowait(end)
        await asyncio.wait({self._task}, timeout=STORE_S)
        if not self._task.done():
            log.warning("the session is not stored to its end: the database took longer than %g s", STORE_S)
            self.is_complete = False
            await self.abandon()
        elif self._failures > 1:
            log.warning("%d things in all could not be stored", self._failures)
        return self._reports

    async def abandon(self) -> None:
        """Store nothing more; a second call does nothing."""
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
        """Return the next item, or ``None`` when it is time for a sign of life."""
        try:
            async with asyncio.timeout(SEEN_EVERY_S):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def _end(self, end: SessionEnd) -> None:
        self._reports = await self._recorder.end(exit_code=end.exit_code, status=end.status)
        receipts = [receipt for report in self._reports for receipt in report.receipts]
        if any(receipt.outcome is ReceiptOutcome.FAILED for receipt in receipts):
            self.is_complete = False

    async def _store(self, work: Awaitable[object]) -> None:
        """Do some storing; memory that fails must not stop the agent."""
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
