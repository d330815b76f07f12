"""Knowledge memory for the adapters, with a clock that tests move."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from support.clock import StillClock
from support.facade import open_knowledge


@pytest.fixture
def clock() -> StillClock:
    """A clock that stands still."""
    return StillClock()


@pytest.fixture
async def memory(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: StillClock
) -> AsyncIterator[KnowledgeMemory]:
    """Knowledge memory of the default tenant."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, clock=clock) as memory:
        yield memory
