"""Where the processor time of the tests goes: ``pytest --effort`` prints it by folder, by file and by fixture.

Each process of tests accounts in a control group of its own, so that the time of every process that it starts counts,
servers that outlive their parent too. Such groups exist on Linux alone, and only root, or the owner of the group in
which the tests run, may make one.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, Final

import pytest

ROWS: Final = 30
"""The most rows of a table."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option."""
    parser.addoption("--effort", action="store_true", help="print where the processor time goes (Linux)")


def pytest_configure(config: pytest.Config) -> None:
    """Account, and print what all processes of tests have accounted."""
    if config.getoption("--effort"):
        accounts = Accounts(config)
        config.pluginmanager.register(accounts)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Report(accounts))


Account = dict[str, float]


class ControlGroup:
    """A control group that this process enters."""

    def __init__(self) -> None:
        mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
        root = next(Path(mount) for _, mount, kind, *_ in mounts if kind == "cgroup2")
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        path = next(group.removeprefix("0::/") for group in groups if group.startswith("0::/"))
        self._parent = root / path
        self._directory = self._parent / f"commonplace-tests-{os.getpid()}"
        self._directory.mkdir()
        self._enter(self._directory)
        os.environ["TESTS_CONTROL_GROUP"] = str(self._directory)  # forks of the command server enter it too

    def seconds(self) -> float:
        """Return the processor seconds that the processes of the group have used, those included that have ended."""
        return int((self._directory / "cpu.stat").read_text().split()[1]) / 1e6

    def leave(self) -> None:
        """Delete the group; processes that outlive the tests keep it."""
        self._enter(self._parent)
        with suppress(OSError):
            self._directory.rmdir()

    def _enter(self, directory: Path) -> None:
        (directory / "cgroup.procs").write_text(str(os.getpid()))


class Accounts:
    """Accounts of one process of tests, in seconds."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._start_s = time.process_time()
        self._group = ControlGroup()
        self._within_s = 0.0
        self.by_file: Account = defaultdict(float)
        self.by_fixture: Account = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        """Account imports and collection."""
        self.by_file["(start)"] += self._start_s + self._group.seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Account a test with all its fixtures."""
        begin = self._group.seconds()
        try:
            return (yield)
        finally:
            self.by_file[str(item.path.relative_to(self._config.rootpath))] += self._group.seconds() - begin

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Account the setup of a fixture."""
        with self._accounted(fixturedef.argname):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Account the body of a test."""
        with self._accounted("(bodies)"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Account the teardown of fixtures, all as one."""
        with self._accounted("(teardown)"):
            return (yield)

    @contextmanager
    def _accounted(self, name: str) -> Iterator[None]:
        """Account what is done meanwhile, without what is accounted by another name."""
        outer_s, self._within_s = self._within_s, 0.0
        begin = self._group.seconds()
        try:
            yield
        finally:
            took_s = self._group.seconds() - begin
            self.by_fixture[name] += took_s - self._within_s
            self._within_s = outer_s + took_s

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Hand the accounts of a worker to the process that prints them."""
        self.by_file["(between tests)"] += self._start_s + self._group.seconds() - sum(self.by_file.values())
        self._group.leave()
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output["effort"] = (dict(self.by_file), dict(self.by_fixture))


class Report:
    """The accounts of all processes of tests."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - pytest-xdist's
        """Add the accounts of a worker."""
        own = self._accounts.by_file, self._accounts.by_fixture
        for account, added in zip(own, getattr(node, "workeroutput", {}).get("effort", ()), strict=False):
            for name, seconds in added.items():
                account[name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables."""
        by_folder: Account = defaultdict(float)
        for file, seconds in self._accounts.by_file.items():
            by_folder[_folder(file)] += seconds
        terminalreporter.section("processor seconds")
        terminalreporter.write_line(f"{sum(by_folder.values()):9.1f}  all")
        for table in (by_folder, self._accounts.by_fixture, self._accounts.by_file):
            terminalreporter.write_line("")
            for name, seconds in sorted(table.items(), key=itemgetter(1), reverse=True)[:ROWS]:
                terminalreporter.write_line(f"{seconds:9.1f}  {name}")


def _folder(file: str) -> str:
    """Return the folder of a file, without what is below a room."""
    return file if file.startswith("(") else str(PurePath(*PurePath(file).parts[:-1][:3]))
