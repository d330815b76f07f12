"""The methods of knowledge memory for consolidation."""

from uuid import UUID

from commonplace.knowledge.config import LIST_LIMIT
from commonplace.knowledge.consolidation import (
    Approve,
    ConsolidationReport,
    DeadLetter,
    FactReview,
    Notify,
    PendingGroup,
    Policy,
    Run,
    RunRecord,
    Spawner,
    UndoReport,
    butlers,
    dead_letters,
    pending,
    reviews,
    runs,
    undo,
)
from commonplace.knowledge.session import KnowledgeSession


class ConsolidationMethods(KnowledgeSession):
    """The methods of knowledge memory that consolidate, show and undo runs."""

    async def pending_groups(self) -> list[PendingGroup]:
        """Return the numbers of episodes that wait for consolidation, by butler."""
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
        """Consolidate episodes into facts and rules; see :func:`~.consolidation.butlers.run_consolidation`."""
        async with self.acting() as pool:
            return await butlers.run_consolidation(
                pool,
                self.engine,
                cc_spawner,
                butler=butler,
                worker=worker,
                policy=policy,
                approve=approve,
                notify=notify,
                clock=self.clock,
                zone=self.database.settings.zone,
            )

    async def list_runs(
        self,
        *,
        butler: str | None = None,
        state: str | None = None,
        limit: int = LIST_LIMIT,
        offset: int = 0,
    ) -> list[Run]:
        """Return consolidation runs, the latest first; see :func:`~.consolidation.runs.list_runs`."""
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

    async def reviews(self, *, decided: bool = False, limit: int = LIST_LIMIT) -> list[FactReview]:
        """Return pairs of facts that wait for a decision; see :func:`~.consolidation.reviews.list_reviews`."""
        async with self.acting() as pool:
            return await reviews.list_reviews(pool, decided=decided, limit=limit)

    async def decide(self, review_id: int, decision: str) -> FactReview:
        """Decide about a pair of facts; see :func:`~.consolidation.reviews.decide`."""
        async with self.acting() as pool:
            return await reviews.decide(pool, review_id, decision, clock=self.clock)

    async def undo_decision(self, review_id: int) -> FactReview:
        """Take a decision about a pair of facts back; see :func:`~.consolidation.reviews.undo_decision`."""
        async with self.acting() as pool:
            return await reviews.undo_decision(pool, review_id, clock=self.clock)

    async def list_dead_letters(self, *, butler: str | None = None) -> list[DeadLetter]:
        """Return the episodes with no more retries."""
        async with self.acting() as pool:
            return await dead_letters.list_dead_letters(pool, butler=butler)

    async def requeue_dead_letters(self, *, butler: str | None = None) -> int:
        """Requeue dead letters that have not expired, and return their number."""
        async with self.acting() as pool:
            return await dead_letters.requeue_dead_letters(pool, butler=butler, clock=self.clock)
