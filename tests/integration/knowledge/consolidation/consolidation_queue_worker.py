"""A worker of the queue as a process of its own, with a model that answers from a script.

    python consolidation_queue_worker.py URL HOME

It is what ``commonplace worker`` is, with two differences: the model makes one fact of each episode and takes its time,
and whoever dies is missed after a second or two instead of half a minute, so that a test can wait for it.
"""

import asyncio
import signal
import sys
import time
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from consolidation_worker import facts_of

from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.workers import outcomes, tasks, worker
from commonplace.llm.backend import Request
from commonplace.llm.scripted import Script

THINKING_S: Final = 0.2
SILENT_S: Final = 2.0
ANSWERS: Final = 200


def be_impatient() -> None:
    """Miss who is silent for two seconds, and take their episodes over after one."""
    replace(worker, "TEND_EVERY_S", 0.2)
    replace(worker, "HEARTBEAT_S", 0.5)
    replace(outcomes, "take_back", partial(outcomes.take_back, silent_s=SILENT_S))
    replace(tasks, "Policy", partial(Policy, lease_s=1.0))


def replace(module: ModuleType, name: str, value: object) -> None:
    """Replace what a module has under a name."""
    assert hasattr(module, name), f"{module.__name__} has no {name}"
    setattr(module, name, value)


def answer(request: Request) -> str:
    """Think, and make a fact of each episode."""
    time.sleep(THINKING_S)
    return facts_of(request.prompt)


async def work(url: str, home: Path) -> None:
    """Do the jobs of the queue until a signal comes."""
    settings = Settings(
        home=home,
        workspace=home,
        postgres_url=url,
        sweep_cron="off",
        cleanup_cron="off",
        worker_concurrency=1,
    )
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    model = Script(*[answer] * ANSWERS).model()
    async with (
        KnowledgeMemory.open(settings, actor="worker", engine=engine) as memory,
        worker.Worker.open(settings, knowledge=memory, model=model) as one,
    ):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, one.stop)
        await one.run()


if __name__ == "__main__":
    be_impatient()
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
