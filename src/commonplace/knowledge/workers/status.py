"""The status of background work: workers, waiting jobs, schedules and failures."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from commonplace.core.settings import Settings
from commonplace.knowledge.store.queue_work import queue_work
from commonplace.knowledge.store.statements import QueueStatements
from commonplace.knowledge.workers.outcomes import SILENT_S
from commonplace.knowledge.workers.schedule import Schedule, Upkeep, last_ticks, schedules
from commonplace.llm import can_consolidate
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

if TYPE_CHECKING:
    from commonplace.knowledge.memory import KnowledgeMemory

MAX_FAILURES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState(Noun):
    """A registered worker.

    Attributes:
        name: Host and process id.
        alive: Whether the worker gave a sign of life in the last thirty seconds.
        silent_s: Seconds since its last sign of life.
        started_at: The start of the worker; unknown for a worker of another program.
        concurrency: The maximum number of jobs at once.
        doing: The number of running jobs.
    """

    name: str
    alive: bool
    silent_s: float
    started_at: datetime | None
    concurrency: int
    doing: int

    @classmethod
    def from_row(cls, row: Columns) -> "WorkerState":
        """Read a row of ``list_workers``."""
        silent_s = row["silent_s"]
        return read_row(cls, row, alive=abs(silent_s) < SILENT_S, silent_s=round(silent_s, 1))


class ScheduleOutcome(StrEnum):
    """The outcomes of a schedule's last run; a run with any failed job has failed."""

    NEVER = "never"
    RUNNING = "running"
    FAILED = "failed"
    DONE = "done"
    NO_MODEL = "no model"
    """Consolidation only counted episodes, because no language model is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """A schedule and its last run.

    Attributes:
        upkeep: The kind of upkeep.
        cron: The cron expression in UTC; ``None`` if the schedule is off.
        last_at: The tick of the last run; ``None`` before the first run.
        ran_at: When that run began, later than the tick if no worker was running; ``None`` if the run waits or its job
            has already been removed.
        next_at: The next tick; ``None`` if the schedule is off.
        outcome: The outcome of the last run.
        jobs: Jobs of the last run by state, the newest of each shard: todo, doing, succeeded, failed, aborted. A job
            that an earlier run left waiting counts too.
    """

    upkeep: str
    cron: str | None
    last_at: datetime | None = None
    ran_at: datetime | None = None
    next_at: datetime | None
    outcome: ScheduleOutcome = ScheduleOutcome.NEVER
    jobs: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob(Noun):
    """A failed job with its arguments and error."""

    job_id: int
    task: str
    arguments: Mapping[str, Any]
    error: str
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Columns) -> "FailedJob":
        """Read a row of ``list_failures``."""
        arguments = {name: row["args"][name] for name in ("tenant_id", "butler") if name in row["args"]}
        error = row["error"] or "no error was recorded: the worker may not know this kind of job"
        return read_row(cls, row, job_id=row["id"], task=row["task_name"], arguments=arguments, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """Background work as a whole.

    Attributes:
        began: Whether a worker has ever run on this database.
        workers: The workers, oldest first.
        jobs: The number of recent jobs by state.
        oldest_waiting_at: When the longest-waiting job became due.
        schedules: One schedule of each kind.
        failures: Failed jobs, the latest first, at most twenty.
    """

    began: bool
    workers: list[WorkerState] = field(default_factory=list[WorkerState])
    jobs: Mapping[str, int] = field(default_factory=dict[str, int])
    oldest_waiting_at: datetime | None = None
    schedules: list[ScheduleState]
    failures: list[FailedJob] = field(default_factory=list[FailedJob])


async def worker_status(memory: "KnowledgeMemory", settings: Settings) -> WorkerStatus:
    """Return the status of background work.

    Args:
        memory: The memory of any tenant; its clock is used.
        settings: The settings, which name the schedules.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    pool, now = await memory.database.pool(), memory.clock()
    wanted = schedules(settings)
    async with queue_work(pool) as sql:
        has_queue = await sql.has_queue()
    if not has_queue:
        return WorkerStatus(began=False, schedules=[_never(each, now) for each in wanted])
    last = await last_ticks(pool, now)
    async with queue_work(pool) as sql:
        return WorkerStatus(
            began=True,
            workers=WorkerState.from_rows(await sql.list_workers()),
            jobs=_by_state(await sql.count_jobs()),
            oldest_waiting_at=await sql.oldest_waiting_at(),
            schedules=[
                _without_model(await _read(sql, each, last.get(each.upkeep.fan_out), now), settings)
                for each in wanted
            ],
            failures=FailedJob.from_rows(await sql.list_failures(limit=MAX_FAILURES)),
        )


async def _read(
    sql: QueueStatements, schedule: Schedule, last_at: datetime | None, now: datetime
) -> ScheduleState:
    if last_at is None:
        return _never(schedule, now)
    task, tick = schedule.upkeep.fan_out, int(last_at.timestamp())
    ran_at = await sql.run_began_at(task_name=task, tick=tick)
    jobs = Counter(_by_state(await sql.count_run(task_name=schedule.upkeep.value, tick=str(tick))))
    # The fan-out job counts too, until it has succeeded.
    made_by = _by_state(await sql.count_run(task_name=task, tick=str(tick)))
    jobs.update({state: number for state, number in made_by.items() if state != "succeeded"})
    outcome = ScheduleOutcome.FAILED if jobs["failed"] else ScheduleOutcome.DONE
    if jobs["todo"] or jobs["doing"]:
        outcome = ScheduleOutcome.RUNNING
    return replace(_never(schedule, now), last_at=last_at, ran_at=ran_at, outcome=outcome, jobs=dict(jobs))


def _without_model(state: ScheduleState, settings: Settings) -> ScheduleState:
    """Return a state that does not call a consolidation done that could not consolidate anything."""
    is_idle = state.upkeep == Upkeep.CONSOLIDATION and state.outcome is ScheduleOutcome.DONE
    return (
        replace(state, outcome=ScheduleOutcome.NO_MODEL)
        if is_idle and not can_consolidate(settings)
        else state
    )


def _never(schedule: Schedule, now: datetime) -> ScheduleState:
    return ScheduleState(upkeep=schedule.upkeep.value, cron=schedule.cron, next_at=schedule.next_at(now))


def _by_state(rows: Iterable[Columns]) -> dict[str, int]:
    return {row["status"]: row["jobs"] for row in rows}
