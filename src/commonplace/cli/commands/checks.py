"""Checks that use each part and leave its data unchanged.

A check deletes the memories that it writes, with their history and the energy that they took. Only the audit trail of
knowledge memory keeps entries of each check, under a tenant of its own: nothing can delete them.
"""

import asyncio
import logging
import os
import shlex
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from pydantic import BaseModel

from commonplace.apps import AppMemory, EnergyPolicy, Message
from commonplace.cli.commands.service_check import check_service
from commonplace.core.errors import CommonplaceError, EmbeddingError, StorageUnavailableError
from commonplace.core.settings import RERANKER_LEARNED, Settings
from commonplace.core.text import plural
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.judge import NETWORK, read_network, recipe_name
from commonplace.knowledge import KnowledgeMemory
from commonplace.llm import (
    Script,
    can_consolidate,
    names_language_model,
    open_consolidation_model,
    open_model,
)
from commonplace.operational import MOST_CALLS_A_DAY, MOST_PAIRS_A_DAY, MemoryFilter, OperationalMemory
from commonplace.projects import Projects
from commonplace.reranker import reranker_of
from commonplace.services.health import HealthWarning, read_health, warnings_of
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.home import SyncedHome, is_synced
from commonplace.services.sync.sync_health import read_sync_health
from commonplace.storage.abandoned import AbandonedCluster, abandoned_clusters
from commonplace.storage.backup.archive import disk_errors
from commonplace.storage.backup.restoring import check as check_restorable
from commonplace.storage.backup.taking import BackupReceipt
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.database import Database
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.migrations.runner import Branch
from commonplace.storage.probe import probe_postgres
from commonplace.storage.trial import trial
from commonplace.workspace import MAX_RESULTS, WorkspaceMemory

WORD: Final = "commonplace-doctor-check"
APP: Final = "commonplace-doctor"
"""An app that exists during a check."""
ENERGY: Final = EnergyPolicy(reserve=-1.0)
"""Lets the check run without energy; the energy that it uses is given back."""
MODEL: Final = "language model"
"""The name of the one check that may cost tokens."""
QUESTION: Final = "Which of these words is the name of a colour: river, green, seven?"
DOUBTFUL: Final = frozenset({"held", "flagged"})
"""Reasons for waiting that an attacker may have caused."""
MOST_WAITING: Final = 1_000
TENANT: Final = "commonplace-doctor"
"""The tenant of the check of knowledge memory, which touches no other memories."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a check: ``found`` describes the finding or the failure."""

    part: str
    ok: bool
    found: str
    took_ms: int


async def check_operational(settings: Settings) -> str:
    """Write, read, search and delete an operational memory, in a transaction that is rolled back."""
    async with _opened(settings, "operational") as database:
        async with trial(database) as scratch:
            memory = OperationalMemory(scratch)
            stored = (await memory.add(category="maintenance", observation=WORD, confidence=0.0)).memory
            found = await memory.list_memories(MemoryFilter(search=WORD))
            if stored not in found or await memory.get(stored.id) != stored:
                raise StorageUnavailableError(f"memory {stored.id} was stored but cannot be found")
            await memory.delete([stored.id])
        count = len(await OperationalMemory(database).list_memories())
    where = "PostgreSQL" if settings.database_is_postgres else str(settings.database_path)
    return f"wrote, read, searched, deleted; {plural(count, 'memory', 'memories')} in {where}"


async def check_apps(settings: Settings) -> str:
    """Register an app; write, read, search and delete a memory of it; and remove the app.

    The app is committed. Its memory is rolled back, because it has a history and takes energy.
    """
    async with _opened(settings, "apps") as database:
        registry = _app_memory(database).registry
        apps = [listed.app for listed in await registry.list() if listed.app.app_id != APP]
        await registry.register(APP)
        try:
            async with trial(database) as scratch:
                await _use_app(_app_memory(scratch))
        finally:
            await registry.uninstall_app(APP, purge_memories=True)
    return f"wrote, read, searched, deleted; {plural(len(apps), 'app')}"


