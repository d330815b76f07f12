"""The workspace MCP server, run as a process and asked by a real client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from commonplace.workspace import system_prompt_section
from support.commands import CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.effort import computed_s, computes_less

MOST_BESIDE_THE_LIBRARY = 2.0
MODULE = ("-m", "commonplace.mcp.workspace.server")
HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)


Connect = Callable[[Path, Path], Client[StdioTransport]]


@pytest.fixture
def client(command_server: CommandServer) -> Connect:
    """What makes a client that starts the server in a workspace; the server ends with it."""

    def connect(workspace: Path, log: Path) -> Client[StdioTransport]:
        program = str(command_server.program)
        environment = clean_environment(workspace / "home")
        return Client(
            StdioTransport(
                program,
                ["mcp", "workspace"],
                cwd=str(workspace),
                env=environment,
                keep_alive=False,
                log_file=log,
            )
        )

    return connect


async def ask(session: Client[StdioTransport], tool: str, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
    """Call a tool and return its JSON."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error
    return result.structured_content


async def test_a_server_below_the_top_of_a_repository_serves_its_notes(
    client: Connect, tmp_path: Path
) -> None:
    """Clients start servers where the person works, which may be any directory of the project."""
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    below = tmp_path / "api"
    below.mkdir()
    async with client(tmp_path, tmp_path / "log") as session:
        await ask(session, "memory_store", text="The staging port is 5433")
    async with client(below, tmp_path / "log") as session:
        assert (await ask(session, "memory_search", query="staging"))["count"] == 1


@pytest.mark.requirement("WSP-02", "WSP-05", "WSP-06", "WSP-12.1")
async def test_a_client_stores_searches_and_deletes(client: Connect, tmp_path: Path) -> None:
    """Tools with schemas and hints, the guidance as instructions, results as specified."""
    async with client(tmp_path, tmp_path / "log") as session:
        assert session.instructions == system_prompt_section()
        tools = {tool.name: tool for tool in await session.list_tools()}
        assert list(tools) == ["memory_store", "memory_search", "memory_delete"]
        assert tools["memory_store"].input_schema["required"] == ["text"]
        assert tools["memory_search"].annotations is not None
        assert tools["memory_search"].annotations.read_only_hint
        stored = await ask(session, "memory_store", text="Tabs over spaces", tags=["style"], scope="user")
        assert stored == {"ok": True, "id": "m-1"}
        found = await ask(session, "memory_search", query="TABS", tag="style")
        assert found["count"] == 1
        assert found["memories"][0]["text"] == "Tabs over spaces"
        assert await ask(session, "memory_delete", id="m-1") == {"ok": True}
        assert await ask(session, "memory_search") == {"count": 0, "memories": []}


@pytest.mark.requirement("WSP-02.2", "WSP-03.4", "R-WSP-6")
async def test_a_client_is_told_what_was_wrong(client: Connect, tmp_path: Path) -> None:
    """Bad input and secrets come back as results that the model can read, not as protocol errors."""
    async with client(tmp_path, tmp_path / "log") as session:
        assert await ask(session, "memory_store", text="key sk-abc123def") == {
            "ok": False,
            "error": "text appears to contain a secret — not stored",
        }
        assert "text: expected" in (await ask(session, "memory_store"))["error"]
        assert "text: expected" in (await ask(session, "memory_store", text=["no"]))["error"]
        assert "arguments: expected" in (await ask(session, "memory_search", q="tabs"))["error"]
        assert "no memory with id" in (await ask(session, "memory_delete", id="m-3"))["error"]
    assert not (tmp_path / ".aegis").exists()


@pytest.mark.requirement("WSP-11.1", "WSP-07.1")
async def test_two_clients_share_a_workspace(client: Connect, tmp_path: Path) -> None:
    """Two servers at once give each id once, and see each other's memories."""
    async with client(tmp_path, tmp_path / "a") as first, client(tmp_path, tmp_path / "b") as second:
        calls = [
            ask(session, "memory_store", text=f"{name} fact {n}")
            for n in range(10)
            for name, session in (("first", first), ("second", second))
        ]
        ids = [answer["id"] for answer in await asyncio.gather(*calls)]
        assert sorted(ids) == sorted(f"m-{n}" for n in range(1, 21))
        assert await ask(first, "memory_search") == await ask(second, "memory_search")


def start(workspace: Path, python: Path) -> subprocess.Popen[bytes]:
    """Start a server with its pipes in the hands of the test."""
    environment = {**os.environ, "COMMONPLACE_WORKSPACE": str(workspace)}
    pipe = subprocess.PIPE
    return subprocess.Popen([python, *MODULE], stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


@pytest.mark.requirement("WSP-02")
def test_the_server_answers_soon_speaks_only_protocol_and_ends_with_its_client(tmp_path: Path) -> None:
    """It computes little beside the protocol's library; standard output holds JSON alone; hanging up ends it.

    ``benchmarks/startup.py`` says how long a client waits for its handshake.
    """

    def computed_to_answer() -> float:
        with start(tmp_path, Path(sys.executable)) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(HANDSHAKE)
            server.stdin.flush()
            answer = server.stdout.readline()
            computed = computed_s(server.pid)
            rest, log = server.communicate(timeout=DEADLINE_S)
        assert answer.startswith(b'{"jsonrpc":"2.0","id":1,"result":')
        assert (rest, log, server.returncode) == (b"", b"", 0)
        return computed

    assert computes_less(computed_to_answer, than=MOST_BESIDE_THE_LIBRARY, imports=("fastmcp.server.server",))


def test_half_a_character_gets_an_answer(tmp_path: Path, command_server: CommandServer) -> None:
    """A model that cut an emoji in two stores its text; the client does not wait in vain."""
    call = (
        rb'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_store",'
        rb'"arguments":{"text":"half \ud83d"}}}'
    )
    with start(tmp_path, command_server.python) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HANDSHAKE)
        server.stdin.flush()
        server.stdout.readline()
        server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + call + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.communicate(timeout=DEADLINE_S)
    assert (answer["id"], answer["result"]["structuredContent"]) == (2, {"ok": True, "id": "m-1"})


@pytest.mark.requirement("WSP-02")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once(
    tmp_path: Path, number: signal.Signals, command_server: CommandServer
) -> None:
    """Also while it waits on its input; no server stays behind."""
    with start(tmp_path, command_server.python) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HANDSHAKE)
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(number)
        assert server.wait(timeout=DEADLINE_S) == -number


@pytest.mark.requirement("WSP-10.2")
def test_a_bad_configuration_is_one_line_of_error(tmp_path: Path, command_server: CommandServer) -> None:
    """The server does not start on settings that it would have to ignore."""
    (tmp_path / "agent.json").write_text('{"memory": {"inject_mode": "sometimes"}}')
    with start(tmp_path, command_server.python) as server:
        _, log = server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 1
    assert log.decode().startswith(f"error: {tmp_path / 'agent.json'}: memory.inject_mode: expected one of")
    assert log.count(b"\n") == 1
