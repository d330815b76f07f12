"""What repeats, and when: each kind of upkeep by its cron expression, set going once for all workers together.

Procrastinate's own periodic tasks are not used: they sleep until the next tick by a clock that stands still while a
laptop sleeps, and forget what was missed for longer than ten minutes or repeat all of it. Here each worker asks every
few seconds which tick was the last, and sets it going unless the database says that somebody did.
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
from commonplace.knowledge.workers.queue_work import queue_work

PERIODIC_ID: Final = "cron"

_log = logging.getLogger(__name__)


class Upkeep(StrEnum):
    """What repeats."""

    SWEEP = "sweep"
    """Facts and rules fade and expire: a job for each tenant."""
    CLEANUP = "cleanup"
    """Episodes go: a job for each tenant."""
    CONSOLIDATION = "consolidation"
    """Episodes become facts and rules: a job for each butler of a tenant that has episodes waiting."""

    @property
    def fan_out(self) -> str:
        """The task that makes the jobs of a run, one for each shard."""
        return f"{self.value}.all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a kind of upkeep is due; ``cron`` is ``None`` where it is switched off."""

    upkeep: Upkeep
    cron: str | None

    def next_at(self, now: datetime) -> datetime | None:
        """Return when it is due next."""
        return None if self.cron is None else next_tick(self.cron, now)


def schedules(settings: Settings) -> list[Schedule]:
    """Return every schedule as the settings have it now; nothing of it is kept in the database."""
    crons = {
        Upkeep.SWEEP: settings.sweep_cron,
        Upkeep.CLEANUP: settings.cleanup_cron,
        Upkeep.CONSOLIDATION: settings.consolidation_cron,
    }
    return [
        Schedule(upkeep=upkeep, cron=None if cron == CRON_OFF else cron) for upkeep, cron in crons.items()
    ]


async def last_ticks(pool: asyncpg.Pool, now: datetime) -> dict[str, datetime]:
    """Return for which moment each fan-out task was last set going; one that never was is missing.

    Raises:
        StorageUnavailableError: The server cannot be reached.
    """
    until = int((now + CLOCKS_DIFFER_BY).timestamp())
    async with queue_work(pool) as sql:
        rows = await sql.last_ticks(until=until)
    return {row["task_name"]: datetime.fromtimestamp(row["tick"], UTC) for row in rows}


async def set_going(app: App, pool: asyncpg.Pool, wanted: Sequence[Schedule], now: datetime) -> list[Upkeep]:
    """Put the fan-out jobs of all that is due into the queue, and return which.

    A tick is set going once, whatever the number of workers. Of ticks that were missed, while no worker ran or the
    machine slept, the last one is made up for. Where the job of an earlier tick still waits, this one waits for it.

    Args:
        app: The queue, open.
        pool: Of the same database.
        wanted: Which schedules.
        now: The present.

    Raises:
        StorageUnavailableError: The server cannot be reached.
        ConnectorException: Likewise, from Procrastinate.
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
        _log.info("%s: set going for %s as job %d", task, tick, job_id)
    return job_id is not None
