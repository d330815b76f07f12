"""Episode cleanup: deletes expired episodes, then the oldest consolidated episodes over a limit (KNW-15)."""

import logging
from dataclasses import dataclass
from typing import Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.session import KnowledgeSession, storage_function
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress, silent

BATCH_ROWS: Final = 1_000
_LOCK: Final = "episode cleanup"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupReceipt:
    """Numbers of episodes after a cleanup.

    Attributes:
        expired_deleted: Deleted because they had expired.
        expired_unconsolidated: Expired episodes that had never been consolidated; also logged.
        capacity_deleted: Consolidated episodes deleted because there were too many.
        remaining: Episodes that are left.
    """

    expired_deleted: int
    expired_unconsolidated: int
    capacity_deleted: int
    remaining: int


class CleanupMethods(KnowledgeSession):
    """The method of knowledge memory that cleans up."""

    async def run_episode_cleanup(
        self, *, max_entries: int | None = None, on_progress: OnUpkeep = silent
    ) -> CleanupReceipt:
        """Delete the tenant's expired episodes, then the oldest consolidated episodes over a limit.

        Episodes that are neither consolidated nor expired stay, even over the limit. The links of a deleted episode are
        deleted too, and memories that were learned from it lose their reference. Each batch of 1,000 is one
        transaction.

        Args:
            max_entries: The number of episodes to keep, 0 or more; ``COMMONPLACE_EPISODE_MAX_ENTRIES`` if ``None``.
            on_progress: Called after each batch with the number of deleted episodes, expired ones first.

        Raises:
            InvalidInputError: ``max_entries`` is not a whole number from 0.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-15.
        """
        most = cast(
            "object", self.database.settings.episode_max_entries if max_entries is None else max_entries
        )
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise InvalidInputError("max_entries", "a whole number from 0", most)
        expired, unconsolidated = await self._delete_expired(on_progress)
        surplus, remaining = await self._delete_surplus(most, on_progress)
        if unconsolidated:
            _log.warning("%d episodes expired before they were consolidated", unconsolidated)
        return CleanupReceipt(
            expired_deleted=expired,
            expired_unconsolidated=unconsolidated,
            capacity_deleted=surplus,
            remaining=remaining,
        )

    async def _delete_expired(self, on_progress: OnUpkeep) -> tuple[int, int]:
        deleted = unconsolidated = 0
        now = self.clock()
        while True:
            async with self._writing() as sql:
                await sql.serialise(keys=[_LOCK])
                batch = await sql.delete_expired_episodes(limit=BATCH_ROWS, now=now)
            deleted += batch["deleted"]
            unconsolidated += batch["unconsolidated"]
            on_progress(UpkeepProgress(step="expired episodes deleted", done=deleted))
            if batch["deleted"] == 0:
                return deleted, unconsolidated

    async def _delete_surplus(self, max_entries: int, on_progress: OnUpkeep) -> tuple[int, int]:
        deleted = 0
        while True:
            async with self._writing() as sql:
                await sql.serialise(keys=[_LOCK])
                batch = await sql.delete_surplus_episodes(max_entries=max_entries, limit=BATCH_ROWS)
            deleted += batch["deleted"]
            on_progress(UpkeepProgress(step="episodes over the limit deleted", done=deleted))
            if batch["deleted"] == 0:
                return deleted, batch["total"]


run_episode_cleanup = storage_function(CleanupMethods, CleanupMethods.run_episode_cleanup)
