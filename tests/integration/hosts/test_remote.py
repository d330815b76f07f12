"""Hooks and MCP servers whose knowledge memory is a service, which is killed and comes back."""

import asyncio
import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from commonplace.cli.commands.service_check import check_service
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.settings import Settings
from support.claude import claude_environment
from support.commands import CommandLine, CommandServer, Done, clean_environment
from support.deadlines import DEADLINE_S
from support.homes import UsedHome
from support.mcp import ask, refused
from support.model_api import Asked, Calls, ModelApi, Says
from support.postgres import wait_until
from support.resident import RESIDENT, end
from support.service import ServiceProcess, service_process

BUTLER = "shop"
FACT = {"subject": "staging", "predicate": "owner", "content": "The infra team owns staging"}
PROMPT = "Who owns staging?"
ALLOWED = "mcp__commonplace"

pytestmark = pytest.mark.requirement("HST-06.1")


class Team:
    """A service of a team with a home of its own, and a machine that uses it.

    Args:
        machine: The command on the machine.
        home: The home of the service.
        database: The URL of the service's knowledge memory.
        server: Runs commands.
    """

    def __init__(self, machine: CommandLine, home: Path, database: str, server: CommandServer) -> None:
        self.machine = machine
        self.token_file = home.with_name("token")
        self._server = server
        self._variables: dict[str, Any] = {"COMMONPLACE_POSTGRES_URL": database}
        self._service_home = CommandLine(machine.directory, home, server)
        self._service_home("token", "create", "--role", "admin", "--name", "the service needs one")
        created = self._service_home("token", "create", "--role", "writer", "--name", "ada", "--json")
        self.token = created.json["secret"]
        self.token_file.write_text(f"{self.token}\n")
        self.token_file.chmod(0o600)

    def serving(self, port: int = 0) -> Any:  # noqa: ANN401 - a context manager
        """Start the service."""
        arguments = ("--port", str(port), "--require-token", "--no-worker")
        home, program = self._service_home.home, self._server.program
        return service_process(home, *arguments, program=program, **self._variables)

    def install(self, url: str) -> Done:
        """Install into Claude Code."""
        return self.machine("install", "claude-code", *self.named(url))

    def named(self, url: str) -> tuple[str, ...]:
        """Return the options that name the service."""
        return ("--server", url, "--token-file", str(self.token_file), "--butler", BUTLER)

    def hook(self, event: str, session_id: str, **fields: object) -> Done:
        """Call the hook that is installed for an event."""
        hooks = json.loads((self.machine.directory / ".claude/settings.json").read_text())["hooks"]
        named = {
            "session-start": "SessionStart",
            "user-prompt": "UserPromptSubmit",
            "session-end": "SessionEnd",
        }
        (group,) = hooks[named[event]]
        (handler,) = group["hooks"]
        given = {"session_id": session_id, "transcript_path": str(self.transcript(session_id))}
        stdin = json.dumps({**given, "cwd": str(self.machine.directory), **fields}).encode()
        return self.machine(*handler["args"], stdin=stdin)

    def transcript(self, session_id: str) -> Path:
        """The transcript of a session."""
        return self.machine.directory / f"{session_id}.jsonl"

    def session(self, prompt: str) -> str:
        """Run the hooks of a session with one prompt; return its id."""
        session_id = str(uuid4())
        message = {"type": "user", "uuid": str(uuid4()), "message": {"role": "user", "content": prompt}}
        self.transcript(session_id).write_text(f"{json.dumps(message)}\n")
        assert self.hook("session-end", session_id) == Done(status=0, out="", err="")
        return session_id

    def start_until_sent(self, queued: Path) -> Done:
        """Start a session, which sends an episode of the queue; return what the hook printed.

        On a busy machine, a start may have no time to send; it says so in the log, and another one follows.
        """
        late = 0
        while True:
            started = self.hook("session-start", str(uuid4()), source="startup")
            if not queued.exists():
                return started
            assert self.log.count("learning took longer than") > late, f"{queued} still waits: {self.log}"
            late = self.log.count("learning took longer than")

    def client(self, *arguments: str) -> Client[Any]:
        """Return a client of the installed server, or of the server that a command starts."""
        servers = json.loads((self.machine.directory / ".mcp.json").read_text())["mcpServers"]
        entry = servers["commonplace"]
        environment = clean_environment(self.machine.home, COMMONPLACE_WORKSPACE=str(self.machine.directory))
        words = list(arguments) or entry["args"]
        return Client(StdioTransport(entry["command"], words, env=environment, keep_alive=False))

    def episodes(self) -> list[dict[str, Any]]:
        """Return the episodes that the service has."""
        listed = self._service_home("knowledge", "list", "episodes", "--json", **self._variables)
        found: list[dict[str, Any]] = listed.json["episodes"]
        return found

    @property
    def outbox(self) -> Path:
        """The directory of the episodes that wait."""
        return self.machine.home / "claude-code" / "outbox"

    @property
    def log(self) -> str:
        """The log of the hooks."""
        path = self.machine.home / "logs" / "hooks.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def team(
    commonplace: CommandLine,
    command_server: CommandServer,
    knowledge_url: str,
    used_home: UsedHome,
    tmp_path: Path,
) -> Team:
    """A team's service that does not run yet, and a machine without a knowledge memory of its own."""
    used_home.lend(tmp_path / "service")
    return Team(commonplace, tmp_path / "service", knowledge_url, command_server)


