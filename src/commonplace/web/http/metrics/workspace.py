"""Metrics of the file of workspace memory."""

from prometheus_client.core import Metric

from commonplace.web.http.metrics.families import gauges
from commonplace.workspace import WorkspaceMemory


async def figures(memory: WorkspaceMemory) -> list[Metric]:
    """Return the number of memories and of damaged lines."""
    found, problems = await memory.search(limit=None), await memory.problems()
    capacity = "Maximum number of memories; above it, the oldest are deleted"
    return gauges(
        "commonplace_workspace_",
        ("memories", "Memories of the workspace", len(found.memories)),
        ("memories_capacity", capacity, memory.config.max_total),
        ("damaged_lines", "Lines of the file that cannot be read", len(problems)),
    )
