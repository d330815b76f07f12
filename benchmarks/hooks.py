"""Measure the wait for commonplace in Claude Code: each hook, a server's handshake, and a whole session.

Each hook is a process of its own, as the client starts it. It takes turns with the bare interpreter, which is the part
of the time that any hook in Python needs, and with a hook that does its own work. The memory holds 200 facts and 50
sessions. "Cold" means that no process of this home runs: neither the resident process nor the database server.

With the claude CLI on the PATH or in node_modules, whole sessions of `claude -p` against a scripted API on loopback
follow, with and without commonplace. The first session of a home begins as soon as the installation ends, or ten
seconds later.

On a busy machine, other programs take turns with the hooks. On Linux, as root, a real-time priority keeps them out:
`chrt -r 1 python benchmarks/hooks.py`.

    python benchmarks/hooks.py [--rounds N] [--json]
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import psutil
from rich.console import Console
from rich.table import Table

from commonplace.core.settings import Settings
from commonplace.knowledge import EpisodeDraft, FactDraft, KnowledgeMemory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.model_api import ModelApi, Says  # noqa: E402 - the scripted API of the tests

COMMAND = str(Path(sys.executable).with_name("commonplace"))
BUTLER = "shop"
FACTS, EPISODES = 200, 50
FIRST_SESSIONS = 3
LATER_S = 10.0
OWN_WORK = {"COMMONPLACE_RESIDENT_IDLE_S": "0"}
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
BARE, WARM, COLD, FIRST, LATER = (
    "claude -p without commonplace",
    "claude -p, warm",
    "claude -p, cold",
    "claude -p, first session of a home",
    "claude -p, first session, later",
)
TARGETS_MS = {
    "prompt": 120,  # with the reranker, which reads 20 memories
    "start, warm": 200,
    "start, cold": 1000,
    "end": 100,
    "handshake of the knowledge server": 400,
    "handshake of the workspace server": 400,
}
OVER_BARE_MS = {WARM: 500, FIRST: 3000}


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return this environment without settings, with a home; Python keeps bytecode, as it does by default."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COMMONPLACE_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return inherited | {"COMMONPLACE_HOME": str(home)} | variables


class Home:
    """A home with memories, and a workspace."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "home"
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.session_id = str(uuid4())
        asyncio.run(self._fill())
        subprocess.run(
            [COMMAND, "workspace", "store", "The staging port is 5433"],
            cwd=self.workspace,
            env=environment(self.path),
            check=True,
            capture_output=True,
        )

    async def _fill(self) -> None:
        async with KnowledgeMemory.open(Settings(home=self.path, workspace=self.workspace)) as memory:
            await memory.store_facts(
                [
                    FactDraft(
                        subject=f"service {number}",
                        predicate="owner",
                        content=f"The service {number} is owned by team {number % 7}.",
                        scope=BUTLER,
                    )
                    for number in range(FACTS)
                ]
            )
            await memory.store_episodes(
                [
                    EpisodeDraft(content=f"User: deploy service {number}\n\nAssistant: Done.", butler=BUTLER)
                    for number in range(EPISODES)
                ]
            )

    def hook(self, event: str, variables: dict[str, str] | None = None, **fields: str) -> None:
        """Run a hook to its end."""
        given = {
            "session_id": self.session_id,
            "transcript_path": str(self.workspace / f"{self.session_id}.jsonl"),
            "cwd": str(self.workspace),
        }
        subprocess.run(
            [COMMAND, "hook", event, "--butler", BUTLER],
            input=json.dumps(given | fields).encode(),
            env=environment(self.path, **(variables or {})),
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def start(self, variables: dict[str, str] | None = None) -> None:
        """Begin a session."""
        self.session_id = str(uuid4())
        self.hook("session-start", variables, source="startup")

    def prompt(self, variables: dict[str, str] | None = None) -> None:
        """Ask about a service that no prompt was about."""
        prompt = f"Who owns the service {uuid4().int % FACTS}, and since {uuid4().hex[:4]}?"
        self.hook("user-prompt", variables, prompt=prompt)

    def end(self, variables: dict[str, str] | None = None) -> None:
        """End a session with a transcript."""
        message = {"type": "user", "uuid": str(uuid4()), "message": {"content": "Deploy the service 3"}}
        (self.workspace / f"{self.session_id}.jsonl").write_text(f"{json.dumps(message)}\n")
        self.hook("session-end", variables, reason="other")

    def handshake(self, server: str) -> None:
        """Start an MCP server, and wait until it has answered."""
        with subprocess.Popen(
            [COMMAND, "mcp", server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.workspace,
            env=environment(self.path),
        ) as process:
            assert process.stdin is not None  # noqa: S101 - pipes
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
            if "result" not in json.loads(process.stdout.readline()):
                raise SystemExit("the server did not shake hands")
            process.kill()


def end_processes(home: Path) -> None:
    """End the resident process of a home, and wait for its database server."""
    for each in psutil.process_iter(["cmdline"]):
        if (each.info["cmdline"] or [])[-1:] == [str(home)]:
            each.terminate()
            each.wait(30)
    pid_file = home / "postgres" / "data" / "postmaster.pid"
    deadline = time.monotonic() + 30
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def timed(work: Callable[[], object]) -> float:
    """Return how long work takes, in milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def measure(home: Home, rounds: int) -> dict[str, float]:
    """Return the median of each case in milliseconds; the cases take turns."""
    cases: dict[str, Callable[[], None]] = {
        "bare interpreter": lambda: _run(sys.executable, "-c", "pass"),
        "start, warm": home.start,
        "prompt": home.prompt,
        "end": home.end,
        "prompt that does its own work": lambda: home.prompt(OWN_WORK),
        "handshake of the knowledge server": lambda: home.handshake("knowledge"),
        "handshake of the workspace server": lambda: home.handshake("workspace"),
    }
    times: dict[str, list[float]] = {name: [] for name in (*cases, "start, cold")}
    for _ in range(max(1, rounds // 5)):
        end_processes(home.path)
        times["start, cold"].append(timed(home.start))
    home.prompt()
    for _ in range(rounds):
        for name, case in cases.items():
            times[name].append(timed(case))
    end_processes(home.path)
    return {name: round(statistics.median(found), 1) for name, found in times.items()}


def measure_sessions(directory: Path, rounds: int) -> dict[str, float]:
    """Return the time of whole sessions in milliseconds; empty without the claude CLI."""
    path = f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    claude = shutil.which("claude", path=path)
    if claude is None:
        return {}
    user, bare = directory / "user", directory / "bare"
    for each in (user, bare):
        each.mkdir()
    times: dict[str, list[float]] = {name: [] for name in (BARE, WARM, COLD, FIRST, LATER)}
    with ModelApi(Says("Done.")) as api:
        variables = {
            "HOME": str(user),
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": "sk-scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

        def session(workspace: Path, home: Path) -> None:
            command = [claude, "-p", "Say: done."]
            _run(*command, cwd=workspace, env=environment(home, **variables))

        def installed(name: str) -> tuple[Path, Path]:
            workspace, home = directory / name, directory / f"home of {name}"
            workspace.mkdir()
            _run(COMMAND, "install", "claude-code", cwd=workspace, env=environment(home, **variables))
            return workspace, home

        session(bare, directory)
        for number in range(FIRST_SESSIONS):
            for name, wait_s in ((FIRST, 0.0), (LATER, LATER_S)):
                new = installed(f"{name} {number}")
                time.sleep(wait_s)
                times[name].append(timed(partial(session, *new)))
                end_processes(new[1])
        used = installed("used")
        session(*used)
        for _ in range(max(3, rounds // 4)):
            end_processes(used[1])
            times[COLD].append(timed(partial(session, *used)))
            session(*used)
            times[BARE].append(timed(partial(session, bare, directory)))
            times[WARM].append(timed(partial(session, *used)))
        end_processes(used[1])
    return {name: round(statistics.median(found), 1) for name, found in times.items()}


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd, env=env, stdout=subprocess.DEVNULL)


def main() -> int:
    """Measure and print; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="the wait for hooks, next to the bare interpreter's start")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(Home(Path(name)), arguments.rounds)
        sessions = measure_sessions(Path(name), arguments.rounds)
    rows = [
        {
            "case": case,
            "ms": ms,
            "of this the interpreter": found["bare interpreter"],
            "target_ms": TARGETS_MS.get(case),
        }
        for case, ms in found.items()
    ] + [
        {
            "case": case,
            "ms": ms,
            "of this the interpreter": None,
            "target_ms": sessions[BARE] + OVER_BARE_MS[case] if case in OVER_BARE_MS else None,
        }
        for case, ms in sessions.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        table = Table("case", "median ms", "of this the bare interpreter", "target ms", title="hooks")
        for row in rows:
            table.add_row(*(str("" if value is None else value) for value in row.values()))
        Console().print(table)
    return int(any(row["target_ms"] is not None and row["ms"] > row["target_ms"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
