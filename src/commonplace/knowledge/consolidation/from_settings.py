"""Consolidation with the configured model."""

from commonplace.knowledge.consolidation.attempt import Approve
from commonplace.knowledge.consolidation.butlers import Consolidation, Notify
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.llm import can_consolidate, open_consolidation_model


async def consolidate(
    session: KnowledgeSession,
    *,
    butler: str | None = None,
    dry_run: bool = False,
    approve: Approve | None = None,
    notify: Notify | None = None,
) -> ConsolidationReport:
    """Consolidate waiting episodes; without a language model, only count them."""
    policy, settings = Policy(), session.database.settings
    if dry_run or not can_consolidate(settings):
        report = await Consolidation(session).run(None, butler=butler, policy=policy)
        return report if can_consolidate(settings) else report.without_model()
    async with open_consolidation_model(settings, clock=session.clock) as model:
        return await Consolidation(session).run(
            model_spawner(model, policy=policy), butler=butler, policy=policy, approve=approve, notify=notify
        )
