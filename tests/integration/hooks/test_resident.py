"""The resident process, as a process: one for each home, and nothing is lost with it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from commonplace.cli.commands.install import STARTED
from commonplace.core.settings import Settings
from commonplace.hosts.resident import client
from commonplace.hosts.resident.resident_socket import ResidentSocket
from commonplace.hosts.resident.upkeep import BackgroundConsolidation
from commonplace.knowledge import KnowledgeMemory
from support.claude import claude_environment
from support.commands import CommandLine, clean_environment
from support.consolidation import answer, fact
from support.database_stock import DatabaseStock
from support.deadlines import DEADLINE_S
from support.model_api import INPUT_TOKENS, OUTPUT_TOKENS, ModelApi, Says
from support.postgres import wait_until
from support.programs import program_path
from support.resident import PATIENT, RESIDENT, end, pid_of

FORKS = "commonplace.hosts.resident.fork_server"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
NOTE = ") The staging port is 5433"


class Hooks:
    """Hooks of one workspace, each a process of its own, as the client calls them.

    Args:
        commonplace: Names workspace and home.
        python: The interpreter of hooks and of the processes that they start; by default, these are forks.
        variables: Settings.
    """

    def __init__(self, commonplace: CommandLine, *, python: str | None = None, **variables: str) -> None:
        self.python = str(python or commonplace.python)
        self.home = commonplace.home
        self.workspace = commonplace.directory
        self.variables = RESIDENT | PATIENT | variables
        self.transcript = self.workspace / "transcript.jsonl"

    def start(self, event: str, **fields: Any) -> subprocess.Popen[str]:  # noqa: ANN401 - JSON
        """Start a hook."""
        given = {
            "session_id": str(uuid4()),
            "transcript_path": str(self.transcript),
            "cwd": str(self.workspace),
        }
        process = subprocess.Popen(
            [self.python, "-m", "commonplace", "hook", event],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(self.home, **self.variables),
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(given | fields))
        process.stdin.close()
        process.stdin = None
        return process

    def call(self, event: str, **fields: Any) -> str:  # noqa: ANN401 - JSON
        """Call a hook; return its output."""
        process = self.start(event, **fields)
        out, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        return out

    def say(self, text: str) -> None:
        """Write a transcript with one message of the user."""
        message = {"type": "user", "uuid": str(uuid4()), "message": {"content": text}}
        self.transcript.write_text(f"{json.dumps(message)}\n")


@pytest.fixture
def hooks(commonplace: CommandLine, knowledge_url: str) -> Iterator[Hooks]:
    """Hooks of a workspace with one memory."""
    commonplace("workspace", "store", "The staging port is 5433")
    yield Hooks(commonplace, COMMONPLACE_POSTGRES_URL=knowledge_url)
    end(commonplace.home)


def residents(home: Path) -> list[int]:
    """The processes that serve a home, or are about to."""
    return [
        each.pid
        for each in psutil.process_iter(["cmdline"])
        if "commonplace.hosts.resident.start" in (each.info["cmdline"] or [])
        and str(home) in each.info["cmdline"]
    ]


def test_hooks_at_once_share_one_process_and_another_version_replaces_it(hooks: Hooks) -> None:
    """So do other settings; a client of the old version is told, and asks the new process."""
    hooks.python = sys.executable
    started = [hooks.start("user-prompt", prompt="which port?") for _ in range(3)]
    assert all(NOTE in each.communicate(timeout=DEADLINE_S)[0] for each in started)
    wait_until(lambda: len(residents(hooks.home)) == 1, what="one process")
    first = pid_of(hooks.home)
    place = ResidentSocket(str(hooks.home))
    assert place.listen() is None

    request = {"build": "other", "event": "user-prompt", "butler": None, "document": "", "environ": {}}
    with place.connect(DEADLINE_S) as connection:
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(1)
        assert json.loads(connection.recv(100)) == {}
    assert NOTE in hooks.call("user-prompt", prompt="which port?")
    second = pid_of(hooks.home)
    hooks.variables["COMMONPLACE_MIN_RELEVANCE"] = "0.5"
    assert NOTE in hooks.call("user-prompt", prompt="which port?")

    assert len({first, second, pid_of(hooks.home)}) == 3


def test_a_hook_that_was_stopped_before_it_asked_is_no_error(hooks: Hooks) -> None:
    """Codex stops hooks when it ends; the log is for what a person must look at, such as a busy machine."""
    assert NOTE in hooks.call("user-prompt", prompt="which port?")
    log = hooks.home / "logs" / "hooks.log"
    before = log.read_text() if log.exists() else ""
    with ResidentSocket(str(hooks.home)).connect(DEADLINE_S) as connection:
        connection.shutdown(1)
        assert connection.recv(100) == b""
    assert (log.read_text() if log.exists() else "") == before


def test_an_installation_prepares_the_first_session(hooks: Hooks, commonplace: CommandLine) -> None:
    """It says so, and where hooks do their own work, it starts no process."""
    url = hooks.variables["COMMONPLACE_POSTGRES_URL"]
    assert STARTED not in commonplace("install", "claude-code").out
    assert pid_of(hooks.home) is None
    done = commonplace(
        "install", "claude-code", COMMONPLACE_RESIDENT_IDLE_S="60", COMMONPLACE_POSTGRES_URL=url
    )
    assert STARTED in done.out
    assert "started" not in STARTED, "a second installation finds the process running"
    assert pid_of(hooks.home) is not None
    wait_until((hooks.home / "resident" / "forks").exists, what="the process that forks")


def test_what_was_acknowledged_survives_a_kill(hooks: Hooks, commonplace: CommandLine) -> None:
    """At once after the answer: the next process replaces the socket that is left, and learns the session."""
    hooks.say("Move staging to port 5434")
    hooks.call("session-start", source="clear")
    assert hooks.call("session-end", reason="clear") == ""
    end(hooks.home, signal.SIGKILL)
    assert (hooks.home / "resident" / "hooks").exists()

    hooks.call("session-start", source="startup")

    wait_until(lambda: episodes(hooks, commonplace), what="the episode of the session")
    assert episodes(hooks, commonplace) == ["User: Move staging to port 5434"]


def test_a_session_ends_with_its_host_even_if_no_hook_says_so(hooks: Hooks, commonplace: CommandLine) -> None:
    """The host is the process that called a hook by a shell, and is killed."""
    hooks.python = sys.executable
    hooks.say("Move staging to port 5434")
    given = {
        "session_id": str(uuid4()),
        "transcript_path": str(hooks.transcript),
        "cwd": str(hooks.workspace),
        "prompt": "which port?",
    }
    (hooks.workspace / "given.json").write_text(json.dumps(given))
    command = f"{hooks.python} -m commonplace hook user-prompt < given.json > told; echo ended"
    with subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run({command!r}, shell=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=hooks.workspace,
        env=clean_environment(hooks.home, **hooks.variables),
        text=True,
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "ended\n"
        assert NOTE in (hooks.workspace / "told").read_text()
        assert episodes(hooks, commonplace) == []
        host.kill()

    wait_until(lambda: episodes(hooks, commonplace), what="the episode of the session")
    assert episodes(hooks, commonplace) == ["User: Move staging to port 5434"]


def episodes(hooks: Hooks, commonplace: CommandLine) -> list[str]:
    """Return the episodes about staging."""
    words = ("staging", "--mode", "keyword", "--type", "episode", "--json")
    url = hooks.variables["COMMONPLACE_POSTGRES_URL"]
    found = commonplace("knowledge", "search", *words, COMMONPLACE_POSTGRES_URL=url).json["results"]
    return [each["content"] for each in found]


def test_a_session_becomes_a_fact_by_the_clients_own_program(hooks: Hooks, commonplace: CommandLine) -> None:
    """Once a person has allowed it, with a budget for each day; the command shows the tokens and the cost."""
    said = "The payments service is owned by Bea's team"
    hooks.say(said)
    stored = answer(new_facts=[fact("payments", "owner", said)])
    url = hooks.variables["COMMONPLACE_POSTGRES_URL"]
    with ModelApi(Says(stored)) as api:
        hooks.variables |= claude_environment(commonplace.home / "user", api.url)
        done = commonplace("consolidation", "allow", "--daily-tokens", "50000", PATH=hooks.variables["PATH"])
        assert done.status == 0, done.err
        hooks.call("session-end", reason="other")

        def known() -> str:
            return commonplace(
                "knowledge", "search", "payments", "--type", "fact", COMMONPLACE_POSTGRES_URL=url
            ).out

        wait_until(lambda: said in known(), what="the fact of the session")
        end(hooks.home)

    shown = commonplace("consolidation", "show", "--json", COMMONPLACE_POSTGRES_URL=url).json
    assert (shown["model"], shown["episodes_waiting"], shown["daily_tokens"]) == ("claude-code", 0, 50_000)
    assert shown["tokens_today"] >= INPUT_TOKENS + OUTPUT_TOKENS
    assert shown["cost_today_usd"] > 0
    commonplace("consolidation", "refuse")
    assert commonplace("consolidation", "show", "--json", COMMONPLACE_POSTGRES_URL=url).json["model"] is None


async def test_a_look_without_episodes_delays_no_consolidation(
    settings: Settings, knowledge_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session begins with a look; its own end is then consolidated at once."""
    monkeypatch.setenv("PATH", program_path("claude"))
    own = settings.model_copy(update={"postgres_url": knowledge_url, "consolidation_model": "claude-code"})
    async with KnowledgeMemory.open(own) as memory:
        consolidation = BackgroundConsolidation(own, memory)
        for _ in range(2):
            consolidation.begin()
            assert consolidation._task is not None
            async with asyncio.timeout(DEADLINE_S):
                await consolidation._task


