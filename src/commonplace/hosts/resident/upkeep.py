"""What the resident process does after sessions: consolidation, so that no worker is needed, and sync."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import CRON_OFF, Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.llm import can_consolidate
from commonplace.services.sync.background import sync_in_background

EVERY_S: Final = 600.0
"""Sessions that end sooner after a consolidation wait for the next one together, which saves tokens."""

_log = logging.getLogger(__name__)


class BackgroundConsolidation:
    """Background consolidation of waiting episodes, if the settings name a language model for it.

    Args:
        settings: The settings; if the schedule is off, this consolidation is off too.
        memory: The memory.
        after: Called after a consolidation that read episodes.
    """

    def __init__(
        self, settings: Settings, memory: KnowledgeMemory, *, after: Callable[[], None] = lambda: None
    ) -> None:
        self._memory = memory
        self._after = after
        self._allowed = can_consolidate(settings) and settings.consolidation_cron != CRON_OFF
        self._task: asyncio.Task[None] | None = None
        self._began_at = float("-inf")
        self._is_stopped = False
        self.is_running = False

    def begin(self) -> None:
        """Consolidate now, or later if the last consolidation was recent; after a stop, do nothing."""
        if self._allowed and not self._is_stopped and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="consolidation")

    async def stop(self) -> None:
        """Stop the running consolidation; its episodes wait for the next one."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        await asyncio.sleep(self._began_at + EVERY_S - time.monotonic())
        self._began_at = time.monotonic()
        self.is_running = True
        try:
            report = await self._memory.runs.consolidate_as_configured()
            if report.groups:
                self._after()
            else:
                # No episode waited, so the next session that ends need not wait.
                self._began_at = float("-inf")
        except CommonplaceError as error:
            _log.error("sessions wait for consolidation: %s", error)
        except Exception:  # noqa: BLE001 - an outer door: the next session tries again
            _log.exception("sessions wait for consolidation")
        finally:
            self.is_running = False


class BackgroundSync:
    """Background syncs of the home, one at a time: a target that hangs blocks one thread, and no hook.

    Args:
        settings: The settings.
        memory: The memory.
    """

    def __init__(self, settings: Settings, memory: KnowledgeMemory) -> None:
        self._settings = settings
        self._memory = memory
        self._is_due = False
        self._is_running = False

    async def run(self) -> None:
        """Sync now; if a sync is running, return at once, and one more sync follows for all callers meanwhile."""
        self._is_due = True
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._is_due:
                self._is_due = False
                await sync_in_background(self._settings, self._memory)
        finally:
            self._is_running = False
