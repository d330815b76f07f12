"""The latest consolidation run that was not undone."""

from commonplace.knowledge import KnowledgeMemory, RunRecord, RunState


async def latest_run(knowledge: KnowledgeMemory) -> RunRecord | None:
    """Return the latest run that was applied and not undone; ``None`` if there is none.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    runs = await knowledge.list_runs(state=RunState.APPLIED, limit=1)
    return await knowledge.get_run(runs[0].id) if runs else None
