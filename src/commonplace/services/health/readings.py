"""Reads what the rules of health need; a part that cannot be read makes a warning and never an error."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import commonplace.knowledge
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError, EmbeddingError, ModelBudgetError, SettingsError
from commonplace.core.settings import CRON_OFF, Settings
from commonplace.embedding.backend import BackendName
from commonplace.embedding.model_files import find_model
from commonplace.knowledge import KnowledgeMemory, RunState
from commonplace.llm import can_consolidate, open_consolidation_model
from commonplace.services.health.rules import (
    URGENT_BEFORE,
    BackupState,
    ConsolidationState,
    EpisodeBacklog,
    HealthReading,
    SyncHealth,
)
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.storage.backup.last_backup import last_backup_at
from commonplace.storage.clock_guard import ClockGuard

TIMEOUT_S: Final = 5.0
"""The time limit for each aspect."""
_LATEST_S: Final = 10 * 365 * 86_400.0
"""A period within which every episode expires that expires at all."""

_log = logging.getLogger(__name__)


SyncReader = Callable[[OpenedMemories, Settings], Awaitable[SyncHealth]]
"""Reads sync; the caller passes it, because sync is built on the services that this package serves."""


class Aspect(StrEnum):
    """A part of a reading, by the name in a warning that says that it cannot be read."""

    MACHINE = "the machine"
    EPISODES = "knowledge memory"
    WORKERS = "the queue of background work"
    EMBEDDING = "the embedding model"
    DIGESTS = "app memory"
    REVIEWS = "the review queue"
    BACKUP = "the date of the last backup"
    SYNC = "the state of sync"


WITHOUT_KNOWLEDGE: Final = frozenset({Aspect.MACHINE, Aspect.DIGESTS})
"""The aspects that do not open knowledge memory."""


@dataclass(frozen=True, slots=True)
class _HealthReader:
    """Reads the aspects of open memories into fields of a :class:`HealthReading`."""

    opened: OpenedMemories
    settings: Settings
    clock: Clock
    urgent_only: bool
    read_sync: SyncReader | None

    async def machine(self) -> Mapping[str, Any]:
        home = self.settings.home
        return {
            "free_bytes": await asyncio.to_thread(_free_bytes, home),
            "clock_fault": ClockGuard(home, clock=self.clock).fault() or "",
        }

    async def episodes(self) -> Mapping[str, Any]:
        knowledge = self.opened.knowledge()
        within_s = URGENT_BEFORE.total_seconds()
        if self.urgent_only and not await knowledge.runs.loses_episodes(within_s=within_s):
            return {}
        groups = await knowledge.runs.pending()
        dead = await knowledge.dead_letters.list()
        failed = await knowledge.lists.episodes(status="failed", live=True, limit=1)
        now = knowledge.clock()
        lost = [each.expires_at for each in dead if each.expires_at is not None and each.expires_at > now]
        backlog = EpisodeBacklog(
            waiting=sum(group.episodes for group in groups),
            oldest_at=min((group.oldest_at for group in groups), default=None),
            first_lost_at=(await knowledge.runs.expiring(within_s=_LATEST_S)).first_at,
            dead_letters=len(lost),
            dead_lost_at=min(lost, default=None),
            last_error=(failed[0].last_error or "") if failed else "",
        )
        return {"episodes": backlog, "consolidation": await self._consolidation(knowledge)}

    async def _consolidation(self, knowledge: KnowledgeMemory) -> ConsolidationState:
        if not can_consolidate(self.settings):
            return ConsolidationState(has_model=False)
        fault, is_spent = "", False
        try:
            async with open_consolidation_model(self.settings, clock=knowledge.clock) as model:
                model.ledger.require_budget()
        except ModelBudgetError:
            is_spent = True
        except SettingsError as error:
            fault = str(error)
        runs = await knowledge.runs.list(state=RunState.APPLIED, limit=1)
        return ConsolidationState(
            model_fault=fault,
            is_scheduled=self.settings.consolidation_cron != CRON_OFF,
            last_run_at=runs[0].started_at if runs else None,
            budget_spent=is_spent,
        )

    async def workers(self) -> Mapping[str, Any]:
        # The queue takes time to import, and a briefing does not need it.
        worker_status = await asyncio.to_thread(lambda: commonplace.knowledge.worker_status)
        status = await worker_status(self.opened.knowledge(), self.settings)
        return {"has_worker": any(worker.alive for worker in status.workers)}

    async def embedding(self) -> Mapping[str, Any]:
        knowledge = self.opened.knowledge()
        engine = knowledge.engine
        try:
            if engine.options.backend is not BackendName.FAKE:
                await asyncio.to_thread(find_model, engine.options)
            active = (await knowledge.reembedding.status()).active
            if active is None or active.version == await asyncio.to_thread(lambda: engine.model_version):
                return {}
        except EmbeddingError as error:
            return {"embedding_fault": str(error)}
        names = (
            f"the vectors of the memories are from {active.name}, and this process uses {engine.model_name}"
        )
        return {"embedding_fault": f"{names}, so that they cannot be compared"}

    async def digests(self) -> Mapping[str, Any]:
        return {"failed_digests": len(await self.opened.apps().digests.failed())}

    async def reviews(self) -> Mapping[str, Any]:
        from commonplace.services.review.queue import ReviewQueue  # noqa: PLC0415 - not for a briefing

        listing = await ReviewQueue(memories=self._memories()).list_items()
        return {
            "reviews": len(listing.items),
            "reviews_since": min((item.since for item in listing.items if item.since), default=None),
        }

    async def backup(self) -> Mapping[str, Any]:
        from commonplace.services.sample import is_loaded  # noqa: PLC0415 - not for a briefing

        # A database with a URL belongs to an operator, whose tools make its backups.
        days = 0 if self.settings.postgres_url else self.settings.backup_warning_days
        memories = self._memories()
        return {
            "backup": BackupState(
                last_at=await asyncio.to_thread(last_backup_at, self.settings.home),
                has_memories=bool(days) and not await is_loaded(memories) and await _has_memories(memories),
                after_days=days,
            )
        }

    async def sync(self) -> Mapping[str, Any]:
        return {} if self.read_sync is None else {"sync": await self.read_sync(self.opened, self.settings)}

    def _memories(self) -> Memories:
        return Memories(
            operational=self.opened.operational(),
            apps=self.opened.apps(),
            workspace=self.opened.workspace(),
            knowledge=self.opened.knowledge(),
        )

    def of(self, aspect: Aspect) -> Callable[[], Awaitable[Mapping[str, Any]]]:
        """Return the function that reads an aspect."""
        return {
            Aspect.MACHINE: self.machine,
            Aspect.EPISODES: self.episodes,
            Aspect.WORKERS: self.workers,
            Aspect.EMBEDDING: self.embedding,
            Aspect.DIGESTS: self.digests,
            Aspect.REVIEWS: self.reviews,
            Aspect.BACKUP: self.backup,
            Aspect.SYNC: self.sync,
        }[aspect]


async def read_health(
    opened: OpenedMemories,
    settings: Settings,
    *,
    aspects: Collection[Aspect] = tuple(Aspect),
    clock: Clock = utc_now,
    urgent_only: bool = False,
    read_sync: SyncReader | None = None,
) -> HealthReading:
    """Return a reading of some aspects, by default of all; the other aspects count as healthy.

    An aspect that needs a memory that cannot be read is named in the reading.

    Args:
        opened: The memories; knowledge memory of the tenant whose episodes count.
        settings: The home, the models and the schedules.
        aspects: What to read.
        clock: Returns the current time.
        urgent_only: Whether only urgent warnings matter. Episodes are then read only if one will be lost soon.
        read_sync: Reads sync; without it, sync counts as healthy.
    """
    reader = _HealthReader(
        opened=opened, settings=settings, clock=clock, urgent_only=urgent_only, read_sync=read_sync
    )
    read = await asyncio.gather(*(_guarded(aspect, reader.of(aspect)) for aspect in aspects))
    fields: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    for aspect, (values, problem) in zip(aspects, read, strict=True):
        fields |= values
        if problem and problem not in unreadable.values():
            unreadable[aspect] = problem
    return replace(
        HealthReading(now=clock(), zone=settings.zone, home=settings.home, unreadable=unreadable), **fields
    )


async def _guarded(
    aspect: Aspect, read: Callable[[], Awaitable[Mapping[str, Any]]]
) -> tuple[Mapping[str, Any], str]:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await read(), ""
    except TimeoutError:
        return {}, f"no answer within {TIMEOUT_S:g} s"
    except (CommonplaceError, OSError) as error:
        return {}, str(error)
    except Exception:  # noqa: BLE001 - a fail-open boundary: the warnings of the other aspects follow
        _log.exception("the health of %s cannot be read", aspect)
        return {}, "an unexpected error; see the log"


async def _has_memories(memories: Memories) -> bool:
    stats = await memories.knowledge.stats()
    if stats.episodes.total or stats.facts.active or stats.rules.total:
        return True
    if (await memories.workspace.search(limit=1)).count:
        return True
    if await memories.operational.figures.newest(limit=1):
        return True
    return bool(await memories.apps.figures.newest(limit=1))


def _free_bytes(home: Path) -> int:
    """Return the free space on the disk of a home that may not exist yet."""
    place = next(each for each in (home, *home.parents) if each.exists())
    return shutil.disk_usage(place).free
