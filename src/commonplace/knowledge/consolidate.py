"""Consolidation with the model that the settings name, for the command line and the MCP server."""

from typing import Any

from commonplace.knowledge.consolidation.consolidation import Approve, ConsolidationReport, Notify
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.llm import open_model

COUNTS = ("facts_created", "facts_updated", "facts_confirmed", "rules_created", "rules_confirmed")


async def consolidate(
    memory: KnowledgeMemory,
    *,
    butler: str | None = None,
    approve: Approve | None = None,
    notify: Notify | None = None,
) -> ConsolidationReport:
    """Consolidate the episodes that wait; without a language model they are counted, and nothing is changed.

    Args:
        memory: Whose tenant's episodes.
        butler: Only this one's.
        approve: Is shown each plan before it is applied.
        notify: Is told of each run.

    Raises:
        SettingsError: The model is unknown, or what it needs is missing.
        InvalidInputError: ``butler`` is no name.
        StorageError: The database cannot be opened or reached.

    Source: KNW-12.2, KNW-12.3.
    """
    policy = Policy()
    async with open_model(memory.database.settings, engine=memory.engine, clock=memory.clock) as model:
        return await memory.run_consolidation(
            model_spawner(model, policy=policy), butler=butler, policy=policy, approve=approve, notify=notify
        )


def outcome(report: ConsolidationReport) -> dict[str, Any]:
    """Return what a consolidation did, as JSON-safe values."""
    return {
        "episodes_consolidated": report.episodes_consolidated,
        **{name: report.total(name) for name in COUNTS},
        "runs": [
            {
                "id": str(run.id),
                "butler": run.butler,
                "state": str(run.state),
                "episodes": len(run.episode_ids),
            }
            for run in report.runs
        ],
        "failed": list(report.failed),
        "busy": list(report.busy),
        "waiting": list(report.waiting),
        "errors": list(report.errors),
    }
