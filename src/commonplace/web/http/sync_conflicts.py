"""The number of facts that wait because two devices changed them, for pages and routes that must not wait long."""

import asyncio
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import KnowledgeMemory

TIMEOUT_S: Final = 2.0


async def count_conflicts(knowledge: KnowledgeMemory) -> int | None:
    """Return the number of these facts; ``None`` if knowledge memory does not answer in time."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await knowledge.exchange.count_conflicts()
    except (CommonplaceError, TimeoutError):
        return None
