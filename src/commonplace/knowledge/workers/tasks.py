"""What jobs do: each run of a schedule makes one job for each shard, and shards run side by side.

A shard is a tenant, for the sweep and the cleanup, and a butler of a tenant for consolidation. Its lock keeps two jobs
of one shard apart, whichever workers do them; its queueing lock keeps runs from piling up where work is slow.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued

from commonplace.core.context import request_context
from commonplace.core.errors import UpkeepError
from commonplace.core.settings import Settings
from commonplace.knowledge.consolidation.configured import without_model
from commonplace.knowledge.consolidation.pending import pending_groups
from commonplace.knowledge.consolidation.pipeline import ConsolidationReport, run_consolidation
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.upkeep.cleanup import run_episode_cleanup
from commonplace.knowledge.upkeep.decay import run_decay_sweep
from commonplace.knowledge.workers.outcomes import AGAIN_IN_S
from commonplace.knowledge.workers.queue_work import queue_work
from commonplace.knowledge.workers.schedule import Upkeep
from commonplace.llm.model import Model

ACTOR: Final = "worker"
QUEUE: Final = "upkeep"
FIRST: Final = 1
"""Priority of the jobs that make jobs, so that no backlog of one kind of upkeep keeps the others from beginning."""

LEAST_PAUSE_S: Final = 1.0
"""Before episodes are looked at again that became due meanwhile."""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What jobs work with.

    Attributes:
        knowledge: Open for as long as the worker runs; its clock counts.
        settings: Limits.
        model: Consolidates.
        worker: Who works, for the leases of episodes.
    """

    knowledge: KnowledgeMemory
    settings: Settings
    model: Model
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What one job is about."""

    tenant_id: str
    butler: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The shard as arguments of its job."""
        return {"tenant_id": self.tenant_id} | ({} if self.butler is None else {"butler": self.butler})

    def lock(self, upkeep: Upkeep) -> str:
        """Name it for the lock of its jobs; the id of a tenant holds no slash."""
        return "/".join((upkeep.value, self.tenant_id, *([] if self.butler is None else [self.butler])))


Find = Callable[[Means], Awaitable[list[Shard]]]
Do = Callable[[Means, str], Awaitable[Result]]


async def tenants(means: Means) -> list[Shard]:
    """Return a shard for every tenant that ever stored something."""
    async with queue_work(await means.knowledge.database.pool()) as sql:
        return [Shard(tenant_id=row["tenant_id"]) for row in await sql.list_tenants()]


async def waiting_butlers(means: Means) -> list[Shard]:
    """Return a shard for every butler of every tenant that has episodes waiting."""
    pool = await means.knowledge.database.pool()
    shards: list[Shard] = []
    for tenant in await tenants(means):
        with request_context(tenant_id=tenant.tenant_id, actor=ACTOR):
            groups = await pending_groups(pool, clock=means.knowledge.clock)
        shards += [Shard(tenant_id=tenant.tenant_id, butler=group.butler) for group in groups]
    return shards


async def sweep(means: Means, butler: str) -> Result:
    """Sweep one tenant."""
    del butler
    pool = await means.knowledge.database.pool()
    return asdict(await run_decay_sweep(pool, clock=means.knowledge.clock))


async def clean_up(means: Means, butler: str) -> Result:
    """Clean up one tenant's episodes."""
    del butler
    pool = await means.knowledge.database.pool()
    most = means.settings.episode_max_entries
    return dict(await run_episode_cleanup(pool, max_entries=most, clock=means.knowledge.clock))


async def consolidate(means: Means, butler: str) -> Result:
    """Consolidate one butler's episodes, until none is due.

    Without a language model the result says so, and nothing is tried again. Episodes that another process has, or that
    a worker had when it died, and those that failed, are looked at again when they are due, for as long as it takes:
    each pause is that of the episodes themselves.

    Raises:
        UpkeepError: A group of episodes failed; it is tried again, and in the end becomes dead letters.
    """
    policy = Policy()
    pool = await means.knowledge.database.pool()
    spawner = model_spawner(means.model, policy=policy)
    if spawner is None:
        groups = await pending_groups(pool, clock=means.knowledge.clock)
        counted = {group.butler: group.episodes for group in groups if group.butler == butler}
        return _told(without_model(ConsolidationReport(dry_run=True, groups=counted)), None)
    report = await run_consolidation(
        pool,
        means.knowledge.engine,
        spawner,
        butler=butler,
        worker=means.worker,
        policy=policy,
        clock=means.knowledge.clock,
    )
    again_in_s = _again_in_s(report.again_at, means.knowledge.clock())
    if len(report.errors) > sum(len(run.errors) for run in report.runs):
        raise UpkeepError("; ".join(report.errors), again_in_s=again_in_s)
    return _told(report, again_in_s)


def _again_in_s(again_at: datetime | None, now: datetime) -> float | None:
    return None if again_at is None else max((again_at - now).total_seconds(), LEAST_PAUSE_S)


def _told(report: ConsolidationReport, again_in_s: float | None) -> Result:
    told: Result = {
        "episodes_pending": report.episodes_pending,
        "episodes_consolidated": report.episodes_consolidated,
        "facts_created": report.total("facts_created"),
        "rules_created": report.total("rules_created"),
        "errors": list(report.errors),
        "note": report.note,
    }
    if report.busy:
        told["note"] = "another process has the oldest episodes"
    elif report.waiting:
        told["note"] = "the oldest episodes failed, and wait to be tried again"
    return told if again_in_s is None else told | {AGAIN_IN_S: again_in_s}


WORK: Final[Mapping[Upkeep, tuple[Find, Do]]] = {
    Upkeep.SWEEP: (tenants, sweep),
    Upkeep.CLEANUP: (tenants, clean_up),
    Upkeep.CONSOLIDATION: (waiting_butlers, consolidate),
}


def register_tasks(app: App, means: Means) -> None:
    """Tell a queue what its jobs do."""
    for upkeep, (find, do) in WORK.items():
        _register_shard(app, means, upkeep, do)
        _register_fan_out(app, means, upkeep, find)


def _register_shard(app: App, means: Means, upkeep: Upkeep, do: Do) -> None:
    @app.task(name=upkeep.value, queue=QUEUE)
    async def work(*, timestamp: int, tenant_id: str, butler: str = "", attempt: int = 0) -> Result:  # pyright: ignore[reportUnusedFunction] - the app has it
        del timestamp, attempt
        with request_context(tenant_id=tenant_id, actor=ACTOR):
            return await do(means, butler)


def _register_fan_out(app: App, means: Means, upkeep: Upkeep, find: Find) -> None:
    name = upkeep.fan_out

    @app.task(name=name, queue=QUEUE, priority=FIRST, lock=name, queueing_lock=name)
    async def fan_out(*, timestamp: int, attempt: int = 0) -> Result:  # pyright: ignore[reportUnusedFunction] - the app has it
        del attempt
        made = waiting = 0
        for shard in await find(means):
            if await _defer(app, upkeep, shard, timestamp):
                made += 1
            else:
                waiting += 1
        return {"jobs": made, "already_waiting": waiting}


async def _defer(app: App, upkeep: Upkeep, shard: Shard, timestamp: int) -> bool:
    lock = shard.lock(upkeep)
    deferrer = app.configure_task(upkeep.value, allow_unknown=False, lock=lock, queueing_lock=lock)
    try:
        await deferrer.defer_async(timestamp=timestamp, **shard.arguments)
    except AlreadyEnqueued:
        return False
    return True
