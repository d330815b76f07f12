"""Workers: background work of knowledge memory on a schedule, for every tenant, on any number of machines.

Doors and the host import the names in ``__all__``; everything else in this room is private to it. The names load when
they are first used, because Procrastinate takes 0.3 s to import.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.knowledge.workers.status import FailedJob, ScheduleState, WorkerStatus, worker_status
    from commonplace.knowledge.workers.worker import Worker, in_process_worker

__all__ = ["FailedJob", "ScheduleState", "Worker", "WorkerStatus", "in_process_worker", "worker_status"]

__getattr__ = lazy_names(
    __name__,
    {
        "status": "FailedJob ScheduleState WorkerStatus worker_status",
        "worker": "Worker in_process_worker",
    },
)
