"""Schedules, which start each kind of upkeep by its cron expression, once for all workers together.

Procrastinate's own periodic tasks are not used, because they sleep until the next tick by a clock that stops while a
laptop sleeps, and either forget ticks missed by more than ten minutes or repeat all of them. Here each worker checks
the last tick every few seconds, and starts it unless the database says that it was already started.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import asyncpg
from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued

from commonplace.core.clock import CLOCKS_DIFFER_BY
from commonplace.core.cron import next_tick, previous_tick
from commonplace.core.settings import CRON_OFF, Settings
from commonplace.knowledge.store.queue_work import queue_work

PERIODIC_ID: Final = "cron"

_log = logging.getLogger(__name__)


class Upkeep(StrEnum):
    """The kinds of upkeep."""

    SWEEP = "sweep"
    """The decay sweep: a job for each tenant."""
    CLEANUP = "cleanup"
    """The episode cleanup: a job for each tenant."""
    CONSOLIDATION = "consolidation"
    """Consolidation: a job for each butler of a tenant with waiting episodes."""

    @property
    def fan_out(self) -> str:
        """The task that creates the jobs of a run, one per shard."""
        return f"{self.value}.all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule of a kind of upkeep; ``cron`` is ``None`` if it is off."""

    upkeep: Upkeep
    cron: str | None

    def next_at(self, now: datetime) -> datetime | None:
        """Return the next tick."""
        return None if self.cron is None else next_tick(self.cron, now)


def schedules(settings: Settings) -> list[Schedule]:
    """Return the schedules of the settings; the database does not store schedules."""
    crons = {
        Upkeep.SWEEP: settings.sweep_cron,
        Upkeep.CLEANUP: settings.cleanup_cron,
        Upkeep.CONSOLIDATION: settings.consolidation_cron,
    }
    return [
        Schedule(upkeep=upkeep, cron=None if cron == CRON_OFF else cron) for upkeep, cron in crons.items()
    ]


async def last_ticks(pool: asyncpg.Pool, now: datetime) -> dict[str, datetime]:
    """Return the last started tick of each fan-out task; a task that never started is missing.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    until = int((now + CLOCKS_DIFFER_BY).timestamp())
    async with queue_work(pool) as sql:
        rows = await sql.last_ticks(until=until)
    return {row["task_name"]: datetime.fromtimestamp(row["tick"], UTC) for row in rows}


async def start_due(app: App, pool: asyncpg.Pool, wanted: Sequence[Schedule], now: datetime) -> list[Upkeep]:
    """Queue the fan-out jobs of all due schedules, and return their kinds.

    A tick starts once, regardless of the number of workers. If ticks were missed, because no worker ran or the machine
    slept, only the last one starts. A tick waits while the job of an earlier tick is still waiting.

    Args:
        app: The open queue.
        pool: The pool of the same database.
        wanted: The schedules.
        now: The present moment.

    Raises:
        StorageUnavailableError: The server cannot be reached.
        ConnectorException: Procrastinate cannot reach the server.
    """
    started: list[Upkeep] = []
    last = await last_ticks(pool, now)
    for schedule in wanted:
        if schedule.cron is None:
            continue
        task = schedule.upkeep.fan_out
        tick = previous_tick(schedule.cron, now)
        if task in last and tick <= last[task]:
            continue
        if await _defer(app, task, tick):
            started.append(schedule.upkeep)
    return started


async def _defer(app: App, task: str, tick: datetime) -> bool:
    timestamp = int(tick.timestamp())
    deferrer = app.configure_task(task, allow_unknown=False, task_kwargs={"timestamp": timestamp})
    try:
        job_id = await app.job_manager.defer_periodic_job(
            job=deferrer.job, periodic_id=PERIODIC_ID, defer_timestamp=timestamp
        )
    except AlreadyEnqueued:
        _log.info("%s: the run before %s has not begun yet", task, tick)
        return False
    if job_id is not None:
        _log.info("%s: started for %s as job %d", task, tick, job_id)
    return job_id is not None