@asynccontextmanager
async def _opened(settings: Settings, branch: Branch) -> AsyncGenerator[Database]:
    database = await open_database(settings, branch)
    try:
        yield database
    finally:
        await database.close()


def _app_memory(database: Database) -> AppMemory:
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    return AppMemory(database, model=Script(WORD).model(), engine=engine, energy=ENERGY)


async def _use_app(memory: AppMemory) -> None:
    messages = [Message(role="user", content=WORD), Message(role="assistant", content=WORD)]
    try:
        receipt = await memory.ingest(APP, f"{APP}-{uuid4()}", messages)
    finally:
        await memory.digests.cancel()
    found = [hit.memory.id for hit in await memory.search(APP, WORD)]
    if receipt.memory is None or receipt.memory.id not in found:
        raise StorageUnavailableError(f"a memory was stored but cannot be found: {receipt.reason}")
    await memory.delete(receipt.memory.id)


async def check_workspace(settings: Settings) -> str:
    """Write, read, search and delete a workspace memory in a temporary directory of the workspace."""
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
                    f"memory {stored.id} was stored and deleted, but the results do not match"
                )
    damaged = f", {plural(len(problems), 'damaged line')} skipped" if problems else ""
    recent = f"at least {count} memories" if count == MAX_RESULTS else plural(count, "memory", "memories")
    return f"wrote, read, searched, deleted; {recent} in {settings.workspace}{damaged}"


async def check_clock(settings: Settings) -> str:
    """Compare the clock with the machine's uptime and with the last use of the home."""
    ClockGuard(settings.home).require()
    return "plausible; decay, expiry and cleanup may run"


async def check_embedding(settings: Settings) -> str:
    """Embed three texts, two of them with the same meaning."""
    engine = EmbeddingEngine(EmbeddingOptions.from_settings(settings))
    try:
        near, also_near, far = await engine.embed_batch_async(
            ["The server restarts slowly", "Restarting the server takes long", "Apples are red"]
        )
        same = sum(a * b for a, b in zip(near, also_near, strict=True))
        other = sum(a * b for a, b in zip(near, far, strict=True))
        if same <= other:
            raise EmbeddingError(
                f"a paraphrase scores {same:.2f}, which is not above the score {other:.2f} of unrelated text"
            )
        scores = f"a paraphrase scores {same:.2f}, unrelated text {other:.2f}"
        return f"{engine.model_name}, {len(near)} dimensions; {scores}"
    finally:
        engine.close()


async def check_judge(settings: Settings) -> str:
    """Open the judge's network, and compare two texts."""
    began = time.monotonic()
    try:
        network = await asyncio.to_thread(read_network, settings.home)
        recipe = recipe_name()
    except EmbeddingError as error:
        raise EmbeddingError(f"texts are compared word for word only: {error}") from error
    opened_s = time.monotonic() - began
    network.chances([("Takes 60s to start", "Takes 90s to start")])
    compared_s = time.monotonic() - began - opened_s
    return (
        f"{NETWORK.name} (recipe {recipe}), opened in {1000 * opened_s:.0f} ms; "
        f"compared two texts in {1000 * compared_s:.0f} ms"
    )


async def check_reranker(settings: Settings) -> str:
    """Open the network of the reranker, and let it read a prompt and a memory."""
    reranker = reranker_of(settings)
    if reranker is None:
        return "off: blocks show the memories that are most alike"
    began = time.monotonic()
    try:
        network = await asyncio.to_thread(reranker.opens)
        opening_s = time.monotonic() - began
        await asyncio.to_thread(network.odds, WORD, [WORD])
    except EmbeddingError as error:
        raise EmbeddingError(f"blocks show the memories that are most alike: {error}") from error
    reading_s = time.monotonic() - began - opening_s
    name = "the learned network" if settings.reranker == RERANKER_LEARNED else settings.reranker
    return f"{name}, opened in {1000 * opening_s:.0f} ms; read a prompt and a memory in {1000 * reading_s:.0f} ms"


