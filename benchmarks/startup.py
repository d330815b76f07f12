"""Measure the start of commonplace: import, help, the handshake of an MCP server, and commands in a home with memories.

Each round starts a new process for each case, in turn with the bare interpreter (``python -c pass``). The MCP server is
timed from its start to the answer to ``initialize``. Commands are timed warm, in forks of the resident process, and
cold, when no process of the home runs: neither the resident process nor the database server.

    python benchmarks/startup.py [--rounds N] [--json]
"""

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from commonplace.hosts.resident.client import process_at
from commonplace.hosts.resident.resident_socket import FORKS, ResidentSocket
from commonplace.storage.postmaster import is_running

COMMAND = str(Path(sys.executable).with_name("commonplace"))
TARGETS_MS = {"import commonplace": 150, "commonplace --help": 400, "MCP handshake": 1000}
MOST_WARM, MOST_COLD = 8, 60
"""Targets of commands, in times of the bare interpreter."""

COLD_ROUNDS = 3
FACTS = 50
STARTING_S = 120.0
IDLE_S = "600"
_number = itertools.count()
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def run(*command: str) -> None:
    """Run a command to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def shake_hands() -> None:
    """Start the workspace server, which imports what it needs itself, and wait until it has answered."""
    with (
        tempfile.TemporaryDirectory() as workspace,
        subprocess.Popen(
            [COMMAND, "mcp", "workspace"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=workspace,
            env=os.environ | {"COMMONPLACE_RESIDENT_IDLE_S": "0"},
        ) as server,
    ):
        assert server.stdin is not None and server.stdout is not None  # noqa: S101, PT018 - both are pipes
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.terminate()
        if "result" not in answer:
            raise SystemExit(f"the server did not shake hands: {answer}")


CASES: dict[str, Callable[[], object]] = {
    "bare interpreter": lambda: run(sys.executable, "-c", "pass"),
    "import commonplace": lambda: run(sys.executable, "-c", "import commonplace"),
    "commonplace --help": lambda: run(COMMAND, "--help"),
    "MCP handshake": shake_hands,
}


class Home:
    """A home with facts, and its resident process.

    Args:
        directory: An empty directory.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "home"
        self.workspace = directory
        own = {"COMMONPLACE_HOME": str(self.path), "COMMONPLACE_RESIDENT_IDLE_S": IDLE_S}
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COMMONPLACE_", "PYTHON"))
        } | own
        self.fact = ""

    def run(self, *arguments: str) -> str:
        """Run a command to its end, and return its output."""
        return subprocess.run(
            [COMMAND, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=self.workspace,
            env=self.environment,
            text=True,
        ).stdout

    def fill(self) -> None:
        """Store facts, and keep the id of one."""
        for _ in range(FACTS):
            self.store()
        listed = json.loads(self.run("knowledge", "list", "facts", "--json"))
        self.fact = listed["facts"][0]["id"]

    def store(self) -> None:
        """Store another fact."""
        number = next(_number)
        self.run("knowledge", "store-fact", "Ada", f"project_{number}", f"Ada works on project {number}.")

    def begin(self) -> None:
        """Start the resident process, and wait until its fork server has prepared everything."""
        module = "commonplace.hosts.resident.start"
        subprocess.Popen(
            [sys.executable, "-P", "-m", module, self.path, "prepare"],
            env=self.environment,
            start_new_session=True,
        )
        place = ResidentSocket(str(self.path), FORKS)
        _wait(lambda: Path(place.socket).exists(), "the fork server did not listen")
        with place.connect(STARTING_S) as connection:
            server = process_at(connection)
        _wait(lambda: _is_idle(server), "the fork server did not become idle")

    def end(self) -> None:
        """End the resident process, and wait until the database server has ended."""
        place = ResidentSocket(str(self.path))
        if Path(place.socket).exists():
            with place.connect(STARTING_S) as connection:
                os.kill(process_at(connection), signal.SIGTERM)
        forks = Path(ResidentSocket(str(self.path), FORKS).socket)
        _wait(
            lambda: not forks.exists() and not is_running(self.path / "postgres"),
            "a process of the home did not end",
        )


@contextmanager
def used_home() -> Iterator[Home]:
    """Make a home with facts, and delete it."""
    with tempfile.TemporaryDirectory(prefix="commonplace-") as directory:
        home = Home(Path(directory))
        home.fill()
        home.end()
        try:
            yield home
        finally:
            home.end()


def commands_of(home: Home) -> dict[str, Callable[[], object]]:
    """Return the commands that are timed, by their row."""
    return {
        "know QUERY": lambda: home.run("know", "what does Ada work on"),
        "knowledge store-fact": home.store,
        "knowledge list facts": lambda: home.run("knowledge", "list", "facts"),
        "knowledge get ID": lambda: home.run("knowledge", "get", "fact", home.fact),
        "review": lambda: home.run("review"),
    }


def _wait(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + STARTING_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(otherwise)
        time.sleep(0.05)


def _is_idle(process: int) -> bool:
    """Return whether a process used no processor for half a second."""
    before = _processor_ticks(process)
    time.sleep(0.5)
    return before == _processor_ticks(process)


def _processor_ticks(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]


def measure(cases: Mapping[str, Callable[[], object]], rounds: int, *, quiet: bool) -> dict[str, float]:
    """Return the median of each case in milliseconds; the cases take turns."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds) if quiet else track(range(rounds), console=Console(stderr=True)):
        for name, case in cases.items():
            times[name].append(_timed(case))
    return {name: round(statistics.median(each), 1) for name, each in times.items()}


def measure_cold(home: Home) -> dict[str, float]:
    """Return the median of each command in milliseconds, if no process of the home runs."""
    times: dict[str, list[float]] = {}
    for _ in range(COLD_ROUNDS):
        for name, case in commands_of(home).items():
            times.setdefault(f"{name}, cold", []).append(_timed(case))
            home.end()
    return {name: round(statistics.median(each), 1) for name, each in times.items()}


def _timed(case: Callable[[], object]) -> float:
    began = time.perf_counter()
    case()
    return (time.perf_counter() - began) * 1000


def main() -> int:
    """Measure and print; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="start-up times, next to the bare interpreter's")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with used_home() as home:
        cold = measure_cold(home)
        home.begin()
        warm = {f"{name}, warm": case for name, case in commands_of(home).items()}
        medians = measure(CASES | warm, arguments.rounds, quiet=arguments.json) | cold
    rows = [_row(name, ms, medians["bare interpreter"]) for name, ms in medians.items()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        table = Table("case", "median ms", "times the bare interpreter", "target", title="start-up")
        for row in rows:
            table.add_row(*(str("" if value is None else value) for value in list(row.values())[:4]))
        Console().print(table)
    return int(any(row["missed"] for row in rows))


def _row(name: str, ms: float, bare_ms: float) -> dict[str, object]:
    ratio, most = round(ms / bare_ms, 1), {"warm": MOST_WARM, "cold": MOST_COLD}.get(name.rpartition(", ")[2])
    if most is not None:
        return {
            "case": name,
            "ms": ms,
            "ratio_to_bare": ratio,
            "target": f"{most} times",
            "missed": ratio > most,
        }
    target_ms = TARGETS_MS.get(name)
    target = None if target_ms is None else f"{target_ms} ms"
    return {
        "case": name,
        "ms": ms,
        "ratio_to_bare": ratio,
        "target": target,
        "missed": target_ms is not None and ms >= target_ms,
    }


if __name__ == "__main__":
    raise SystemExit(main())
