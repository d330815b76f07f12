"""What tests share: a home of their own, settings in it, and a clock that they set."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from support.commands import CommandLine

pytest_plugins = ["support.postgres", "support.knowledge"]


@pytest.fixture
def clock() -> ManualClock:
    """A clock at a fixed moment."""
    return ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings in an empty home and an empty workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Settings(home=tmp_path / "home", workspace=workspace)


@pytest.fixture
def commonplace(settings: Settings) -> CommandLine:
    """The ``commonplace`` command, in an empty home and an empty workspace."""
    return CommandLine(settings.workspace, settings.home)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """Settings that name an empty database, once on each server that operational memory runs on."""
    if request.param == "postgresql":
        return settings.model_copy(update={"database": request.getfixturevalue("postgres_url")})
    return settings


@pytest.fixture
async def operational(database: Settings, clock: ManualClock) -> AsyncIterator[OperationalMemory]:
    """Operational memory in an empty database."""
    async with OperationalMemory.open(database, clock=clock) as memory:
        yield memory
