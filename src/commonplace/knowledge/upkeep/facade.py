"""The methods of knowledge memory that keep it in order: counts, the audit stream, sweeps and consolidation."""

from datetime import datetime
from typing import Any
from uuid import UUID

from commonplace.knowledge.consolidation import dead_letters, pending, pipeline, runs, undo
from commonplace.knowledge.consolidation.dead_letters import DeadLetter
from commonplace.knowledge.consolidation.pending import PendingGroup
from commonplace.knowledge.consolidation.pipeline import Approve, ConsolidationReport, Notify
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.runs import Run, RunRecord
from commonplace.knowledge.consolidation.spawner import Spawner
from commonplace.knowledge.consolidation.undo import UndoReport
from commonplace.knowledge.session import KnowledgeSession
from commonplace.knowledge.upkeep import audit, cleanup, decay
from commonplace.knowledge.upkeep import stats as counting
from commonplace.knowledge.upkeep.audit import Entry
from commonplace.knowledge.upkeep.decay import DecayReceipt
from commonplace.knowledge.upkeep.progress import OnUpkeep, silent


class UpkeepMethods(KnowledgeSession):
    """Upkeep: count, audit, sweep, clean up, consolidate, undo."""

    async def stats(self, *, scope: str | None = None) -> dict[str, dict[str, Any]]:
        """Return counts of episodes, facts and rules; see :func:`~.upkeep.stats.memory_stats`."""
        async with self.acting() as pool:
            return await counting.memory_stats(pool, scope=scope, clock=self.clock)

    async def list_events(
        self,
        *,
        event_type: str | None = None,
        memory_id: UUID | str | None = None,
        run_id: UUID | str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Entry]:
        """Return entries of the audit stream, the latest first; see :func:`~.upkeep.audit.list_events`."""
        async with self.acting() as pool:
            return await audit.list_events(
                pool,
                event_type=event_type,
                memory_id=memory_id,
                run_id=run_id,
                actor=actor,
                since=since,
                until=until,
                limit=limit,
                offset=offset,
            )

    async def get_event(self, event_id: UUID | str) -> Entry:
        """Return an entry of the audit stream; see :func:`~.upkeep.audit.get_event`."""
        async with self.acting() as pool:
            return await audit.get_event(pool, event_id)

    async def run_decay_sweep(self, *, on_progress: OnUpkeep = silent) -> DecayReceipt:
        """Mark and expire facts and rules by their confidence; see :func:`~.upkeep.decay.run_decay_sweep`."""
        async with self.acting() as pool:
            return await decay.run_decay_sweep(pool, on_progress=on_progress, clock=self.clock)

    async def run_episode_cleanup(
        self, *, max_entries: int | None = None, on_progress: OnUpkeep = silent
    ) -> dict[str, int]:
        """Delete expired and surplus episodes; see :func:`~.upkeep.cleanup.run_episode_cleanup`.

        ``max_entries`` is ``COMMONPLACE_EPISODE_MAX_ENTRIES`` if ``None``.
        """
        most = self.database.settings.episode_max_entries if max_entries is None else max_entries
        async with self.acting() as pool:
            return await cleanup.run_episode_cleanup(
                pool, max_entries=most, on_progress=on_progress, clock=self.clock
            )

    async def pending_groups(self) -> list[PendingGroup]:
        """Return the episodes that wait for consolidation, by butler."""
        async with self.acting() as pool:
            return await pending.pending_groups(pool, clock=self.clock)

    async def run_consolidation(
        self,
        cc_spawner: Spawner | None = None,
        *,
        butler: str | None = None,
        worker: str | None = None,
        policy: Policy | None = None,
        approve: Approve | None = None,
        notify: Notify | None = None,
    ) -> ConsolidationReport:
        """Consolidate episodes into facts and rules; see :func:`~.consolidation.pipeline.run_consolidation`."""
        async with self.acting() as pool:
            return await pipeline.run_consolidation(
                pool,
                self.engine,
                cc_spawner,
                butler=butler,
                worker=worker,
                policy=policy,
                approve=approve,
                notify=notify,
                clock=self.clock,
            )

    async def list_runs(
        self,
        *,
        butler: str | None = None,
        state: str | None = None,
        limit: int = runs.DEFAULT_LIMIT,
        offset: int = 0,
    ) -> list[Run]:
        """Return runs of consolidation, the latest first; see :func:`~.consolidation.runs.list_runs`."""
        async with self.acting() as pool:
            return await runs.list_runs(pool, butler=butler, state=state, limit=limit, offset=offset)

    async def get_run(self, run_id: UUID | str) -> RunRecord:
        """Return a run with its actions; see :func:`~.consolidation.runs.get_run`."""
        async with self.acting() as pool:
            return await runs.get_run(pool, run_id)

    async def undo_run(self, run_id: UUID | str, *, requeue: bool = False) -> UndoReport:
        """Undo a run; see :func:`~.consolidation.undo.undo_run`."""
        async with self.acting() as pool:
            return await undo.undo_run(pool, run_id, requeue=requeue, clock=self.clock)

    async def list_dead_letters(self, *, butler: str | None = None) -> list[DeadLetter]:
        """Return the episodes whose consolidation failed for good."""
        async with self.acting() as pool:
            return await dead_letters.list_dead_letters(pool, butler=butler)

    async def requeue_dead_letters(self, *, butler: str | None = None) -> int:
        """Let dead letters be consolidated again, and return their number."""
        async with self.acting() as pool:
            return await dead_letters.requeue_dead_letters(pool, butler=butler, clock=self.clock)