@pytest.fixture
def service(team: Team) -> Iterator[ServiceProcess]:
    """The service as it runs, installed in Claude Code on the machine."""
    with team.serving() as running:
        assert team.install(running.url).status == 0
        yield running


def port_of(service: ServiceProcess) -> int:
    """The port of a service."""
    return int(service.url.rpartition(":")[2])


async def read(client: Client[Any], uri: str) -> str:
    """Return the text of a resource."""
    content: Any
    (content,) = await client.read_resource(uri)
    return content.text


async def test_the_tools_use_the_memory_of_the_service(team: Team, service: ServiceProcess) -> None:
    """In the scope of the butler, where a call names none; prompts and resources too."""
    async with team.client("mcp", "knowledge", *team.named(service.url)) as client:
        stored = await ask(client, "memory_store_fact", **FACT)
        found = await ask(client, "memory_search", query=PROMPT, scope=None)
        block = await ask(client, "memory_context", trigger_prompt=PROMPT)
        memory = await read(client, f"commonplace://memory/fact/{stored['id']}")
        own = await read(client, "commonplace://block")
        briefing = await read(client, "commonplace://briefing?prompt=staging")
        recalled = str(await client.get_prompt("recall", {"topic": PROMPT}))
        wrong = await refused(client, "memory_store_fact", **FACT, importance=99)

    assert [each["scope"] for each in found["results"]] == [BUTLER]
    assert json.loads(memory)["scope"] == BUTLER
    for text in (block, own, briefing, recalled):
        assert FACT["content"] in text
    assert wrong["field"] == "importance"
    assert service.process.poll() is None


def test_an_offline_session_reaches_the_service_once(team: Team, service: ServiceProcess) -> None:
    """The client queues the session, and the service stores it once, even if answers are lost."""
    team.session("Move staging to port 5434")
    service.process.kill()
    service.process.wait()

    offline = team.hook("user-prompt", str(uuid4()), prompt=PROMPT)
    waiting = team.session("Move production to port 6543")
    (queued,) = team.outbox.glob("*.json")

    assert (offline.status, offline.err) == (0, "")
    assert stat.S_IMODE(queued.stat().st_mode) == 0o600
    assert "cannot be reached" in team.log
    with pytest.raises(
        StorageUnavailableError, match=r"cannot be reached: .+ \(1 episode waits for it since 2"
    ):
        asyncio.run(check_service(Settings(home=team.machine.home)))
    with team.serving(port_of(service)):
        entry = queued.read_bytes()
        for _ in range(2):
            started = team.start_until_sent(queued)
            queued.write_bytes(entry)  # As if the answer of the service had been lost.
        team.start_until_sent(queued)
        asked = team.hook("user-prompt", str(uuid4()), prompt="Which port has production?")

    said = {each["content"]: each for each in team.episodes()}
    assert sorted(said) == ["User: Move production to port 6543", "User: Move staging to port 5434"]
    assert len(team.episodes()) == 2
    episode = said["User: Move production to port 6543"]
    assert (episode["butler"], episode["session_id"]) == (BUTLER, waiting)
    assert "Move production to port 6543" in started.out
    assert "Move production to port 6543" in asked.out


async def test_one_server_for_all_memories_and_the_plugin_use_the_service(
    team: Team, service: ServiceProcess
) -> None:
    """Notes of the workspace stay on the machine; the doctor says if the service refuses the token."""
    named = team.named(service.url)
    async with team.client("mcp", "all", *named) as client:
        stored = await ask(client, "memory_store_fact", **FACT)
        await ask(client, "workspace_memory_store", text="The staging port is 5433")
        tools = {tool.name for tool in await client.list_tools()}
        found = await ask(client, "memory_search", query=PROMPT)
        briefing = await read(client, "commonplace://briefing?prompt=staging")
    made = team.machine("admin", "plugin", "market", *named)
    team.session("Move staging to port 5434")
    machine = Settings(home=team.machine.home)
    answers = await check_service(machine)
    team.token_file.write_text("no-token\n")

    assert [(each["id"], each["scope"]) for each in found["results"]] == [(stored["id"], BUTLER)]
    assert "memory_review" not in tools, "no queue spans the service and this machine"
    assert FACT["content"] in briefing
    assert "5433" in team.machine("workspace", "search", "staging").out
    assert made.status == 0, made.err
    plugin = team.machine.directory / "market" / "commonplace"
    servers = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    assert servers["commonplace"]["args"][-6:] == ["--butler", BUTLER, *named[:4]]
    assert service.url in (plugin / "hooks" / "hooks.json").read_text()
    assert answers == f"{service.url} answers"
    with pytest.raises(StorageUnavailableError, match="refuses the token"):
        await check_service(machine)


