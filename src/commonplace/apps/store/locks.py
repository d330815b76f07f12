"""The SQL directory of app memory, and the lock of an app's memories."""

from pathlib import Path
from typing import Final

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"


def memories_lock(app_id: str) -> str:
    """Return the name of the lock that serialises additions and removals of an app's memories over all processes."""
    return f"apps:memories:{app_id}"
