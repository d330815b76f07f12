"""What an operator sees of background work: who works, what waits, what ran when and how it ended, what failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from commonplace.core.settings import Settings
from commonplace.knowledge.workers.outcomes import SILENT_S
from commonplace.knowledge.workers.queue_work import queue_work
from commonplace.knowledge.workers.schedule import Schedule, last_ticks, schedules
from commonplace.storage.database import Statements

MAX_FAILURES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker that is registered.

    Attributes:
        name: Host and process.
        alive: Whether it was heard of within the last thirty seconds.
        silent_s: Seconds since it was heard of.
        started_at: Since when it works; unknown for a worker of another program.
        concurrency: How many jobs it does at once.
        doing: How many it does now.
    """

    name: str
    alive: bool
    silent_s: float
    started_at: datetime | None
    concurrency: int
    doing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """A schedule, and what became of its last run.

    Attributes:
        upkeep: What it does.
        cron: When, in UTC; ``None`` where it is switched off.
        last_at: The moment that the last run was for; ``None`` before the first.
        ran_at: When that run began: later, where no worker was there at that moment. ``None`` where it waits, or where
            its job is so old that it was removed.
        next_at: When it is due next; ``None`` where it is switched off.
        jobs: Jobs of the last run, the newest of each shard, by state: todo, doing, succeeded, failed, aborted. One
            that an earlier run left waiting is among them.
    """

    upkeep: str
    cron: str | None
    last_at: datetime | None
    ran_at: datetime | None
    next_at: datetime | None
    jobs: Mapping[str, int]

    @property
    def outcome(self) -> str:
        """The last run in a word: ``never``, ``running``, ``failed`` (a part of it, at least) or ``done``."""
        if self.last_at is None:
            return "never"
        if any(self.jobs.get(state) for state in ("todo", "doing")):
            return "running"
        return "failed" if self.jobs.get("failed") else "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """A job that failed, what it was about, and why it failed."""

    job_id: int
    task: str
    arguments: Mapping[str, Any]
    error: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """Background work as a whole.

    Attributes:
        began: Whether a worker ever ran on this database.
        workers: The oldest first.
        jobs: How many there are by state, of the last days.
        oldest_waiting_at: Since when the job has been due that waits longest.
        schedules: One of each kind.
        failures: Jobs that failed, the last first, twenty at most.
    """

    began: bool
    workers: list[WorkerState]
    jobs: Mapping[str, int]
    oldest_waiting_at: datetime | None
    schedules: list[ScheduleState]
    failures: list[FailedJob]


async def worker_status(pool: asyncpg.Pool, settings: Settings, now: datetime) -> WorkerStatus:
    """Return what is to be seen of background work.

    Args:
        pool: Of the database.
        settings: Name the schedules.
        now: The present.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    wanted = schedules(settings)
    async with queue_work(pool) as sql:
        if not await sql.has_queue():
            return WorkerStatus(
                began=False,
                workers=[],
                jobs={},
                oldest_waiting_at=None,
                schedules=[_schedule_state(schedule, None, None, {}, now) for schedule in wanted],
                failures=[],
            )
    last = await last_ticks(pool, now)
    async with queue_work(pool) as sql:
        counts: dict[str, int] = {}
        for row in await sql.count_jobs():
            counts[row["status"]] = counts.get(row["status"], 0) + row["jobs"]
        states: list[ScheduleState] = []
        for schedule in wanted:
            last_at = last.get(schedule.upkeep.fan_out)
            jobs = {} if last_at is None else await _jobs_of_run(sql, schedule, last_at)
            ran_at = None if last_at is None else await _ran_at(sql, schedule, last_at)
            states.append(_schedule_state(schedule, last_at, ran_at, jobs, now))
        return WorkerStatus(
            began=True,
            workers=[_worker_state(row) for row in await sql.list_workers()],
            jobs=counts,
            oldest_waiting_at=await sql.oldest_waiting_at(),
            schedules=states,
            failures=[_failed_job(row) for row in await sql.list_failures(limit=MAX_FAILURES)],
        )


async def _ran_at(sql: Statements, schedule: Schedule, last_at: datetime) -> datetime | None:
    return await sql.run_began_at(task_name=schedule.upkeep.fan_out, tick=int(last_at.timestamp()))


async def _jobs_of_run(sql: Statements, schedule: Schedule, last_at: datetime) -> dict[str, int]:
    """Count the jobs of a run; where the job that makes them has not succeeded, it counts too."""
    tick = str(int(last_at.timestamp()))
    made_by = await sql.count_run(task_name=schedule.upkeep.fan_out, tick=tick)
    jobs = {
        row["status"]: row["jobs"] for row in await sql.count_run(task_name=schedule.upkeep.value, tick=tick)
    }
    for row in made_by:
        if row["status"] != "succeeded":
            jobs[row["status"]] = jobs.get(row["status"], 0) + row["jobs"]
    return jobs


def _schedule_state(
    schedule: Schedule,
    last_at: datetime | None,
    ran_at: datetime | None,
    jobs: Mapping[str, int],
    now: datetime,
) -> ScheduleState:
    return ScheduleState(
        upkeep=schedule.upkeep.value,
        cron=schedule.cron,
        last_at=last_at,
        ran_at=ran_at,
        next_at=schedule.next_at(now),
        jobs=jobs,
    )


def _worker_state(row: Mapping[str, Any]) -> WorkerState:
    return WorkerState(
        name=row["name"],
        alive=abs(row["silent_s"]) < SILENT_S,
        silent_s=round(row["silent_s"], 1),
        started_at=row["started_at"],
        concurrency=row["concurrency"],
        doing=row["doing"],
    )


def _failed_job(row: Mapping[str, Any]) -> FailedJob:
    return FailedJob(
        job_id=row["id"],
        task=row["task_name"],
        arguments={name: value for name, value in row["args"].items() if name in {"tenant_id", "butler"}},
        error=row["error"] or "no error was written down: the worker may not know this kind of job",
        ended_at=row["ended_at"],
    )
