"""The dashboard and the memories behind it, as they run in the event loop of a test."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.services.opening import Memories
from support.service import open_memories, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A service that runs, and the memories behind it."""

    url: str
    memories: Memories
    clock: ManualClock

    @property
    def operational(self) -> OperationalMemory:
        """Operational memory, which most pages show."""
        return self.memories.operational


@pytest.fixture
async def dashboard(settings: Settings, knowledge_url: str) -> AsyncIterator[Dashboard]:
    """The service over four empty memories, whose clock stands at the present until a test moves it."""
    clock = ManualClock(datetime.now(UTC).replace(microsecond=0))
    here = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(here, clock=clock) as memories, serving(memories) as url:
        yield Dashboard(url=url, memories=memories, clock=clock)
