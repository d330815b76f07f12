"""Consolidation with the configured model."""

from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.knowledge.consolidation.attempt import Approve
from commonplace.knowledge.consolidation.butlers import Notify
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.spawner import NO_LANGUAGE_MODEL, model_spawner
from commonplace.llm import can_consolidate, open_consolidation_model

if TYPE_CHECKING:
    from commonplace.knowledge.memory import KnowledgeMemory


async def consolidate(
    memory: "KnowledgeMemory",
    *,
    butler: str | None = None,
    dry_run: bool = False,
    approve: Approve | None = None,
    notify: Notify | None = None,
) -> ConsolidationReport:
    """Consolidate waiting episodes; without a language model, only count them.

    A dry run does not open the model.

    Args:
        memory: The memory of the tenant.
        butler: Only this butler's episodes.
        dry_run: Only count episodes and list the planned runs.
        approve: Called with each plan before it is applied.
        notify: Called with each run.

    Raises:
        SettingsError: The model is unknown, or a setting that it needs is missing.
        StorageError: The database cannot be opened or reached.

    Source: KNW-12.2, KNW-12.3.
    """
    policy, settings = Policy(), memory.database.settings
    if dry_run or not can_consolidate(settings):
        report = await memory.runs.consolidate(None, butler=butler, policy=policy)
        return report if can_consolidate(settings) else without_model(report)
    async with open_consolidation_model(settings, clock=memory.clock) as model:
        return await memory.runs.consolidate(
            model_spawner(model, policy=policy), butler=butler, policy=policy, approve=approve, notify=notify
        )


def without_model(report: ConsolidationReport) -> ConsolidationReport:
    """Return the report of a dry run with a note that no language model is set."""
    return replace(report, note=NO_LANGUAGE_MODEL)
