"""Workers: background work of knowledge memory on a schedule, for every tenant, on any number of machines.

Doors and the host import the names in ``__all__``; everything else in this room is private to it. The names load when
they are first used, because Procrastinate takes 0.3 s to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.knowledge.workers.status import FailedJob, ScheduleState, WorkerStatus, worker_status
    from commonplace.knowledge.workers.worker import Worker, in_process_worker

__all__ = ["FailedJob", "ScheduleState", "Worker", "WorkerStatus", "in_process_worker", "worker_status"]

_HOMES = {
    "FailedJob": "status",
    "ScheduleState": "status",
    "Worker": "worker",
    "WorkerStatus": "status",
    "in_process_worker": "worker",
    "worker_status": "status",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type of the name
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
