"""Figures of workspace memory, as its file says."""

from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from commonplace.workspace.memory import WorkspaceMemory

PREFIX: Final = "commonplace_workspace_"


async def figures(memory: WorkspaceMemory) -> list[Metric]:
    """Return how full the file is, and whether there is anything in it that cannot be read."""
    found = await memory.search(limit=None)
    return [
        GaugeMetricFamily(PREFIX + name, documentation, value=value)
        for name, documentation, value in (
            ("memories", "Memories of the workspace", len(found.memories)),
            ("memories_capacity", "Memories beyond which the oldest go", memory.config.max_total),
            ("damaged_lines", "Lines of the file that cannot be used", len(await memory.problems())),
        )
    ]
