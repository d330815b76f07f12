"""Consolidation in the resident process: sessions become knowledge without a worker."""

import asyncio
import logging
import time
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import CRON_OFF, Settings
from commonplace.knowledge import KnowledgeMemory, consolidate
from commonplace.llm import can_consolidate

EVERY_S: Final = 600.0
"""Sessions that end sooner after a consolidation wait together for the next one, which saves tokens."""

_log = logging.getLogger(__name__)


class Consolidation:
    """Consolidates waiting episodes behind the hooks, if the settings name a language model for it.

    Args:
        settings: The settings; a schedule that is off switches this off as well.
        memory: The memory.
    """

    def __init__(self, settings: Settings, memory: KnowledgeMemory) -> None:
        self._memory = memory
        self._allowed = can_consolidate(settings) and settings.consolidation_cron != CRON_OFF
        self._task: asyncio.Task[None] | None = None
        self._began_at = float("-inf")
        self._is_stopped = False
        self.is_running = False

    def begin(self) -> None:
        """Consolidate now, or later if it was done lately; after a stop, do nothing."""
        if self._allowed and not self._is_stopped and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="consolidation")

    async def stop(self) -> None:
        """End what runs; its episodes wait for the next consolidation."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        await asyncio.sleep(self._began_at + EVERY_S - time.monotonic())
        self._began_at = time.monotonic()
        self.is_running = True
        try:
            report = await consolidate(self._memory)
            if not report.groups:
                # Nothing waited, so the session that ends next need not wait.
                self._began_at = float("-inf")
        except CommonplaceError as error:
            _log.error("sessions wait for consolidation: %s", error)
        except Exception:  # noqa: BLE001 - an outer door: the next session tries again
            _log.exception("sessions wait for consolidation")
        finally:
            self.is_running = False
