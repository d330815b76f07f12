"""The stamp of the overview: a short text that stays the same while nothing on the page changes.

An open tab sends the stamp that it shows. Three small statements and the time of one file tell whether the page must be
rendered again. The stamp also holds the minute, because ages such as "3 min ago" and numbers of the last seven days
change without a write.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError
from commonplace.memories import Memories
from commonplace.web.access import knowledge_of, memories

TIMEOUT_S: Final = 1.0
MINUTE_S: Final = 60


async def stamp_of(request: Request) -> str:
    """Return the stamp of the overview for the caller."""
    both = memories(request)
    parts = (
        str(int(both.operational.views.now().timestamp()) // MINUTE_S),
        await both.operational.views.change_stamp(),
        await both.apps.views.change_stamp(),
        _file_stamp(both.workspace.path),
        await _knowledge_stamp(request, both),
    )
    return hashlib.blake2s("|".join(parts).encode(), digest_size=8).hexdigest()


async def _knowledge_stamp(request: Request, both: Memories) -> str:
    """Return the stamp of knowledge memory, or a word for its state if it cannot answer."""
    if not both.knowledge.database.was_tried:
        return "starting"
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await knowledge_of(request).change_stamp()
    except (CommonplaceError, TimeoutError):
        return "down"


def _file_stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}"
