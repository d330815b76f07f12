from commonplace.knowledge.workers.status import FailedJob as FailedJob
from commonplace.knowledge.workers.status import ScheduleState as ScheduleState
from commonplace.knowledge.workers.status import WorkerStatus as WorkerStatus
from commonplace.knowledge.workers.status import worker_status as worker_status
from commonplace.knowledge.workers.worker import Worker as Worker
from commonplace.knowledge.workers.worker import in_process_worker as in_process_worker
