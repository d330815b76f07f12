"""The statements of app memory, the lock of an app's memories, and the author of a change."""

from pathlib import Path
from typing import Final

from commonplace.core.context import current_context

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"
OPERATOR: Final = "operator"


def memories_lock(app_id: str) -> str:
    """Return the lock of transactions that add or remove memories of an app: one at a time, in all processes."""
    return f"apps:memories:{app_id}"


def actor(default: str) -> str:
    """Return the actor of the request context, or a default outside of one."""
    context = current_context()
    return context.actor if context else default
