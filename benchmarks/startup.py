"""Measure the start of commonplace: import, help, and the handshake of an MCP server.

Each round starts a new process for each case, in turn with the bare interpreter (``python -c pass``). The MCP server is
timed from its start to the answer to ``initialize``.

    python benchmarks/startup.py [--rounds N] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

COMMAND = str(Path(sys.executable).with_name("commonplace"))
TARGETS_MS = {"import commonplace": 150, "commonplace --help": 400, "MCP handshake": 1000}
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


CASES: dict[str, Callable[[], None]] = {
    "bare interpreter": lambda: run(sys.executable, "-c", "pass"),
    "import commonplace": lambda: run(sys.executable, "-c", "import commonplace"),
    "commonplace --help": lambda: run(COMMAND, "--help"),
    "MCP handshake": shake_hands,
}


def measure(rounds: int, *, quiet: bool) -> dict[str, float]:
    """Return the median of each case in milliseconds; the cases take turns."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds) if quiet else track(range(rounds), console=Console(stderr=True)):
        for name, case in CASES.items():
            began = time.perf_counter()
            case()
            times[name].append((time.perf_counter() - began) * 1000)
    return {name: round(statistics.median(found), 1) for name, found in times.items()}


def main() -> int:
    """Measure and print; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="start-up times, next to the bare interpreter's")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    found = measure(arguments.rounds, quiet=arguments.json)
    bare = found["bare interpreter"]
    rows = [
        {"case": name, "ms": ms, "ratio_to_bare": round(ms / bare, 1), "target_ms": TARGETS_MS.get(name)}
        for name, ms in found.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        table = Table("case", "median ms", "times the bare interpreter", "target ms", title="start-up")
        for row in rows:
            table.add_row(*(str("" if value is None else value) for value in row.values()))
        Console().print(table)
    return int(any(row["target_ms"] is not None and row["ms"] >= row["target_ms"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
