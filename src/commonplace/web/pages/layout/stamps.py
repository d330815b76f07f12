"""The stamp of the overview: a short text that stays the same while the page does not change.

An open tab sends its stamp. Three small statements and the modification time of one file show whether the page must be
rendered again. After the state of the memories, the stamp has the minute, because ages such as "3 min ago" change
without a write. Every ten minutes the state counts as changed, so that cards that load themselves load again.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError
from commonplace.services.opening import Memories
from commonplace.web.http.access import knowledge_of, memories

TIMEOUT_S: Final = 1.0
MINUTE_S: Final = 60
CARDS_MINUTES: Final = 10


async def stamp_of(request: Request) -> str:
    """Return the stamp of the overview for the caller: the state, a hyphen, and the minute."""
    both = memories(request)
    minute = int(both.operational.now().timestamp()) // MINUTE_S
    parts = (
        str(minute // CARDS_MINUTES),
        await both.operational.figures.change_stamp(),
        await both.apps.figures.change_stamp(),
        _file_stamp(both.workspace.path),
        await _knowledge_stamp(request, both),
    )
    return f"{hashlib.blake2s('|'.join(parts).encode(), digest_size=8).hexdigest()}-{minute}"


def is_same_state(one: str, other: str) -> bool:
    """Return whether two stamps differ only in the minute."""
    return one.partition("-")[0] == other.partition("-")[0]


async def _knowledge_stamp(request: Request, both: Memories) -> str:
    """Return the stamp of knowledge memory, or a word for its state if it cannot answer."""
    if not both.knowledge.database.was_tried:
        return "starting"
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await knowledge_of(request).events.stamp()
    except (CommonplaceError, TimeoutError):
        return "down"


def _file_stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}"