def test_a_server_outlives_the_process_that_it_started_and_ends_with_its_client(
    commonplace: CommandLine,
) -> None:
    """It is forked where the imports are done, with the streams and the directory of the command."""
    hooks = Hooks(commonplace)
    with subprocess.Popen(
        [sys.executable, "-m", "commonplace", "mcp", "workspace"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=hooks.workspace,
        env=clean_environment(hooks.home, **hooks.variables),
        text=True,
    ) as server:
        assert "serverInfo" in ask(server, "initialize", **INITIALIZE)["result"]
        forking = next(
            each
            for each in psutil.process_iter(["cmdline"])
            if (each.info["cmdline"] or [])[-2:] == [FORKS, str(hooks.home)]
        )
        (fork,) = forking.children()
        end(hooks.home, signal.SIGKILL)
        forking.wait(DEADLINE_S)
        stored = {"name": "memory_store", "arguments": {"text": "The staging port is 5434"}}
        assert "m-1" in str(ask(server, "tools/call", **stored)["result"])
        server.kill()
    wait_until(lambda: not fork.is_running(), what="the end of the server")

    assert "5434" in commonplace("workspace", "search", "staging").out


def ask(server: subprocess.Popen[str], method: str, **parameters: object) -> dict[str, Any]:
    """Send a request to an MCP server; return its answer."""
    assert server.stdin is not None
    assert server.stdout is not None
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    server.stdin.write(f"{json.dumps(request)}\n")
    if method == "initialize":
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def test_a_process_that_hangs_is_killed_and_one_that_is_idle_ends(commonplace: CommandLine) -> None:
    """The next hook starts another."""
    commonplace("workspace", "store", "The staging port is 5433")
    hooks = Hooks(commonplace, python=sys.executable, COMMONPLACE_RESIDENT_IDLE_S="2")
    hooks.call("user-prompt", prompt="which port?")
    hanging = pid_of(hooks.home)
    assert hanging is not None
    os.kill(hanging, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        client._ask(ResidentSocket(str(hooks.home)), b"{}", time.monotonic() + 0.2)
    wait_until(lambda: hanging not in residents(hooks.home), what="the end of the one that hung")

    assert NOTE in hooks.call("user-prompt", prompt="which port?")
    assert hanging != pid_of(hooks.home)
    wait_until(lambda: not residents(hooks.home), what="the end of an idle process")


def test_where_no_process_can_run_a_hook_does_its_own_work(commonplace: CommandLine) -> None:
    """A directory that cannot be made stands for a full disk and a home that cannot be written."""
    commonplace("workspace", "store", "The staging port is 5433")
    (commonplace.home / "resident").write_text("in the way")

    assert NOTE in Hooks(commonplace).call("user-prompt", prompt="which port?")
    assert residents(commonplace.home) == []


@pytest.mark.requirement("SYN-11.1")
async def test_a_session_syncs_in_the_background(
    hooks: Hooks, commonplace: CommandLine, knowledge_databases: DatabaseStock, tmp_path: Path
) -> None:
    """What another device learned is here soon after a session has started, and the session did not wait."""
    carried, secret = str(tmp_path / "carried"), tmp_path / "secret"
    secret.write_text("correct horse battery staple")
    async with knowledge_databases.lend() as other:
        here: dict[str, Any] = {"COMMONPLACE_POSTGRES_URL": hooks.variables["COMMONPLACE_POSTGRES_URL"]}
        there: dict[str, Any] = {
            "COMMONPLACE_HOME": str(tmp_path / "server"),
            "COMMONPLACE_POSTGRES_URL": other.url,
        }
        given = ("--passphrase-file", str(secret))
        commonplace("sync", "init", carried, "--name", "laptop", *given, **here)
        commonplace("add", "fact", "Jellyfin", "port", "listens on 8096", **there)
        commonplace("sync", "join", carried, "--name", "server", *given, **there)
    hooks.call("session-start", source="startup")
    wait_until(
        lambda: "listens on 8096" in commonplace("list", "facts", **here).out, what="the fact of the server"
    )
