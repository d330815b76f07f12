"""Metrics of the file of workspace memory."""

from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from commonplace.workspace import WorkspaceMemory

PREFIX: Final = "commonplace_workspace_"


async def figures(memory: WorkspaceMemory) -> list[Metric]:
    """Return the number of memories and of damaged lines."""
    found = await memory.search(limit=None)
    return [
        GaugeMetricFamily(PREFIX + name, documentation, value=value)
        for name, documentation, value in (
            ("memories", "Memories of the workspace", len(found.memories)),
            (
                "memories_capacity",
                "Capacity; beyond it the oldest memories are deleted",
                memory.config.max_total,
            ),
            ("damaged_lines", "Lines of the file that cannot be read", len(await memory.problems())),
        )
    ]
