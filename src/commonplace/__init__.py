"""commonplace: memory that lasts from one session of an AI agent to the next.

    from commonplace import AppMemory, KnowledgeMemory, OperationalMemory, WorkspaceMemory

    async with OperationalMemory.open() as memory:
        print((await memory.context()).text)

The names load when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "AppMemory": "commonplace.apps.memory",
    "KnowledgeMemory": "commonplace.knowledge.memory",
    "OperationalMemory": "commonplace.operational",
    "Settings": "commonplace.core.settings",
    "WorkspaceMemory": "commonplace.workspace.memory",
    "load_settings": "commonplace.core.settings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
