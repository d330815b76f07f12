"""A sync that a person asks a service for: it goes on in the background if the person does not wait for its end."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings
from commonplace.core.urls import without_logins
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.sync.home import SyncedHome
from commonplace.services.sync.status import summary_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """How a sync ended.

    Attributes:
        at: When it ended.
        text: What it did, or why it failed, in one or two sentences.
        has_failed: Whether it failed.
    """

    at: datetime
    text: str
    has_failed: bool = False


class RequestedSync:
    """The syncs that people ask a service for, one at a time. Close it before the memories.

    Args:
        settings: Those of the home.
        knowledge: Its open knowledge memory.
        clock: Returns the current time.
    """

    def __init__(self, settings: Settings, knowledge: KnowledgeMemory, *, clock: Clock = utc_now) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._clock = clock
        self._task: asyncio.Task[SyncOutcome] | None = None
        self._outcome: SyncOutcome | None = None

    @property
    def is_running(self) -> bool:
        """Whether a sync goes on."""
        return self._task is not None and not self._task.done()

    @property
    def outcome(self) -> SyncOutcome | None:
        """How the last sync ended; ``None`` before the first one has ended."""
        return self._outcome

    async def run(self, *, wait_s: float) -> SyncOutcome | None:
        """Begin a sync, unless one goes on, and wait for its end.

        Args:
            wait_s: How long to wait; the sync then goes on.

        Returns:
            How it ended; ``None`` if it goes on.
        """
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._sync(), name="sync on request")
        done, _ = await asyncio.wait([self._task], timeout=wait_s)
        return self._task.result() if done else None

    async def aclose(self) -> None:
        """Cancel a sync that goes on; the next one does what it could not."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _sync(self) -> SyncOutcome:
        self._outcome = await self._ended()
        return self._outcome

    async def _ended(self) -> SyncOutcome:
        try:
            async with SyncedHome.open(self._settings, clock=self._clock) as home:
                report = await home.sync(knowledge=self._knowledge)
        except CommonplaceError as error:
            text = f"Not synced: {without_logins(str(error))}"
        except Exception:  # noqa: BLE001 - an outer door: the page says that it failed
            _log.exception("not synced")
            text = "Not synced: an unexpected error. The log of the service has the details."
        else:
            return SyncOutcome(at=self._clock(), text=summary_of(report))
        return SyncOutcome(at=self._clock(), text=text, has_failed=True)
