"""The tasks of the queue: each run of a schedule creates one job per shard, and shards run in parallel.

A shard is a tenant for the sweep and the cleanup, and a tenant's butler for consolidation. Its lock allows one job of
the shard at a time, on any worker; its queueing lock keeps slow runs from piling up.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued

from commonplace.core.errors import UpkeepError
from commonplace.core.settings import Settings
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.store.queue_work import queue_work
from commonplace.knowledge.workers.outcomes import AGAIN_IN_S
from commonplace.knowledge.workers.schedule import Upkeep
from commonplace.llm.model import Model

ACTOR: Final = "worker"
QUEUE: Final = "upkeep"
FIRST: Final = 1
"""The priority of fan-out jobs, so that a backlog of one kind of upkeep does not delay other kinds."""

LEAST_PAUSE_S: Final = 1.0
"""The pause before a job for episodes that became due in the meantime."""

Result = dict[str, object]
"""The outcome of a job, which the status shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDependencies:
    """The dependencies of jobs.

    Attributes:
        knowledge: The memory, open while the worker runs; its clock is used.
        settings: The limits.
        model: The model for consolidation.
        worker: The worker's name, for leases of episodes.
    """

    knowledge: KnowledgeMemory
    settings: Settings
    model: Model
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A tenant, or a butler of a tenant: the unit of one job."""

    tenant_id: str
    butler: str | None = None

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the shard's job."""
        return {"tenant_id": self.tenant_id} | ({} if self.butler is None else {"butler": self.butler})

    def lock(self, upkeep: Upkeep) -> str:
        """Return the lock of the shard's jobs; tenant ids contain no slash."""
        return "/".join((upkeep.value, self.tenant_id, *([] if self.butler is None else [self.butler])))


Find = Callable[[JobDependencies], Awaitable[list[Shard]]]
Do = Callable[[JobDependencies, KnowledgeMemory, str], Awaitable[Result]]


async def tenants(means: JobDependencies) -> list[Shard]:
    """Return a shard for each tenant that has stored a memory."""
    async with queue_work(await means.knowledge.database.pool()) as sql:
        return [Shard(tenant_id=row["tenant_id"]) for row in await sql.list_tenants()]


async def waiting_butlers(means: JobDependencies) -> list[Shard]:
    """Return a shard for each butler with waiting episodes, of all tenants."""
    shards: list[Shard] = []
    for tenant in await tenants(means):
        groups = await means.knowledge.acting_for(tenant_id=tenant.tenant_id, actor=ACTOR).runs.pending()
        shards += [Shard(tenant_id=tenant.tenant_id, butler=group.butler) for group in groups]
    return shards


async def sweep(_: JobDependencies, memory: KnowledgeMemory, __: str) -> Result:
    """Run the decay sweep of one tenant, then invert the harmful rules whose inversion failed when they were marked."""
    swept: Result = asdict(await memory.upkeep.sweep())
    return swept | {"rules_inverted": len(await memory.upkeep.invert_harmful_rules())}


async def clean_up(means: JobDependencies, memory: KnowledgeMemory, _: str) -> Result:
    """Run the episode cleanup of one tenant, then make the missing passages of its long memories."""
    receipt: Result = asdict(await memory.upkeep.cleanup(max_entries=means.settings.episode_max_entries))
    return receipt | {"passages_made": await memory.upkeep.make_passages()}


async def consolidate(means: JobDependencies, memory: KnowledgeMemory, butler: str) -> Result:
    """Consolidate one butler's episodes until no episode is due.

    Without a language model, the result says so and the job does not run again. Otherwise the job runs again when
    episodes become due that failed, that another process holds, or that a dead worker held.

    Raises:
        UpkeepError: A group of episodes failed; it is retried, and eventually becomes dead letters.
    """
    policy = Policy()
    spawner = model_spawner(means.model, policy=policy)
    if spawner is None:
        groups = await memory.runs.pending()
        counted = {group.butler: group.episodes for group in groups if group.butler == butler}
        return _result(ConsolidationReport(dry_run=True, groups=counted).without_model(), None)
    report = await memory.runs.consolidate(spawner, butler=butler, worker=means.worker, policy=policy)
    again_in_s = _again_in_s(report.again_at, memory.clock())
    if len(report.errors) > sum(len(run.errors) for run in report.runs):
        raise UpkeepError("; ".join(report.errors), again_in_s=again_in_s)
    return _result(report, again_in_s)


def _again_in_s(again_at: datetime | None, now: datetime) -> float | None:
    return None if again_at is None else max((again_at - now).total_seconds(), LEAST_PAUSE_S)


def _result(report: ConsolidationReport, again_in_s: float | None) -> Result:
    result: Result = {
        "episodes_pending": report.episodes_pending,
        "episodes_consolidated": report.episodes_consolidated,
        "facts_created": report.total("facts_created"),
        "rules_created": report.total("rules_created"),
        "errors": list(report.errors),
        "note": report.note,
    }
    if report.busy:
        result["note"] = "another process holds the oldest episodes"
    elif report.waiting:
        result["note"] = "the oldest episodes failed and will be retried"
    return result if again_in_s is None else result | {AGAIN_IN_S: again_in_s}


WORK: Final[Mapping[Upkeep, tuple[Find, Do]]] = {
    Upkeep.SWEEP: (tenants, sweep),
    Upkeep.CLEANUP: (tenants, clean_up),
    Upkeep.CONSOLIDATION: (waiting_butlers, consolidate),
}


def register_tasks(app: App, means: JobDependencies) -> None:
    """Register the tasks of a queue."""
    for upkeep, (find, do) in WORK.items():
        _register_shard(app, means, upkeep, do)
        _register_fan_out(app, means, upkeep, find)


def _register_shard(app: App, means: JobDependencies, upkeep: Upkeep, do: Do) -> None:
    @app.task(name=upkeep.value, queue=QUEUE)
    async def work(*, timestamp: int, tenant_id: str, butler: str = "", attempt: int = 0) -> Result:  # pyright: ignore[reportUnusedFunction] - the app has it
        del timestamp, attempt
        return await do(means, means.knowledge.acting_for(tenant_id=tenant_id, actor=ACTOR), butler)


def _register_fan_out(app: App, means: JobDependencies, upkeep: Upkeep, find: Find) -> None:
    name = upkeep.fan_out

    @app.task(name=name, queue=QUEUE, priority=FIRST, lock=name, queueing_lock=name)
    async def fan_out(*, timestamp: int, attempt: int = 0) -> Result:  # pyright: ignore[reportUnusedFunction] - the app has it
        del attempt
        made = [await _defer(app, upkeep, shard, timestamp) for shard in await find(means)]
        return {"jobs": made.count(True), "already_waiting": made.count(False)}


async def _defer(app: App, upkeep: Upkeep, shard: Shard, timestamp: int) -> bool:
    lock = shard.lock(upkeep)
    deferrer = app.configure_task(upkeep.value, allow_unknown=False, lock=lock, queueing_lock=lock)
    try:
        await deferrer.defer_async(timestamp=timestamp, **shard.arguments)
    except AlreadyEnqueued:
        return False
    return True