async def check_sync(settings: Settings) -> str:
    """List the files at the target of sync, and return when this device last had news."""
    if not is_synced(settings.home):
        return "off: this home does not sync"
    async with SyncedHome.open(settings) as home:
        files = await home.count_files()
        seen = home.status()
    members = sum(each.is_member for each in seen.devices)
    last = f"last news {seen.last.at:%Y-%m-%d %H:%M} UTC" if seen.last else "not synced yet"
    waits = "; changes wait to be sent" if seen.is_waiting else ""
    return f"{plural(members, 'device')}, {plural(files, 'file')} at the target; {last}{waits}"


async def check_second_opinion(settings: Settings) -> str:
    """Return who decides doubtful pairs of lessons, and what that cost in the last 24 hours; nobody is asked."""
    async with OperationalMemory.open(settings) as memory:
        figures, waiting = await memory.second_opinions.figures(), await memory.reviews.count()
    cost = (
        f"{plural(figures.calls, 'call')} in the last 24 hours of at most {MOST_CALLS_A_DAY}: "
        f"{figures.decided} of {plural(figures.pairs, 'pair')} decided (at most {MOST_PAIRS_A_DAY}), "
        f"{plural(figures.tokens, 'token')}, {figures.took_ms / 1000:.1f} s"
    )
    waits = f"{plural(waiting, 'pair waits', 'pairs wait')}{': commonplace review' if waiting else ''}"
    return f"{_adviser_text(settings)}; {cost}; {waits}"


def _adviser_text(settings: Settings) -> str:
    model = settings.model if names_language_model(settings) else None
    match settings.judge:
        case "review":
            return "off: doubtful pairs wait for a person"
        case "model":
            return f"{model} after a session" if model else "nobody, because COMMONPLACE_MODEL is not set"
        case "session":
            return f"the CLI of a session, or else {model}" if model else "the CLI of a session"


async def check_postgres(settings: Settings) -> str:
    """Start or reach PostgreSQL; write, search by vector and delete in a temporary table.

    For root, also name the database of an earlier release to which this home no longer links.
    """
    found = await probe_postgres(settings)
    links = [relink(each) for each in unlinked() if each.link == settings.postgres_directory.absolute()]
    return (
        f"{found}; this home no longer links to its database from an earlier release, which may hold the only copy of "
        f"its memories. To use that database, move {settings.postgres_directory} away and run: {links[-1]}"
        if links
        else found
    )


def unlinked() -> list[AbandonedCluster]:
    """Return the databases that earlier releases made for root, and to which no home links."""
    return abandoned_clusters() if os.geteuid() == 0 else []


def relink(cluster: AbandonedCluster) -> str:
    """Return the command that puts the link to a database back."""
    return f"ln -s {shlex.quote(str(cluster.directory))} {shlex.quote(str(cluster.link))}"


async def check_knowledge(settings: Settings) -> str:
    """Write, read, search and delete an episode of a separate tenant."""
    async with KnowledgeMemory.open(settings) as memory:
        stats = await memory.stats()
        doubtful = sum(each.reason in DOUBTFUL for each in await memory.reviews.waiting(limit=MOST_WAITING))
        scratch = memory.acting_for(tenant_id=TENANT, actor="doctor")
        stored = await scratch.store_episode(content=WORD, butler="doctor")
        if stored.id is None:
            raise StorageUnavailableError(stored.reason)
        read = await scratch.get("episode", stored.id)
        found = await scratch.search(WORD, types=["episode"])
        await scratch.forget("episode", stored.id)
        left = (await scratch.upkeep.cleanup()).remaining
        if read.id != stored.id or stored.id not in [each.memory.id for each in found] or left:
            raise StorageUnavailableError(
                f"episode {stored.id} was stored and deleted, but the results do not match"
            )
    where = "PostgreSQL at the configured URL" if settings.postgres_url else str(settings.postgres_directory)
    counts = [
        plural(stats.episodes.total, "episode"),
        plural(stats.facts.active, "fact"),
        plural(stats.rules.total - stats.rules.forgotten, "rule"),
    ]
    found = f"wrote, read, searched, deleted; {', '.join(counts)} in {where}"
    if doubtful:
        found += f"; {plural(doubtful, 'memory', 'memories')} held or flagged: commonplace review"
    return found


