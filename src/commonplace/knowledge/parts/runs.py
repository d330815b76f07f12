"""Consolidation of knowledge memory, and its runs."""

from uuid import UUID

from commonplace.knowledge.consolidation.attempt import Approve
from commonplace.knowledge.consolidation.butlers import (
    EXPIRES_SOON_S,
    Consolidation,
    ExpiringEpisodes,
    Notify,
    PendingGroup,
)
from commonplace.knowledge.consolidation.from_settings import consolidate
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.runs import Run, RunRecord, RunRecords
from commonplace.knowledge.consolidation.spawner import Spawner
from commonplace.knowledge.consolidation.undo import RunUndo, UndoReport
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.store.session import KnowledgeSession


class ConsolidationRuns:
    """Consolidation of episodes, and its runs: ``memory.runs``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session
        self._consolidation = Consolidation(session)
        self._records = RunRecords(session)
        self._undo = RunUndo(session)

    async def consolidate(
        self,
        cc_spawner: Spawner | None = None,
        *,
        butler: str | None = None,
        worker: str | None = None,
        policy: Policy | None = None,
        approve: Approve | None = None,
        notify: Notify | None = None,
    ) -> ConsolidationReport:
        """Consolidate the tenant's episodes, butler by butler, oldest first, until no episode is due.

        Several workers may do this at once, because only one worker at a time holds a butler's episodes. Dates in the
        prompt are in the configured time zone.

        Args:
            cc_spawner: Asks the model. Without a spawner, episodes are counted, the planned runs are listed, and
                nothing changes.
            butler: Only this butler's episodes.
            worker: The worker's name for operators; host and process by default.
            policy: Time limits and pauses.
            approve: Called with each plan before it is applied; if it returns false, the group stays unchanged.
            notify: Called with each run that was applied or refused.

        Raises:
            StorageUnavailableError: The server cannot be reached at the start; later outages are in ``errors``.

        Source: KNW-12, KNW-14, KNW-24.3.
        """
        return await self._consolidation.run(
            cc_spawner, butler=butler, worker=worker, policy=policy, approve=approve, notify=notify
        )

    async def consolidate_as_configured(
        self,
        *,
        butler: str | None = None,
        dry_run: bool = False,
        approve: Approve | None = None,
        notify: Notify | None = None,
    ) -> ConsolidationReport:
        """Consolidate waiting episodes with the configured model; without a language model, only count them.

        A dry run does not open the model.

        Args:
            butler: Only this butler's episodes.
            dry_run: Only count episodes and list the planned runs.
            approve: Called with each plan before it is applied.
            notify: Called with each run.

        Raises:
            SettingsError: The model is unknown, or a setting that it needs is missing.
            StorageError: The database cannot be opened or reached.

        Source: KNW-12.2, KNW-12.3.
        """
        return await consolidate(
            self._session, butler=butler, dry_run=dry_run, approve=approve, notify=notify
        )

    async def pending(self) -> list[PendingGroup]:
        """Return the tenant's waiting episodes by butler, without expired episodes.

        Source: KNW-12.3.
        """
        return await self._consolidation.pending()

    async def expiring(self, *, within_s: float = EXPIRES_SOON_S) -> ExpiringEpisodes:
        """Return the tenant's waiting episodes that expire within a period, by default a day."""
        return await self._consolidation.expiring(within_s=within_s)

    async def loses_episodes(self, *, within_s: float) -> bool:
        """Return whether an episode of the tenant, waiting or a dead letter, expires within a period."""
        return await self._consolidation.loses_episodes(within_s=within_s)

    async def get(self, run_id: UUID | str) -> RunRecord:
        """Return a run with its actions.

        Raises:
            NotFoundError: No run has the id.
        """
        return await self._records.get(run_id)

    async def undo(self, run_id: UUID | str, *, requeue: bool = False) -> UndoReport:
        """Undo a run, in one transaction.

        Args:
            run_id: A run that was applied.
            requeue: Consolidate the run's episodes again, unless they have expired.

        Raises:
            InvalidInputError: The id is malformed, or the run was not applied.
            NotFoundError: No run has the id.
        """
        return await self._undo.run(run_id, requeue=requeue)

    async def list(
        self,
        *,
        butler: str | None = None,
        state: str | None = None,
        limit: int = LIST_LIMIT,
        offset: int = 0,
    ) -> list[Run]:
        """Return the tenant's runs, latest first.

        ``butler`` and ``state``, a :class:`RunState`, are filters; ``limit`` is 1 to 1,000.
        """
        return await self._records.list(butler=butler, state=state, limit=limit, offset=offset)
