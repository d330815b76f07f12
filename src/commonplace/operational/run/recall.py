"""Memory inputs of one agent run; after a failure, the session runs without memories."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from commonplace.core.errors import ClockError, StorageError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.cooldowns import Cooldown
from commonplace.operational.run.agent import RunRequest
from commonplace.operational.run.prompt import COOLDOWNS_SHOWN
from commonplace.operational.run.recording import read_transcript, unstored_transcripts

MEMORY_S: Final = 20.0
"""Seconds that a session waits for its memories before it starts without them."""

RECOVER_S: Final = 60.0
"""Seconds that a session waits for the transcripts of earlier sessions to be stored."""

WITHHELD: Final = "(withheld: the reason looks like an instruction)"

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Recent actions, newest first, and the block of memories.

    Attributes:
        asks_model: Whether a model may be asked about doubtful pairs after the session.
    """

    actions: tuple[Cooldown, ...] = ()
    block: str = ""
    asks_model: bool = False


@asynccontextmanager
async def open_or_none(settings: Settings) -> AsyncGenerator[OperationalMemory | None]:
    """Open operational memory; yield ``None`` if the database cannot be reached."""
    opening = OperationalMemory.open(settings)
    memory = await _or_none(opening.__aenter__(), "the session runs without memory", within_s=MEMORY_S)
    try:
        yield memory
    finally:
        if memory is not None:
            await opening.__aexit__(None, None, None)


async def recall(
    memory: OperationalMemory | None, request: RunRequest, home: Path, *, is_advised: bool
) -> Recalled:
    """Store unfinished transcripts of earlier sessions, then return the memories for the session.

    Args:
        memory: ``None`` if the database cannot be reached.
        request: The session.
        home: The home with the transcripts.
        is_advised: Whether there is a model to ask about doubtful pairs.
    """
    if memory is None:
        return Recalled()
    asks_model = is_advised and await _may_ask(memory)
    failure = "the transcripts of earlier sessions are stored later"
    await _or_none(_recover(memory, home, asks_model=asks_model), failure, within_s=RECOVER_S)
    failure = "the session runs without its memories"
    recalled = await _or_none(_recall(memory, request), failure, within_s=MEMORY_S) or Recalled()
    return replace(recalled, asks_model=asks_model)


async def _may_ask(memory: OperationalMemory) -> bool:
    failure = "no model is asked about doubtful pairs"
    return await _or_none(memory.second_opinions.refusal(), failure, within_s=MEMORY_S) == ""


async def _recover(memory: OperationalMemory, home: Path, *, asks_model: bool) -> None:
    """End running sessions whose process is gone, and store transcripts that are not stored yet."""
    for session in await memory.upkeep.interrupt_lost_sessions():
        log.warning("session %d was interrupted: the process that recorded it is gone", session.id)
    for path, tier in unstored_transcripts(home):
        reports = await memory.ingest(
            read_transcript(path), tiers=[tier], trigger="recovered", asks_model=asks_model
        )
        if any(report.failed for report in reports):
            raise StorageUnavailableError(f"{path} could not be stored completely")
        path.unlink(missing_ok=True)
        count = sum(len(report.receipts) for report in reports)
        log.warning("stored %s of an earlier session: %d receipts", path.name, count)


async def _recall(memory: OperationalMemory, request: RunRequest) -> Recalled:
    """Read recent actions and the block of memories, after the staleness check (OPS-11)."""
    try:
        await memory.upkeep.decay()
    except ClockError as error:
        log.warning("%s", error)
    holds = memory.quarantine.holds
    actions = tuple(
        replace(action, reason=WITHHELD) if holds(action.reason) else action
        for action in await memory.cooldowns.list(limit=COOLDOWNS_SHOWN)
    )
    block = await memory.context(services=request.services)
    return Recalled(actions=actions, block=block.text)


async def _or_none(work: Awaitable[T], failure: str, *, within_s: float) -> T | None:
    """Await some work with memory; log a failure and return ``None``."""
    try:
        async with asyncio.timeout(within_s):
            return await work
    except (StorageError, OSError) as error:  # A timeout is an OSError.
        log.warning("%s: %s", failure, str(error) or f"no answer in {within_s:g} s")
    except Exception:
        log.exception("%s", failure)
    return None
