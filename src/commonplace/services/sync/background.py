"""Sync that nobody waits for: at the start and the end of a session, and beside a worker or the service."""

import logging

from commonplace.core.errors import CommonplaceError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.sync.home import SyncedHome, is_synced

_log = logging.getLogger(__name__)


async def sync_in_background(settings: Settings, knowledge: KnowledgeMemory | None = None) -> None:
    """Sync a home once if it belongs to a target; faults are logged, and the next sync tries again.

    Args:
        settings: Those of the home.
        knowledge: Its open knowledge memory, if there is one.
    """
    if not is_synced(settings.home):
        return
    try:
        async with SyncedHome.open(settings) as home:
            report = await home.sync(knowledge=knowledge)
    except StorageUnavailableError as error:
        _log.info("not synced: %s", error)  # As without a network; `commonplace sync status` says since when.
    except CommonplaceError as error:
        _log.warning("not synced: %s", error)
    else:
        for problem in report.problems:
            _log.warning("sync: %s", problem)
