"""Consolidation with the model that the settings name, for the command line and the MCP server."""

from dataclasses import replace
from typing import Any

from commonplace.core.clock import format_timestamp
from commonplace.knowledge.consolidation.pipeline import Approve, ConsolidationReport, Notify
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.spawner import NO_LANGUAGE_MODEL, model_spawner
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.llm import names_language_model, open_model

COUNTS = ("facts_created", "facts_updated", "facts_confirmed", "rules_created", "rules_confirmed")


async def consolidate(
    memory: KnowledgeMemory,
    *,
    butler: str | None = None,
    dry_run: bool = False,
    approve: Approve | None = None,
    notify: Notify | None = None,
) -> ConsolidationReport:
    """Consolidate the episodes that wait; without a language model they are counted, and nothing is changed.

    A dry run asks no model, and needs none that can be used.

    Args:
        memory: Whose tenant's episodes.
        butler: Only this one's.
        dry_run: Only count, and name the runs that would be made.
        approve: Is shown each plan before it is applied.
        notify: Is told of each run.

    Raises:
        SettingsError: The model is unknown, or what it needs is missing.
        InvalidInputError: ``butler`` is no name.
        StorageError: The database cannot be opened or reached.

    Source: KNW-12.2, KNW-12.3.
    """
    policy, settings = Policy(), memory.database.settings
    if dry_run or not names_language_model(settings):
        report = await memory.run_consolidation(None, butler=butler, policy=policy)
        return report if names_language_model(settings) else without_model(report)
    async with open_model(settings, clock=memory.clock) as model:
        return await memory.run_consolidation(
            model_spawner(model, policy=policy), butler=butler, policy=policy, approve=approve, notify=notify
        )


def without_model(report: ConsolidationReport) -> ConsolidationReport:
    """Return the report of a dry run that was one because no language model is set, and says so."""
    return replace(report, note=NO_LANGUAGE_MODEL)


def planned(report: ConsolidationReport) -> dict[str, Any]:
    """Return what a dry run found, as JSON-safe values."""
    return {
        "planned": [
            {
                "butler": run.butler,
                "episodes": len(run.episode_ids),
                "oldest_at": format_timestamp(run.oldest_at),
                "newest_at": format_timestamp(run.newest_at),
            }
            for run in report.planned
        ],
        "busy": list(report.busy),
        "waiting": list(report.waiting),
        "note": report.note,
    }


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
        "again_at": None if report.again_at is None else format_timestamp(report.again_at),
        "errors": list(report.errors),
    }
