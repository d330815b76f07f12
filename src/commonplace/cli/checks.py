"""Checks by doing: each part is used for real, and what it holds is left as it was."""

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.errors import CommonplaceError, EmbeddingError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.operational.memories import MemoryFilter
from commonplace.operational.memory import OperationalMemory
from commonplace.storage.probe import probe_postgres
from commonplace.workspace.memory import WorkspaceMemory
from commonplace.workspace.search import MAX_RESULTS

WORD: Final = "commonplace-doctor-check"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a check found: whether the part works, what was seen or what went wrong, and how long it took."""

    part: str
    ok: bool
    found: str
    took_ms: int


async def check_operational(settings: Settings) -> str:
    """Write, read, search and delete an operational memory."""
    async with OperationalMemory.open(settings) as memory:
        stored = await memory.add(category="maintenance", observation=WORD, confidence=0.0)
        try:
            found = await memory.list_memories(MemoryFilter(search=WORD))
            if stored not in found or await memory.get(stored.id) != stored:
                raise StorageUnavailableError(f"memory {stored.id} was stored and is not found")
        finally:
            await memory.delete([stored.id])
        count = len(await memory.list_memories())
    where = "PostgreSQL" if settings.database_is_postgres else str(settings.database_path)
    return f"wrote, read, searched, deleted; {count} memories in {where}"


async def check_workspace(settings: Settings) -> str:
    """Write, read, search and delete a workspace memory, in a directory of its own within the workspace."""
    async with WorkspaceMemory.open(settings) as memory:
        count, problems = (await memory.search()).count, await memory.problems()
    try:
        scratch = tempfile.TemporaryDirectory(dir=settings.workspace, prefix=".commonplace-doctor-")
    except OSError as error:
        raise StorageUnavailableError(f"{settings.workspace}: {error.strerror}") from error
    with scratch as directory:
        async with WorkspaceMemory.open(settings, workspace=Path(directory)) as memory:
            stored = await memory.store(WORD, tags=["check"])
            found = await memory.search(WORD, tag="check")
            await memory.delete(stored.id)
            if [one.id for one in found.memories] != [stored.id] or (await memory.search()).count:
                raise StorageUnavailableError(
                    f"memory {stored.id} was stored and deleted, and is not as it should be"
                )
    damaged = f", {len(problems)} damaged lines kept and skipped" if problems else ""
    recent = "at least 20" if count == MAX_RESULTS else str(count)
    return f"wrote, read, searched, deleted; {recent} memories in {settings.workspace}{damaged}"


async def check_embedding(settings: Settings) -> str:
    """Embed three texts, two of which mean the same."""
    engine = EmbeddingEngine(EmbeddingOptions.from_settings(settings))
    try:
        near, also_near, far = await engine.embed_batch_async(
            ["The server restarts slowly", "Restarting the server takes long", "Apples are red"]
        )
        same = sum(a * b for a, b in zip(near, also_near, strict=True))
        other = sum(a * b for a, b in zip(near, far, strict=True))
        if same <= other:
            raise EmbeddingError(
                f"likeness of a paraphrase {same:.2f} is not above that of other text {other:.2f}"
            )
        return f"{engine.model_name}, {len(near)} dimensions; a paraphrase scores {same:.2f}, other text {other:.2f}"
    finally:
        engine.close()


async def check_postgres(settings: Settings) -> str:
    """Start or reach PostgreSQL; write, search by vector and delete in a table of its own."""
    return await probe_postgres(settings)


CHECKS: Final[dict[str, Callable[[Settings], Awaitable[str]]]] = {
    "operational memory": check_operational,
    "workspace memory": check_workspace,
    "embedding": check_embedding,
    "PostgreSQL": check_postgres,
}


async def run_checks(settings: Settings) -> AsyncIterator[Check]:
    """Run every check, one after the other, and yield what each found."""
    for part, check in CHECKS.items():
        began = time.monotonic()
        try:
            ok, found = True, await check(settings)
        except asyncio.CancelledError:
            raise
        except CommonplaceError as error:
            ok, found = False, str(error)
        except Exception as error:  # a doctor must examine the next part whatever the last one died of
            log.exception("the check of %s failed", part)
            ok, found = False, f"{type(error).__name__}: {error}"
        yield Check(part=part, ok=ok, found=found, took_ms=round((time.monotonic() - began) * 1000))
