"""What tests share: a home of their own, settings in it, and a clock that they set."""

import gc
import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import hypothesis
import psutil
import pytest

from commonplace.cli.start import COLLECT_AFTER
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from support.commands import CommandLine, CommandServer, make_programs
from support.data_directories import copy_data
from support.disks import spread
from support.homes import UsedHome, make_used_home
from support.processes import is_running
from support.run_share import WORKER, RunShare

pytest_plugins = ["support.accounts", "support.postgres", "support.knowledge", "support.operational"]

# How long an example takes says how busy the machine is. The same examples in each run make a failure repeatable.
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.register_profile("tests", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tests")


# No test speaks TLS. Each HTTP client would load the certificates of this machine, for a thirtieth of a second.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)


WORKER_BYTES = 1 << 30
"""A process of tests with its database server, a browser and the commands that it starts takes less."""


def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run tests: two for each core and one more, as far as memory allows.

    Tests wait for servers and processes as much as they compute: three processes keep two cores busy for two thirds of
    the time.
    """
    room = psutil.virtual_memory().available // WORKER_BYTES
    return max(1, min(2 * len(os.sched_getaffinity(0)) + 1, room))


def pytest_configure() -> None:
    """Collect garbage as rarely as the command does."""
    gc.set_threshold(COLLECT_AFTER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest: at the end, none keeps one process busy while the others wait."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Keep thousands of collected tests out of each collection of garbage: an eighth of the time of short tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock() -> ManualClock:
    """A clock at a fixed moment."""
    return ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture(scope="session", autouse=True)
def run_share(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunShare]:
    """What this process shares with the others of the run."""
    directory = tmp_path_factory.getbasetemp()
    spread(directory)
    share = RunShare((directory if WORKER is None else directory.parent) / "shared")
    yield share
    share.leave()


@pytest.fixture(scope="session")
def used_home(run_share: RunShare) -> UsedHome:
    """A home that is never used again, only lent."""
    home = run_share.directory / "home"
    run_share.once("home", partial(make_used_home, home))
    return UsedHome(home)


@pytest.fixture
def new_settings(tmp_path: Path) -> Settings:
    """Settings of a home that is not there yet, and an empty workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Settings(home=tmp_path / "home", workspace=workspace)


@pytest.fixture
def settings(new_settings: Settings, used_home: UsedHome) -> Settings:
    """Settings of a home without memories that was used before, and an empty workspace."""
    used_home.lend(new_settings.home)
    return new_settings


@pytest.fixture(scope="session", autouse=True)
def data_directory(run_share: RunShare) -> Path:
    """The directory with the data that embedded servers begin with."""
    directory = run_share.directory / "initial-data"
    directory.mkdir(exist_ok=True)
    run_share.delete_at_end(directory)
    copy_data(directory)
    return directory


@pytest.fixture(scope="session")
def command_server(run_share: RunShare, used_home: UsedHome, data_directory: Path) -> Iterator[CommandServer]:
    """The process that runs commands for all tests of the run."""
    programs = Path(run_share.once("programs", make_programs))
    run_share.delete_at_end(programs)
    server = CommandServer(programs)
    start = partial(server.start, used_home.graphs, data_directory)
    # It ends with the last process that uses it, which may be before another process begins to use it.
    run_share.once("command server", start, holds=is_running)
    yield server
    server.close()


@pytest.fixture
def commonplace(settings: Settings, command_server: CommandServer) -> CommandLine:
    """The ``commonplace`` command, in a home without memories and an empty workspace."""
    return CommandLine(settings.workspace, settings.home, command_server)


@pytest.fixture
def new_commonplace(new_settings: Settings, command_server: CommandServer) -> CommandLine:
    """The ``commonplace`` command, in a home that is not there yet and an empty workspace."""
    return CommandLine(new_settings.workspace, new_settings.home, command_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """Settings that name a database without memories, once on each server that operational memory runs on."""
    if request.param == "postgresql":
        return settings.model_copy(update={"database": request.getfixturevalue("database_url")})
    return settings


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, new_settings: Settings) -> Settings:
    """Settings that name a database without any table, on each server: for what migrations do."""
    if request.param == "postgresql":
        return new_settings.model_copy(update={"database": request.getfixturevalue("postgres_url")})
    return new_settings


@pytest.fixture
async def operational(database: Settings, clock: ManualClock) -> AsyncIterator[OperationalMemory]:
    """Operational memory without memories."""
    async with OperationalMemory.open(database, clock=clock) as memory:
        yield memory
