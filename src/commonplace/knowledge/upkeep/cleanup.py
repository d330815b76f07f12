"""Episode cleanup: deletes expired episodes, then the oldest consolidated episodes over a limit (KNW-15)."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from commonplace.core.bounds import require_within
from commonplace.knowledge.model.bounds import MaxEntries
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress, silent
from commonplace.storage.database import Columns

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
        remaining: Remaining episodes.
    """

    expired_deleted: int
    expired_unconsolidated: int
    capacity_deleted: int
    remaining: int


class EpisodeCleanup:
    """The cleanup of episodes."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def run(self, *, max_entries: int | None = None, on_progress: OnUpkeep = silent) -> CleanupReceipt:
        """Delete the tenant's expired episodes, then the oldest consolidated episodes over a limit."""
        most = require_within(
            MaxEntries,
            self._session.database.settings.episode_max_entries if max_entries is None else max_entries,
            field="max_entries",
        )
        await self._session.require_plausible_clock()
        now = self._session.clock()
        expired = await self._delete(
            "expired episodes deleted",
            lambda sql: sql.delete_expired_episodes(limit=BATCH_ROWS, now=now),
            on_progress,
        )
        surplus = await self._delete(
            "episodes above the limit deleted",
            lambda sql: sql.delete_surplus_episodes(max_entries=most, limit=BATCH_ROWS),
            on_progress,
        )
        async with self._session.writing() as sql:
            await sql.delete_expired_answers()
        unconsolidated = sum(batch["unconsolidated"] for batch in expired)
        if unconsolidated:
            _log.warning("%d episodes expired before they were consolidated", unconsolidated)
        return CleanupReceipt(
            expired_deleted=sum(batch["deleted"] for batch in expired),
            expired_unconsolidated=unconsolidated,
            capacity_deleted=sum(batch["deleted"] for batch in surplus),
            remaining=surplus[-1]["total"],
        )

    async def _delete(
        self, step: str, delete: Callable[[KnowledgeStatements], Awaitable[Columns]], on_progress: OnUpkeep
    ) -> list[Columns]:
        """Delete batches until nothing is left to delete, and return their numbers."""
        batches: list[Columns] = []
        while not batches or batches[-1]["deleted"]:
            async with self._session.writing() as sql:
                await sql.serialise(keys=[_LOCK])
                batches.append(await delete(sql))
            on_progress(UpkeepProgress(step=step, done=sum(batch["deleted"] for batch in batches)))
        return batches
