"""Reading followed sources and mirrors: once, as at the start of a session, or now and then beside a worker."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.mirrors.mirroring import MirrorKeeper
from commonplace.services.mirrors.registry import MirrorRegistry
from commonplace.services.mirrors.update import MirrorChange
from commonplace.services.sources.follower import SourceChange, SourceFollower
from commonplace.services.sources.registry import LOCK_TIMEOUT_S, SourceRegistry
from commonplace.services.sync.background import sync_in_background
from commonplace.services.sync.home import is_synced

EVERY_S: Final = 300.0
"""Seconds between two readings of all sources and mirrors."""

_log = logging.getLogger(__name__)


async def read_followed(
    home: Path, memory: KnowledgeMemory, *, scope: str | None = None, wait_s: float = LOCK_TIMEOUT_S
) -> None:
    """Read what changed in the sources and mirrors of a project, or in all; problems are logged.

    Args:
        home: The home.
        memory: Knowledge memory.
        scope: Only the sources of this scope and the global ones, and the mirrors of this scope; ``None`` for all.
        wait_s: How long to wait for another process that reads one of them.

    Raises:
        StorageError: The sources cannot be read, or a memory cannot be written.
    """
    sources, mirrors = SourceRegistry(home), MirrorRegistry(home)
    if sources.list():
        for line in await SourceFollower(sources, memory).follow_all(scope=scope, wait_s=wait_s):
            if line.change is SourceChange.UNREADABLE:
                _log.warning("source %s: %s", line.file, line.text)
    if mirrors.list():
        for read in await MirrorKeeper(mirrors, memory).read_all(scope=scope, wait_s=wait_s):
            if read.change is MirrorChange.SKIPPED:
                _log.warning("mirror %s: %s", read.file, read.text)


@asynccontextmanager
async def following(
    settings: Settings,
    opened: Callable[[], AbstractAsyncContextManager[KnowledgeMemory]],
    *,
    every_s: float = EVERY_S,
) -> AsyncGenerator[None]:
    """Read the sources and mirrors of a home now and then inside the block, and sync the home if it syncs.

    Args:
        settings: Those of the home.
        opened: Opens its knowledge memory, only if there is something to do.
        every_s: Seconds between two readings.
    """
    task = asyncio.create_task(_keep_following(settings, opened, every_s))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_following(
    settings: Settings,
    opened: Callable[[], AbstractAsyncContextManager[KnowledgeMemory]],
    every_s: float,
) -> None:
    home = settings.home
    while True:
        try:
            if SourceRegistry(home).list() or MirrorRegistry(home).list() or is_synced(home):
                async with opened() as knowledge:
                    await read_followed(home, knowledge)
                    await sync_in_background(settings, knowledge)
        except CommonplaceError as error:
            _log.warning("sources and mirrors were not read: %s", error)
        except Exception:  # noqa: BLE001 - an outer door: the next turn tries again
            _log.exception("sources and mirrors were not read")
        await asyncio.sleep(every_s)
