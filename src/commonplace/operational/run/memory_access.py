"""What a run has of memory, and that it runs without: no failure here stops the agent.

A database that cannot be reached or does not answer in time is logged, and costs the session its block of memories.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from commonplace.core.clock import Clock
from commonplace.core.errors import StorageError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.operational.cooldowns import Cooldown
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.receipts import ReceiptOutcome
from commonplace.operational.run import transcript_files
from commonplace.operational.run.agent_command import COOLDOWNS_SHOWN, RunRequest

MEMORY_S: Final = 20.0
"""How long a session waits for its memories before it begins without."""

RECOVER_S: Final = 60.0
"""How long it waits for what earlier sessions left behind to be stored."""

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What goes into the prompt: recent actions, newest first, and the block of memories."""

    actions: tuple[Cooldown, ...] = ()
    block: str = ""


@asynccontextmanager
async def open_or_none(settings: Settings, clock: Clock) -> AsyncGenerator[OperationalMemory | None]:
    """Open operational memory, or give ``None`` where it cannot be reached."""
    opening = OperationalMemory.open(settings, clock=clock)
    memory = await _or_none(opening.__aenter__(), "the session runs without memory", within_s=MEMORY_S)
    try:
        yield memory
    finally:
        if memory is not None:
            await opening.__aexit__(None, None, None)


async def recall(memory: OperationalMemory | None, request: RunRequest, home: Path) -> Recalled:
    """Put right what earlier processes left behind, then return what the session is to know."""
    if memory is None:
        return Recalled()
    failure = "what earlier sessions left behind is stored later"
    await _or_none(_recover(memory, home), failure, within_s=RECOVER_S)
    failure = "the session runs without its memories"
    return await _or_none(_recall(memory, request), failure, within_s=MEMORY_S) or Recalled()


async def _recover(memory: OperationalMemory, home: Path) -> None:
    """End sessions that count as running though their process is gone, and store streams that were not stored."""
    for session in await memory.interrupt_lost_sessions():
        log.warning("session %d was interrupted: the process that recorded it is gone", session.id)
    for path, tier in transcript_files.left_behind(home):
        reports = await memory.ingest(transcript_files.read_chunks(path), tiers=[tier], trigger="recovered")
        receipts = [receipt for report in reports for receipt in report.receipts]
        if any(receipt.outcome is ReceiptOutcome.FAILED for receipt in receipts):
            raise StorageUnavailableError(f"{path} could not be stored whole")
        path.unlink(missing_ok=True)
        log.warning("stored what an earlier session left in %s: %d receipts", path.name, len(receipts))


async def _recall(memory: OperationalMemory, request: RunRequest) -> Recalled:
    """Read recent actions and the block of memories, after the staleness check (OPS-11)."""
    await memory.run_decay()
    actions = await memory.cooldowns(limit=COOLDOWNS_SHOWN)
    block = await memory.build_memory_context(services=request.services)
    return Recalled(actions=tuple(actions), block=block.text)


async def _or_none(work: Awaitable[T], failure: str, *, within_s: float) -> T | None:
    """Do some work of memory, or log why not."""
    try:
        async with asyncio.timeout(within_s):
            return await work
    except (StorageError, OSError) as error:  # a time-out is one of the latter
        log.warning("%s: %s", failure, str(error) or f"no answer in {within_s:g} s")
    except Exception:
        log.exception("%s", failure)
    return None
