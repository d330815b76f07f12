"""Checks by doing: each part is used for real, and what it holds is left as it was."""

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from commonplace.apps.conversations import Message
from commonplace.apps.memory import AppMemory
from commonplace.core.errors import CommonplaceError, EmbeddingError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.llm import Script
from commonplace.operational.memories import MemoryFilter
from commonplace.operational.memory import OperationalMemory
from commonplace.storage.probe import probe_postgres
from commonplace.workspace.memory import WorkspaceMemory
from commonplace.workspace.search import MAX_RESULTS

WORD: Final = "commonplace-doctor-check"
APP: Final = "commonplace-doctor"
"""An app that exists for the length of a check."""
TENANT: Final = "commonplace-doctor"
"""Whose memories the check of knowledge memory stores and deletes; nobody else's are touched."""

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


async def check_apps(settings: Settings) -> str:
    """Register an app of its own, write, read and search a memory, and take everything out again."""
    async with AppMemory.open(settings, model=Script(WORD).model()) as memory:
        apps = [listed.app for listed in await memory.registry.list_apps() if listed.app.app_id != APP]
        await memory.registry.register(APP)
        try:
            messages = [Message(role="user", content=WORD), Message(role="assistant", content=WORD)]
            receipt = await memory.ingest(APP, f"{APP}-{uuid4()}", messages)
            found = await memory.search(APP, WORD)
            if receipt.memory is None or receipt.memory.id not in [hit.memory.id for hit in found]:
                raise StorageUnavailableError(f"a memory was stored and is not found: {receipt.reason}")
        finally:
            await memory.registry.uninstall_app(APP, purge_memories=True)
    return f"wrote, read, searched, deleted; {len(apps)} apps"


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


async def check_knowledge(settings: Settings) -> str:
    """Write, read, search and delete an episode, as a tenant of its own."""
    async with KnowledgeMemory.open(settings) as memory:
        stats = await memory.memory_stats()
        scratch = memory.acting_for(tenant_id=TENANT, actor="doctor")
        stored = await scratch.store_episode(content=WORD, butler="doctor")
        if stored.id is None:
            raise StorageUnavailableError(stored.reason)
        read = await scratch.get_memory("episode", stored.id)
        found = await scratch.memory_search(WORD, types=["episode"])
        await scratch.forget_memory("episode", stored.id)
        left = (await scratch.run_episode_cleanup())["remaining"]
        if read is None or stored.id not in [one["id"] for one in found] or left:
            raise StorageUnavailableError(
                f"episode {stored.id} was stored and deleted, and is not as it should be"
            )
    where = "PostgreSQL by URL" if settings.postgres_url else str(settings.postgres_directory)
    rules = sum(count for state, count in stats["rules"].items() if state != "forgotten")
    counts = f"{stats['episodes']['total']} episodes, {stats['facts']['active']} facts, {rules} rules"
    return f"wrote, read, searched, deleted; {counts} in {where}"


CHECKS: Final[dict[str, Callable[[Settings], Awaitable[str]]]] = {
    "operational memory": check_operational,
    "app memory": check_apps,
    "workspace memory": check_workspace,
    "embedding": check_embedding,
    "PostgreSQL": check_postgres,
    "knowledge memory": check_knowledge,
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