async def test_a_call_says_that_the_service_is_down_and_works_when_it_is_back(
    team: Team, service: ServiceProcess
) -> None:
    """The server on standard input and output goes on."""
    async with team.client("mcp", "knowledge", *team.named(service.url)) as client:
        service.process.kill()
        service.process.wait()
        error = await refused(client, "memory_store_fact", **FACT)
        with team.serving(port_of(service)):
            stored = await ask(client, "memory_store_fact", **FACT)

    assert "cannot be reached" in error["message"]
    assert stored["id"]


@pytest.mark.requirement("ONE-05.3")
async def test_the_installed_tools_use_the_service_and_this_machine(
    team: Team, service: ServiceProcess
) -> None:
    """Facts are at the service, notes here; a search asks both, also while the service is down."""
    fact = {"kind": "fact", "subject": "staging", "predicate": "owner", "text": FACT["content"]}
    async with team.client() as client:
        added = await ask(client, "memory_add", **fact)
        note = await ask(client, "memory_add", kind="note", text="The infra team writes its runbooks here")
        both = await ask(client, "memory_search", query="infra team", types=None)
        edited = await ask(client, "memory_edit", memory_id=added["id"], text="The web team owns staging")
        undone = await ask(client, "memory_undo", memory_id=edited["undo"])
        block = await ask(client, "memory_context", trigger_prompt="infra team")
        missing = await refused(client, "memory_get", memory_id="f:zzzzz")
        recalled = str(await client.get_prompt("recall", {"topic": PROMPT}))
        service.process.kill()
        service.process.wait()
        down = await refused(client, "memory_add", **fact)
        offline = await ask(client, "memory_search", query="infra team")
        forgotten = await ask(client, "memory_forget", memory_id=note["id"])

    assert [each["id"] for each in both["results"]] == [added["id"], note["id"]]
    assert "about" not in both["results"][0], "the scope is that of the caller's butler"
    assert undone["text"] == f"staging owner: {FACT['content']}"
    assert all(FACT["content"] in text for text in (block, recalled))
    assert "no fact with id" in missing["message"]
    assert "cannot be reached" in down["message"]
    assert [each["id"] for each in offline["results"]] == [note["id"]]
    assert "cannot be reached" in offline["problems"][0]
    assert forgotten["done"] == "forgot"


def test_the_token_is_in_no_argument_log_or_settings_file(team: Team, service: ServiceProcess) -> None:
    """Settings name its file, which only its owner may read; a refused token is an error of the installation."""
    team.session("Move staging to port 5434")
    team.token_file.chmod(0o640)
    readable = team.install(service.url)
    team.token_file.chmod(0o600)
    team.token_file.write_text("cpl_" + "x" * 43)
    refused = team.install(service.url)
    queued = team.session("Move production to port 6543")

    assert readable.status == refused.status == 1
    assert f"run `chmod 600 {team.token_file}`" in readable.err
    assert f"refuses the token in {team.token_file}" in refused.err
    assert "refuses the token" in team.log
    assert len(list(team.outbox.glob("*.json"))) == 1, f"{queued} waits for a token"
    roots = (team.machine.home, team.machine.directory)
    files = [path for root in roots for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if team.token.encode() in path.read_bytes()]


def run_claude(directory: Path, environment: dict[str, str], prompt: str) -> None:
    """Run the CLI with a prompt to its end."""
    done = subprocess.run(
        ["claude", "-p", prompt, "--allowedTools", ALLOWED],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def told(request: Asked) -> str:
    """Everything that the model was told."""
    return json.dumps(request.body, ensure_ascii=False)


def test_a_session_of_the_real_cli_uses_the_service(team: Team, service: ServiceProcess) -> None:
    """The first request has the service's fact; a tool call and the episode arrive at the service."""
    store = "mcp__commonplace__memory_add"
    owner = {"kind": "fact", "subject": "staging", "predicate": "owner", "text": FACT["content"]}
    port = owner | {"predicate": "port", "text": "Staging listens on 5433"}
    with ModelApi(Calls(store, owner), Says("Noted."), Calls(store, port), Says("5433.")) as api:
        environment = (
            clean_environment(team.machine.home, **RESIDENT)
            | claude_environment(team.machine.home / "user", api.url)
            | {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000"}
        )
        for prompt in ("The infra team owns staging", PROMPT):
            run_claude(team.machine.directory, environment, prompt)
        first, last = api.asked[0], api.asked[2]
        assert team.log == ""
        end(team.machine.home)

    assert store in {tool["name"] for tool in first.body["tools"]}
    assert "[staging] [owner]: The infra team owns staging" in told(last)
    wait_until(lambda: len(team.episodes()) == 2, what="the episodes of both sessions")
    assert {each["butler"] for each in team.episodes()} == {BUTLER}
    assert service.process.poll() is None
