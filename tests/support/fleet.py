"""A fleet for tests: services and workers as processes, behind HAProxy."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from support.commands import COMMAND, clean_environment
from support.deadlines import wait_for_port
from support.pooler import free_port

HAPROXY: Final = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/bin")
CONFIGURATION: Final = Path(__file__).parents[2] / "packaging" / "haproxy.cfg"
_PORTS: Final = ("8421", "8422", "8423")
_FRONTEND: Final = "8400"


class Fleet:
    """Three services and two workers on one database; each can be killed, stopped in order and started again.

    Args:
        home: The directory of the homes; each process has its own, as on a machine of its own.
        variables: The settings of all processes.
    """

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        self._home = home
        self._variables = variables
        self.ports = [free_port() for _ in _PORTS]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> list[str]:
        """The names of all processes."""
        return [*(f"service-{number}" for number in range(len(self.ports))), "worker-0", "worker-1"]

    def start(self, name: str) -> None:
        """Start a process; wait until a service accepts requests."""
        self.begin(name)
        self.wait_for(name)

    def begin(self, name: str) -> None:
        """Start a process."""
        kind, _, number = name.partition("-")
        home = self._home / name
        home.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [COMMAND, "worker"]
        if kind == "service":
            options = ("--no-worker", "--require-token", "--trusted-proxy", "127.0.0.1", "--drain", "2")
            command = [COMMAND, "serve", "--port", str(self.ports[int(number)]), *options]
        with (home / "log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=home, env=clean_environment(home, **self._variables), stdout=log, stderr=log
            )

    def wait_for(self, name: str) -> None:
        """Wait until a service accepts requests."""
        kind, _, number = name.partition("-")
        if kind == "service":
            wait_for_port(self.ports[int(number)])

    def end(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process and wait for its end."""
        self.processes[name].send_signal(number)
        self.processes[name].wait()

    def logs(self) -> str:
        """Return what the processes logged."""
        return "\n".join(f"{path}:\n{path.read_text()}" for path in sorted(self._home.glob("*/log")))


@contextmanager
def running_fleet(home: Path, variables: Mapping[str, str]) -> Iterator[Fleet]:
    """Start a fleet, and kill it at the end of the block."""
    fleet = Fleet(home, variables)
    try:
        for name in fleet.names:
            fleet.begin(name)
        for name in fleet.names:
            fleet.wait_for(name)
        yield fleet
    finally:
        for process in fleet.processes.values():
            process.kill()
            process.wait()


@contextmanager
def haproxy(ports: list[int], directory: Path) -> Iterator[int]:
    """Run HAProxy, as the handbook configures it, before services; yield its port."""
    port = free_port()
    by_name: dict[str, int] = dict(zip((_FRONTEND, *_PORTS), (port, *ports), strict=True))
    text = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: str(by_name[found[0]]), CONFIGURATION.read_text())
    with running_haproxy(text, port, directory / "haproxy.cfg"):
        yield port


@contextmanager
def running_haproxy(text: str, port: int, configuration: Path) -> Iterator[None]:
    """Run HAProxy with a configuration, which is written to a file, until it listens on its port."""
    assert HAPROXY, "haproxy is not installed: apt-get install haproxy"
    configuration.write_text(text)
    with configuration.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen([HAPROXY, "-db", "-f", configuration], stdout=log, stderr=log)
    try:
        wait_for_port(port)
        yield
    finally:
        process.kill()
        process.wait()
