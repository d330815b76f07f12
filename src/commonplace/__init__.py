"""commonplace: memory that lasts from one session of an AI agent to the next.

    from commonplace import AppMemory, KnowledgeMemory, OperationalMemory, WorkspaceMemory

    async with OperationalMemory.open() as memory:
        print((await memory.context()).text)

Each name loads when it is first used.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.apps.memory import AppMemory
    from commonplace.core.settings import Settings, load_settings
    from commonplace.knowledge.memory import KnowledgeMemory
    from commonplace.operational import OperationalMemory
    from commonplace.workspace.memory import WorkspaceMemory

__all__ = [
    "AppMemory",
    "KnowledgeMemory",
    "OperationalMemory",
    "Settings",
    "WorkspaceMemory",
    "load_settings",
]

__getattr__ = lazy_names(
    __name__,
    {
        "apps.memory": "AppMemory",
        "core.settings": "Settings load_settings",
        "knowledge.memory": "KnowledgeMemory",
        "operational": "OperationalMemory",
        "workspace.memory": "WorkspaceMemory",
    },
)
