"""The methods of knowledge memory for consolidation."""

from uuid import UUID

from commonplace.knowledge.config import LIST_LIMIT
from commonplace.knowledge.consolidation import (
    Approve,
    ConsolidationReport,
    FactReview,
    Notify,
    Policy,
    Spawner,
    UndoReport,
    butlers,
    reviews,
    undo,
)
from commonplace.knowledge.consolidation.dead_letters import DeadLetterMethods
from commonplace.knowledge.consolidation.pending import PendingMethods
from commonplace.knowledge.consolidation.runs import RunMethods


class ConsolidationMethods(RunMethods, PendingMethods, DeadLetterMethods):
    """The methods of knowledge memory that consolidate, show and undo runs."""

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
