"""The knowledge MCP server, run as a process: how soon it answers, and how it ends."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from commonplace.core.settings import Settings
from commonplace.storage.embedded import remove_cluster
from support.commands import COMMAND, CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.effort import computed_s, computes_less
from support.mcp import ask, refused

MOST_BESIDE_THE_LIBRARY = 2.0
SERVE = ["mcp", "knowledge"]
HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


Connect = Callable[..., Client[Any]]


@pytest.fixture
def client(command_server: CommandServer) -> Connect:
    """What makes a client that starts the server in a home; the server ends with it."""

    def connect(home: Path, log: Path, **variables: str) -> Client[Any]:
        environment = clean_environment(home, **variables)
        program = str(command_server.program)
        return Client(StdioTransport(program, SERVE, env=environment, keep_alive=False, log_file=log))

    return connect


def start(home: Path, program: Path = COMMAND, **variables: str) -> subprocess.Popen[bytes]:
    """Start a server with its pipes in the hands of the test."""
    pipe = subprocess.PIPE
    # Counting covered lines takes as long again as starting.
    uncounted = {
        name: value for name, value in clean_environment(home, **variables).items() if name[:3] != "COV"
    }
    return subprocess.Popen([program, *SERVE], stdin=pipe, stdout=pipe, stderr=pipe, env=uncounted)


@pytest.mark.parametrize(
    ("variables", "mode"), [({}, "contextual"), ({"COMMONPLACE_SEARCH_MODE": "keyword"}, "keyword")]
)
async def test_an_installed_client_searches_by_the_configured_mode(
    client: Connect, knowledge_url: str, tmp_path: Path, variables: dict[str, str], mode: str
) -> None:
    """The best mode, unless the setting names another; the tool shows it as its default."""
    async with client(
        tmp_path, tmp_path / "log", COMMONPLACE_POSTGRES_URL=knowledge_url, **variables
    ) as opened:
        (tool,) = [each for each in await opened.list_tools() if each.name == "memory_search"]
    assert tool.input_schema["properties"]["mode"]["default"] == mode


@pytest.mark.requirement("KNW-19.1", "KNW-19.2", "KNW-29.1")
async def test_two_clients_share_what_they_know(
    client: Connect, knowledge_url: str, tmp_path: Path, settings: Settings
) -> None:
    """Two servers at once on one database, with the real model; the process's settings and environment name it."""
    database = {"COMMONPLACE_POSTGRES_URL": knowledge_url}
    async with (
        client(settings.home, tmp_path / "a", **database) as first,
        client(settings.home, tmp_path / "b", **database) as second,
    ):
        await asyncio.gather(
            ask(
                first, "memory_store_fact", subject="staging", predicate="port", content="It listens on 5433"
            ),
            ask(second, "memory_store_fact", subject="staging", predicate="owner", content="The infra team"),
            ask(first, "memory_store_episode", content="The login page was slow all day", butler="web"),
        )
        for each in (first, second):
            found = await ask(
                each, "memory_search", query="performance of signing in", mode="semantic", limit=1
            )
            assert found["results"][0]["content"] == "The login page was slow all day"
            assert "5433" in await ask(each, "memory_context", trigger_prompt="staging port", butler="web")
        assert (await refused(second, "memory_get", memory_type="fact", memory_id="1"))[
            "field"
        ] == "memory_id"
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == ""


async def test_a_server_of_its_own_home_needs_nothing(client: Connect, tmp_path: Path) -> None:
    """The first call waits for a database that is made meanwhile; the next server finds what was stored."""
    home = tmp_path / "home"
    async with client(home, tmp_path / "log") as session:
        assert (await ask(session, "memory_stats"))["facts"]["active"] == 0
        await ask(session, "memory_store_fact", subject="a", predicate="b", content="kept")
    async with client(home, tmp_path / "log") as session:
        assert (await ask(session, "memory_search", query="kept"))["count"] == 1
    remove_cluster(home / "postgres")


