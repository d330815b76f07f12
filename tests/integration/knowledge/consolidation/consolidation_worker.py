"""A worker as a process of its own, with a home of its own and a model that is not to be relied on.

    python consolidation_worker.py URL HOME SEED

It consolidates until nothing of the tenant is open, and ends. The model makes one fact of each episode, or, as its
seeded chance has it: fails, hangs, cannot be reached, talks rubbish, or gives its answer twice.
"""

import asyncio
import json
import random
import re
import sys
from pathlib import Path
from typing import Final

from commonplace.core.errors import ModelUnavailableError, StorageError
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.rules.consolidation_policy import Policy

TENANT: Final = "tenant-a"
POLICY: Final = Policy(lease_s=1.0, timeout_s=0.2, backoff_s=0.02, max_backoff_s=0.1, outage_s=0.02)
THINKING_S: Final = 0.03

_EPISODE: Final = re.compile(r"^Episode \d+ of \d+: id ([0-9a-f-]{36})", re.MULTILINE)


def facts_of(prompt: str) -> str:
    """Return an answer that makes one fact of each episode of a prompt."""
    facts = [
        {"subject": episode, "predicate": "was", "content": f"episode {episode}", "evidence": [episode]}
        for episode in _EPISODE.findall(prompt)
    ]
    return f"```json\n{json.dumps({'new_facts': facts})}\n```"


class Moody:
    """The model."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - no secret

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Answer, mostly."""
        assert trigger_source == "schedule:consolidation"
        await asyncio.sleep(THINKING_S)
        mood = self._chance.random()
        if mood < 0.06:
            raise RuntimeError("the model broke")
        if mood < 0.12:
            raise ModelUnavailableError("busy")
        if mood < 0.16:
            return await asyncio.Future[str]()
        if mood < 0.22:
            return "I have read them all."
        block = facts_of(prompt)
        return block * 2 if mood < 0.4 else block


async def work(url: str, home: Path, seed: int) -> None:
    """Consolidate until nothing is open; an outage of the database is waited for."""
    settings = Settings(home=home, workspace=home, postgres_url=url)
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    while True:
        try:
            async with KnowledgeMemory.open(
                settings, tenant_id=TENANT, actor="worker", engine=engine
            ) as memory:
                while (await memory.runs.consolidate(Moody(seed), policy=POLICY)).groups:
                    seed += 1
                    await asyncio.sleep(0.02)
                return
        except StorageError:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