async def check_project(settings: Settings) -> str:
    """Return the project of the workspace, and the place of its identity."""
    projects = Projects(settings.home)
    found = projects.find(settings.workspace)
    if found is None:
        return f"{settings.workspace} is not a project yet; the first session in it makes it a project"
    if not projects.keeps_identity_of(found):
        return f"{found.id}, identity in {found.file}"
    return (
        f"{found.id}, but the project directory cannot be written, so this home keeps the identity in {found.file}; "
        "if you move the directory, it becomes another project"
    )


class Colour(BaseModel):
    """The form of the answer to the question of the check."""

    colour: str


async def check_model(settings: Settings) -> str:
    """Ask the language model, or the model set for consolidation only, one short question with a typed answer."""
    if not (names_language_model(settings) or can_consolidate(settings)):
        return "extractive, which picks sentences; to use a language model, set COMMONPLACE_MODEL"
    opened = open_model if names_language_model(settings) else open_consolidation_model
    async with opened(settings) as model:
        began = time.monotonic()
        answer = await model.complete(QUESTION, purpose="doctor", output=Colour)
        took_s = time.monotonic() - began
        return (
            f"{model.name} at {model.address} answered {answer.value.colour!r} in {took_s:.1f} s "
            f"({plural(answer.usage.tokens, 'token')})"
        )


CHECKS: Final[dict[str, Callable[[Settings], Awaitable[str]]]] = {
    "operational memory": check_operational,
    "app memory": check_apps,
    "workspace memory": check_workspace,
    "project": check_project,
    "clock": check_clock,
    "embedding": check_embedding,
    "judge": check_judge,
    "reranker": check_reranker,
    "second opinion": check_second_opinion,
    MODEL: check_model,
    "PostgreSQL": check_postgres,
    "knowledge memory": check_knowledge,
    "sync": check_sync,
    "service": check_service,
}


async def run_checks(settings: Settings, *, ask_model: bool = True) -> AsyncIterator[Check]:
    """Run the checks one after the other and yield their results; asking the language model may cost tokens."""
    for part, check in CHECKS.items():
        if part != MODEL or ask_model:
            yield await _outcome(part, check(settings))


async def current_warnings(settings: Settings) -> list[HealthWarning]:
    """Return the warnings about memories that will be lost and work that is stuck, the most severe first."""
    async with AsyncExitStack() as stack:
        opened = await OpenedMemories.open(stack, settings)
        return warnings_of(await read_health(opened, settings, read_sync=read_sync_health))


async def check_backup(file: Path) -> AsyncIterator[Check]:
    """Unpack a backup to a temporary directory, read each part, and yield the result."""
    yield await _outcome("backup", _read_backup(file))


async def _read_backup(file: Path) -> str:
    with disk_errors(file), tempfile.TemporaryDirectory(prefix="commonplace-backup-") as staging:
        manifest = await check_restorable(file, Path(staging))
    receipt = BackupReceipt.of(file, manifest)
    return f"{receipt.contents} of {receipt.made_at}, all readable"


async def _outcome(part: str, checking: Awaitable[str]) -> Check:
    began = time.monotonic()
    try:
        ok, found = True, await checking
    except asyncio.CancelledError:
        raise
    except CommonplaceError as error:
        ok, found = False, str(error)
    except Exception as error:  # a failure must not stop the checks of the next parts
        log.exception("the check of %s failed", part)
        ok, found = False, f"{type(error).__name__}: {error}"
    return Check(part=part, ok=ok, found=found, took_ms=round((time.monotonic() - began) * 1000))
