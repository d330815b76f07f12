"""The worker, which runs the jobs of the queue, starts schedules, and takes over jobs of dead workers.

During a database outage it logs a warning, and it resumes when the database is back.
"""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final, Self

import asyncpg
from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker as QueueWorker
from procrastinate.worker import logger as queue_log

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError, StorageError
from commonplace.core.settings import Settings
from commonplace.knowledge.consolidation.leases import this_worker
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers.outcomes import SILENT_S, Outcomes, bring_forward, in_one_line
from commonplace.knowledge.workers.queue import open_queue
from commonplace.knowledge.workers.schedule import schedules, start_due
from commonplace.knowledge.workers.schema import prepare_schema
from commonplace.knowledge.workers.tasks import JobDependencies, register_tasks
from commonplace.llm.model import Model
from commonplace.llm.opening import open_consolidation_model
from commonplace.storage.migrations.opening import before_queue_upgrade
from commonplace.storage.postgres_url import is_pooled

GRACE_S: Final = 10.0
"""The time for running jobs to finish when a worker stops; after it they are returned to the queue."""

TEND_EVERY_S: Final = 10.0
"""Seconds between checks of schedules and dead workers, and so the maximum delay of a tick."""

HEARTBEAT_S: Final = 10.0
BEGIN_AGAIN_S: Final = 5.0
FORGET_WORKERS_S: Final = 300.0
"""Seconds that a dead worker stays in the list."""

TIDY_EVERY_TENDS: Final = 360
KEEP_DONE_HOURS: Final = 2 * 24
KEEP_FAILED_HOURS: Final = 30 * 24
"""Hours that finished jobs are kept. A thousand tenants produce 24,000 a day, and the status counts them."""

_log = logging.getLogger(__name__)


class Worker:
    """A worker that does background work until it is stopped; use :meth:`open`.

    Any number of workers may run on one database, on any number of machines. A worker may be killed at any moment,
    because another worker repeats its jobs, and every kind of job may run twice.

    Args:
        means: The dependencies of jobs.
    """

    def __init__(self, means: JobDependencies) -> None:
        self._means = means
        self._stopping = asyncio.Event()
        self.began = asyncio.Event()
        """Set when the worker takes jobs for the first time."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        *,
        knowledge: KnowledgeMemory | None = None,
        model: Model | None = None,
        clock: Clock = utc_now,
    ) -> AsyncGenerator[Self]:
        """Open memory and queue, bring both up to date, and close them at the end of the block.

        Args:
            settings: The settings, which name the database, model and schedules.
            knowledge: An open memory to use; its clock is used.
            model: A model to use instead of the configured model.
            clock: Gives the current time, if no memory is given.

        Raises:
            SettingsError: The URL is not a PostgreSQL URL, or the model cannot be used.
            StorageError: The database cannot be opened, or is newer than this release.
        """
        async with AsyncExitStack() as stack:
            if knowledge is None:
                opening = KnowledgeMemory.open(settings, actor="worker", clock=clock)
                knowledge = await stack.enter_async_context(opening)
            if model is None:
                model = await stack.enter_async_context(open_consolidation_model(settings, clock=clock))
            access = await knowledge.database.access(as_owner=True)
            await prepare_schema(access, before=before_queue_upgrade(settings))
            yield cls(
                JobDependencies(knowledge=knowledge, settings=settings, model=model, worker=this_worker())
            )

    @property
    def name(self) -> str:
        """The name of this worker for operators: host and process."""
        return self._means.worker

    def stop(self) -> None:
        """Take no more jobs, and end when running jobs are finished or returned."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until :meth:`stop`; log an outage of the database and wait for its end."""
        while not self._stopping.is_set():
            try:
                await self._work()
            except (StorageError, OSError) as error:
                _log.warning("background work resumes in %g s: %s", BEGIN_AGAIN_S, error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), BEGIN_AGAIN_S)

    async def _work(self) -> None:
        """Work on one connection to the queue until it ends."""
        access = await self._means.knowledge.database.access()
        pool = await self._means.knowledge.database.pool()
        concurrency = self._means.settings.worker_concurrency
        registered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with open_queue(
            access, name=self._means.worker, concurrency=concurrency, on_register=registered.set_result
        ) as app:
            register_tasks(app, self._means)
            outcomes = Outcomes(pool)
            queue_log.addFilter(in_one_line)
            worker = QueueWorker(
                app=app,
                name=self._means.worker,
                concurrency=concurrency,
                shutdown_graceful_timeout=GRACE_S,
                install_signal_handlers=False,
                listen_notify=not is_pooled(access.url),
                update_heartbeat_interval=HEARTBEAT_S,
                stalled_worker_timeout=FORGET_WORKERS_S,
                worker_middleware=[outcomes.wrap],
            )
            working = asyncio.create_task(worker.run(), name="background work")
            tending = asyncio.create_task(
                self._tend(app, pool, registered, outcomes), name="tending the queue"
            )
            stopping = asyncio.create_task(
                self._stopping.wait(), name="waiting for the end of background work"
            )
            try:
                await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
                worker.stop()
                await working
            finally:
                for task in (tending, stopping, working):
                    task.cancel()
                await asyncio.gather(tending, stopping, working, return_exceptions=True)

    async def _tend(
        self, app: App, pool: asyncpg.Pool, registered: asyncio.Future[int], outcomes: Outcomes
    ) -> None:
        """Periodically check schedules, dead workers and old jobs."""
        worker_id = await registered
        for tend in itertools.count():
            try:
                await self._tend_once(app, pool, worker_id, outcomes)
                if tend % TIDY_EVERY_TENDS == 0:
                    await _tidy(app)
            except (StorageError, ConnectorException) as error:
                _log.warning("the queue cannot be tended: %s", error.__cause__ or error)
            except Exception:  # noqa: BLE001 - the outer door: otherwise no schedule would run again
                _log.exception("the queue cannot be tended")
            else:
                self.began.set()
            await asyncio.sleep(TEND_EVERY_S)

    async def _tend_once(self, app: App, pool: asyncpg.Pool, worker_id: int, outcomes: Outcomes) -> None:
        # After the machine has slept, it must not mistake its own jobs for those of a dead worker.
        await app.job_manager.update_heartbeat(worker_id)
        await outcomes.take_back(worker_id)
        await bring_forward(pool)
        await app.job_manager.prune_stalled_workers(FORGET_WORKERS_S)
        now = self._means.knowledge.clock()
        await start_due(app, pool, schedules(self._means.settings), now)


