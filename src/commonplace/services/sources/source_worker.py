"""Following sources regularly, beside a worker."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.sources.follower import SourceChange, SourceFollower
from commonplace.services.sources.registry import SourceRegistry

EVERY_S: Final = 300.0
"""Seconds between two readings of all sources."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def following(
    home: Path,
    opened: Callable[[], AbstractAsyncContextManager[KnowledgeMemory]],
    *,
    every_s: float = EVERY_S,
) -> AsyncGenerator[None]:
    """Read the sources of a home now and then, inside the block.

    Args:
        home: The home.
        opened: Opens its knowledge memory, only if there are sources.
        every_s: Seconds between two readings.
    """
    task = asyncio.create_task(_keep_following(SourceRegistry(home), opened, every_s))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_following(
    registry: SourceRegistry,
    opened: Callable[[], AbstractAsyncContextManager[KnowledgeMemory]],
    every_s: float,
) -> None:
    while True:
        try:
            if registry.list():
                async with opened() as knowledge:
                    for line in await SourceFollower(registry, knowledge).follow_all():
                        if line.change is SourceChange.UNREADABLE:
                            _log.warning("source %s: %s", line.file, line.text)
        except CommonplaceError as error:
            _log.warning("the sources were not read: %s", error)
        except Exception:  # noqa: BLE001 - an outer door: the next turn tries again
            _log.exception("the sources were not read")
        await asyncio.sleep(every_s)
