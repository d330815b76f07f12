"""The SQL directory of app memory, the lock of an app's memories, and the actor of a change."""

from pathlib import Path
from typing import Final

from commonplace.core.context import current_context

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"
OPERATOR: Final = "operator"


def memories_lock(app_id: str) -> str:
    """Return the name of the lock that serialises additions and removals of an app's memories over all processes."""
    return f"apps:memories:{app_id}"


def actor(default: str) -> str:
    """Return the actor of the request context; the default if there is no context."""
    context = current_context()
    return context.actor if context else default
