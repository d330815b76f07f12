"""Three machines on loopback, each with etcd, Patroni and PostgreSQL, as the files of ``packaging/`` configure them."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil

from commonplace.storage.postgres_binaries import bundled_programs
from support.deadlines import DEADLINE_S
from support.fleet import running_haproxy
from support.pooler import free_port
from support.replication import account_options, give, server_directory

PACKAGING: Final = Path(__file__).parents[2] / "packaging"
PATRONI: Final = shutil.which("patroni", path="/usr/bin:/usr/local/bin")
ETCD: Final = shutil.which("etcd", path="/usr/bin:/usr/local/bin")
NAMES: Final = ("db1", "db2", "db3")
SUPERUSER: Final = "postgres:change-me-superuser"
_FRONTEND: Final = "5433"
_PORTS: Final = ("5432", "8008", "2379", "2380")


@dataclass(slots=True)
class Machine:
    """A database server with its processes."""

    name: str
    host: str
    ports: dict[str, str]
    directory: Path
    processes: list[subprocess.Popen[Any]] = field(default_factory=list[subprocess.Popen[Any]])

    @property
    def url(self) -> str:
        """The URL of its database ``postgres``, with the superuser's role."""
        return f"postgresql://{SUPERUSER}@{self.host}:{self.ports['5432']}/postgres"

    def start(self) -> None:
        """Start etcd and Patroni, which starts PostgreSQL."""
        lines = (self.directory / "etcd.env").read_text().splitlines()
        variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        self.processes = [
            self._started("etcd", [_installed(ETCD, "etcd-server")], variables),
            self._started("patroni", [_installed(PATRONI, "patroni"), "patroni.yml"], {}),
        ]

    def kill(self) -> None:
        """Kill all processes as a loss of power does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End all processes, the server without a checkpoint."""
        self._end(signal.SIGQUIT)

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return what Patroni of this machine answers; ``None`` if it does not."""
        try:
            return httpx2.get(f"http://{self.host}:{self.ports['8008']}{path}", timeout=2).json()
        except (httpx2.TransportError, ValueError):
            return None

    def role(self) -> str:
        """Return ``primary``, ``sync_standby`` or ``replica``; empty if the server does not run."""
        members = (self.ask("/cluster") or {}).get("members", [])
        roles = [each["role"] for each in members if each["name"] == self.name and each["state"] == "running"]
        return roles[0].replace("leader", "primary") if roles else ""

    def _end(self, number: signal.Signals) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []
        with suppress(OSError, psutil.NoSuchProcess):
            first = psutil.Process(int((self.directory / "data" / "postmaster.pid").read_text().split()[0]))
            family = [first, *first.children(recursive=True)]
            for process in family if number is signal.SIGKILL else [first]:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            psutil.wait_procs(family, timeout=DEADLINE_S)

    def _started(self, name: str, command: list[str], variables: dict[str, str]) -> subprocess.Popen[Any]:
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(self.directory)} | variables
        with (self.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.directory, env=environment, stdout=log, stderr=log, **account_options()
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trio:
    """Three machines, and HAProxy before them.

    Attributes:
        port: The port of HAProxy, which leads to the primary.
    """

    machines: list[Machine]
    port: int

    def with_role(self, role: str) -> list[Machine]:
        """Return the machines that have a role by now."""
        return [each for each in self.machines if each.role() == role]

    def failovers(self) -> list[datetime]:
        """Return the ends of the failovers, as Patroni reports them."""
        histories = (each.ask("/history") for each in self.machines)
        return [datetime.fromisoformat(line[3]) for history in histories for line in history or []]


@contextmanager
def trio(directory: Path) -> Iterator[Trio]:
    """Start three machines and HAProxy before them; stop all at the end of the block."""
    ports = {port: str(free_port()) for port in _PORTS}
    frontend = free_port()
    with server_directory() as home:
        machines = [_machine(home / name, name, ports) for name in NAMES]
        try:
            for machine in machines:
                machine.start()
            text = _on_loopback((PACKAGING / "haproxy-postgres.cfg").read_text(), ports)
            with running_haproxy(
                text.replace(_FRONTEND, str(frontend)), frontend, directory / "postgres.cfg"
            ):
                yield Trio(machines=machines, port=frontend)
        finally:
            for machine in machines:
                machine.stop()


def _machine(directory: Path, name: str, ports: dict[str, str]) -> Machine:
    """Write the files of a machine, as the first one's say."""
    number = name.removeprefix("db")
    directory.mkdir()
    patroni = (PACKAGING / "patroni.yml").read_text().replace("name: db1", f"name: {name}")
    patroni = re.sub(r"(listen|connect_address): 10\.0\.0\.1", rf"\1: 10.0.0.{number}", patroni)
    for key, value in (
        ("bin_dir", bundled_programs()),
        ("data_dir", directory / "data"),
        ("pgpass", directory / "pgpass"),
        ("unix_socket_directories", directory),
    ):
        patroni = re.sub(rf"^(\s+{key}: ).*$", rf"\g<1>{value}", patroni, flags=re.MULTILINE)
    etcd = (PACKAGING / "etcd.env").read_text().replace("ETCD_NAME=db1", f"ETCD_NAME={name}")
    etcd = re.sub(r"^(ETCD_\w*URLS=http://)10\.0\.0\.1", rf"\g<1>10.0.0.{number}", etcd, flags=re.MULTILINE)
    etcd = re.sub(r"^(ETCD_DATA_DIR=).*$", rf"\g<1>{directory}/etcd", etcd, flags=re.MULTILINE)
    (directory / "patroni.yml").write_text(_on_loopback(patroni, ports))
    (directory / "etcd.env").write_text(_on_loopback(etcd, ports))
    give(directory)
    return Machine(name=name, host=f"127.0.0.{number}", ports=ports, directory=directory)


def _on_loopback(text: str, ports: dict[str, str]) -> str:
    for port, chosen in ports.items():
        text = re.sub(rf"(?<=[: ]){port}\b", chosen, text)
    return text.replace("10.0.0.", "127.0.0.")


def _installed(program: str | None, package: str) -> str:
    assert program, f"{package} is not installed: apt-get install {package}"
    return program
