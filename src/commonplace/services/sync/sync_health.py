"""What the warnings about a home say of sync."""

from commonplace.core.settings import Settings
from commonplace.services.health.rules import SyncHealth
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.home import read_status


async def read_sync_health(opened: OpenedMemories, settings: Settings) -> SyncHealth:
    """Return since when syncs of a home fail, and how many conflicts wait; the target is not asked.

    Raises:
        StorageError: The state of sync or knowledge memory cannot be read.
    """
    status = await read_status(settings)
    if status is None:
        return SyncHealth()
    return SyncHealth(
        failed_since=status.failure.since if status.failure else None,
        error=status.failure.error if status.failure else "",
        conflicts=await opened.knowledge().exchange.count_conflicts(),
    )