async def _tidy(app: App) -> None:
    manager = app.job_manager
    await manager.delete_old_jobs(nb_hours=KEEP_DONE_HOURS)
    await manager.delete_old_jobs(
        nb_hours=KEEP_FAILED_HOURS, include_failed=True, include_cancelled=True, include_aborted=True
    )


@asynccontextmanager
async def in_process_worker(
    settings: Settings, *, knowledge: KnowledgeMemory, model: Model | None = None
) -> AsyncGenerator[None]:
    """Run a worker during the block; if the database is not available yet, the worker waits.

    At the end of the block, running jobs are finished or returned.

    Args:
        settings: The settings, which name the model and schedules.
        knowledge: The memory, open during the block.
        model: A model to use instead of the configured model.
    """
    stopping = asyncio.Event()
    working = asyncio.create_task(_work_beside(settings, knowledge, model, stopping), name="worker")
    try:
        yield
    finally:
        stopping.set()
        await asyncio.gather(working, return_exceptions=True)


async def _work_beside(
    settings: Settings, knowledge: KnowledgeMemory, model: Model | None, stopping: asyncio.Event
) -> None:
    while not stopping.is_set():
        try:
            async with (
                Worker.open(settings, knowledge=knowledge, model=model) as worker,
                asyncio.TaskGroup() as group,
            ):
                watching = group.create_task(_stop_with(worker, stopping))
                await worker.run()
                watching.cancel()
        except Exception as error:  # noqa: BLE001 - the outer door of background work: it must not end the block
            _log.error(
                "background work is not running: %s", error, exc_info=not isinstance(error, CommonplaceError)
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), SILENT_S)


async def _stop_with(worker: Worker, stopping: asyncio.Event) -> None:
    await stopping.wait()
    worker.stop()
