"""Fixtures of tests that ask several doors: the memories, and a service over them."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving


@pytest.fixture
def stored(settings: Settings, knowledge_url: str) -> Settings:
    """Settings of a home with a knowledge memory."""
    return settings.model_copy(update={"postgres_url": knowledge_url})


@pytest.fixture
async def memories(stored: Settings) -> AsyncIterator[Memories]:
    """Four empty memories."""
    async with open_memories(stored) as memories:
        yield memories


@pytest.fixture
async def url(memories: Memories) -> AsyncIterator[str]:
    """A service on loopback without a login."""
    async with serving(memories) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service."""
    async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
        yield client