def test_the_server_answers_soon_speaks_only_protocol_and_ends_with_its_client(
    knowledge_url: str, tmp_path: Path
) -> None:
    """Database and model come after the handshake; hanging up ends it while they start.

    On a machine that does nothing else, what it computes until then is all that the client waits for;
    ``benchmarks/startup.py`` says how long that is.
    """

    def computed_to_answer() -> float:
        with start(tmp_path, COMMONPLACE_POSTGRES_URL=knowledge_url) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(HANDSHAKE)
            server.stdin.flush()
            answer = server.stdout.readline()
            computed = computed_s(server.pid)
            server.stdin.write(INITIALIZED)
            server.stdin.flush()
            rest, log = server.communicate(timeout=DEADLINE_S)
        assert answer.startswith(b'{"jsonrpc":"2.0","id":1,"result":')
        assert (rest, log, server.returncode) == (b"", b"", 0)
        return computed

    assert computes_less(computed_to_answer, than=MOST_BESIDE_THE_LIBRARY, imports=("fastmcp.server.server",))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once(
    knowledge_url: str, tmp_path: Path, number: signal.Signals, command_server: CommandServer
) -> None:
    """Also while it opens the database and loads the model."""
    with start(tmp_path, command_server.program, COMMONPLACE_POSTGRES_URL=knowledge_url) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HANDSHAKE + INITIALIZED)
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(number)
        assert server.wait(timeout=DEADLINE_S) == -number


def test_a_bad_setting_is_one_line_of_error(tmp_path: Path, command_server: CommandServer) -> None:
    """The server does not start on settings that it would have to ignore."""
    with start(tmp_path, command_server.program, COMMONPLACE_POSTGRES_URL="mysql://elsewhere") as server:
        _, log = server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 1
    assert log.decode().startswith("error: postgres_url")
    assert log.count(b"\n") == 1


def test_a_repository_cannot_say_where_memories_go(tmp_path: Path, command_server: CommandServer) -> None:
    """A commonplace.toml in the directory in which a client starts the server is not read."""
    (tmp_path / "commonplace.toml").write_text('postgres_url = "mysql://elsewhere"\n')
    with subprocess.Popen(
        [command_server.program, *SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=clean_environment(tmp_path / "home"),
    ) as server:
        answer, _ = server.communicate(HANDSHAKE, timeout=DEADLINE_S)
    assert (answer.startswith(b'{"jsonrpc"'), server.returncode) == (True, 0)


@pytest.mark.requirement("FOL-04.6")
def test_a_client_of_the_newest_protocol_needs_no_handshake(
    tmp_path: Path, command_server: CommandServer
) -> None:
    """It asks what the server can do; a level of logging, which this protocol deprecates, is not among it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}},
    ]
    with start(tmp_path, command_server.program) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in asked).encode())
        server.stdin.flush()
        answers = {
            each["id"]: each["result"] for each in (json.loads(server.stdout.readline()) for _ in asked)
        }
        server.communicate(timeout=DEADLINE_S)
    assert answers[1]["supportedVersions"] == ["2026-07-28"]
    assert "logging" not in answers[1]["capabilities"]
    assert "memory_search" in {tool["name"] for tool in answers[2]["tools"]}


@pytest.mark.requirement("FOL-04.2")
def test_what_is_no_protocol_is_refused(
    knowledge_url: str, tmp_path: Path, command_server: CommandServer
) -> None:
    """Broken JSON, half a character, an array a thousand deep, a batch, no id; the next call is answered."""
    broken = [
        b"{",
        b'{"jsonrpc":"2.0","id":7,"method":"x\\ud800"}',
        b"[" * 1000 + b"]" * 1000,
        b"\xff\xfe",
        b"null",
        b'[{"jsonrpc":"2.0","id":8,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    ]
    call = b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}\n'
    with start(tmp_path, command_server.program, COMMONPLACE_POSTGRES_URL=knowledge_url) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HANDSHAKE + INITIALIZED + b"\n".join(broken) + b"\n" + call)
        server.stdin.flush()
        answers = [server.stdout.readline()]
        while answers[-1] and b'"id":9' not in answers[-1]:
            answers.append(server.stdout.readline())
        server.communicate(timeout=DEADLINE_S)
    assert b"memory_search" in answers[-1]
    read = [json.loads(answer) for answer in answers]
    (handshake,) = [each["result"] for each in read if each["id"] == 1]
    assert "logging" not in handshake["capabilities"]
    assert len([each for each in read if each["id"] is None]) == len(broken) - 1
