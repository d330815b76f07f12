"""The tools of the MCP servers as clients see them: names, profiles, schemas, progress."""

import asyncio
import io
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pytest
from fastmcp import Client, FastMCP
from fastmcp.tools import Tool

from commonplace.apps import AppMemory
from commonplace.core.budgets import estimate_tokens
from commonplace.core.errors import InvalidInputError
from commonplace.core.parameter_groups import flat_parameters
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp import combined, review
from commonplace.mcp.agent import server as agent
from commonplace.mcp.agent import tools as agent_tools
from commonplace.mcp.agent.caller_memories import CallerMemories
from commonplace.mcp.apps import server as apps
from commonplace.mcp.knowledge import server as knowledge
from commonplace.mcp.protocol.profiles import View
from commonplace.mcp.protocol.refusals import LineRefusal
from commonplace.mcp.protocol.stdio import MessageLines, Wire
from commonplace.mcp.protocol.tool import MemoryTool, ToolSpec
from commonplace.mcp.workspace import server as workspace
from commonplace.services.review.queue import ReviewQueue
from commonplace.workspace import WorkspaceMemory
from support.agent_tools import MOST_TOKENS, MOST_TOOLS
from support.mcp import text

Two = tuple[KnowledgeMemory, WorkspaceMemory]


def tokens(shown: str) -> int:
    """Estimate tokens as words and marks: for schemas of tools 3 % over Claude's count, 7 % over GPT's."""
    return len(re.findall(r"\w+|[^\w\s]+", shown))


async def no_memory() -> AppMemory:
    """Open nothing, because these tests call no tool."""
    raise AssertionError


async def no_memories() -> CallerMemories:
    """Open nothing, because these tests call no tool."""
    raise AssertionError


async def no_queue() -> ReviewQueue:
    """Open nothing, because these tests call no tool."""
    raise AssertionError


@pytest.fixture
async def memories(tmp_path: Path) -> AsyncIterator[Two]:
    """Two memories; the first opens no database until it is used."""
    settings = Settings(home=tmp_path, workspace=tmp_path)
    async with (
        KnowledgeMemory.open(settings, lazy=True) as facts,
        WorkspaceMemory.open(settings) as notes,
    ):
        yield facts, notes


async def tools_of(server: FastMCP) -> dict[str, Tool]:
    """Return the tools by name."""
    listed = await server.list_tools()
    tools = {tool.name: tool for tool in listed}
    assert len(tools) == len(listed)
    return tools


async def test_all_servers_are_one_with_distinct_names(memories: Two) -> None:
    """The tools of the workspace have a prefix, and the instructions say so."""
    server = combined.build_server(*memories, no_memory, queue=no_queue)
    tools = await tools_of(server)
    assert len(tools) == len(knowledge.TOOLS) + 3 + len(apps.TOOLS) + len(review.TOOLS)
    assert {"memory_search", "workspace_memory_search", "conversation_end", "memory_review"} <= tools.keys()
    assert "Use workspace_memory_store when" in (server.instructions or "")
    assert "memory_recall with its topic" in (server.instructions or "")
    assert (server.name, server.version) == ("commonplace", version("commonplace"))


async def test_a_prefix_stands_before_every_name(memories: Two) -> None:
    """In the list and wherever a text mentions a tool, so that servers can be mounted beside each other."""
    facts, notes = memories
    for server, count in (
        (knowledge.build_server(facts, view=View(prefix="brain")), 19),
        (workspace.build_server(notes, view=View(prefix="brain")), 3),
        (apps.build_server(no_memory, view=View(prefix="brain")), 6),
    ):
        tools = await tools_of(server)
        assert len(tools) == count
        shown = [
            server.instructions or "",
            *(f"{tool.description} {tool.parameters}" for tool in tools.values()),
        ]
        for name in tools:
            assert name.startswith("brain_")
            assert not re.search(rf"\b{name.removeprefix('brain_')}\b", " ".join(shown))
    with pytest.raises(InvalidInputError, match="prefix: expected a letter, then"):
        View(prefix="my tools")


@pytest.mark.requirement("ONE-05.1")
@pytest.mark.parametrize("prefix", ["", "brain"])
async def test_an_agent_gets_few_tools_for_few_tokens(prefix: str) -> None:
    """Eight over all memories, in the form of the Messages API, with the instructions; bounds hold all the same."""
    server = agent.build_server(no_memories, View(butler="workspace-py5jnpk4", prefix=prefix))
    tools = await tools_of(server)
    assert len(tools) == MOST_TOOLS
    shown = [
        {
            "name": f"mcp__commonplace__{each.name}",
            "description": each.description,
            "input_schema": each.parameters,
        }
        for each in tools.values()
    ]
    text = json.dumps(shown, ensure_ascii=False) + (server.instructions or "")
    assert max(estimate_tokens(text), tokens(text), -(-len(text) // 4)) <= MOST_TOKENS
    assert all(each.description is not None and each.description.endswith(".") for each in tools.values())
    assert "null" not in text
    assert "workspace-py5jnpk4" in (server.instructions or "")
    result = await server.call_tool("brain_memory_get" if prefix else "memory_get", {"memory_id": ""})
    assert result.is_error


@pytest.mark.requirement("ONE-05.1")
def test_names_of_the_specification_keep_their_meaning() -> None:
    """Where both servers have a tool, it has the same effect, the same role, and the parameters that it requires."""
    specified = {spec.name: spec for spec in knowledge.TOOLS}
    same = {spec.name for spec in agent_tools.TOOLS} & specified.keys()
    assert same == {"memory_search", "memory_get", "memory_context", "memory_confirm", "memory_forget"}
    for spec in agent_tools.TOOLS:
        if spec.name in same:
            theirs = specified[spec.name]
            assert (spec.role, spec.destroys) == (theirs.role, theirs.destroys)
            needed = {each.name for each in flat_parameters(spec.run)[1:] if each.default is each.empty}
            assert needed <= {each.name for each in flat_parameters(theirs.run)}


async def test_every_answer_but_text_has_a_schema(memories: Two) -> None:
    """Of an object, which names its fields, and allows the refusal that every tool may answer with."""
    tools = await tools_of(combined.build_server(*memories, no_memory, queue=no_queue))
    for name, tool in tools.items():
        assert tool.annotations is not None
        if name in {"memory_context", "app_context"}:
            assert tool.output_schema is None
            continue
        schema = tool.output_schema
        assert schema is not None
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "Attributes:" not in str(schema), "docstrings for developers"
        refused = (
            {"ok": False, "error": "no"} if "workspace" in name else {"error": {"message": "no", "hint": "x"}}
        )
        jsonschema.validate(refused, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({}, schema)


async def test_a_long_call_reports_its_progress() -> None:
    """From its beginning, to clients that ask for it."""
    reported = asyncio.Event()

    async def dream(_memory: object) -> str:
        """Wait until the client has seen progress."""
        await reported.wait()
        return "done"

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (0, None, "Dream: 0 s")
        reported.set()

    async def memory() -> None:
        return None

    server = FastMCP("test")
    spec = ToolSpec(run=dream, title="Dream", is_long=True)
    server.add_tool(MemoryTool.make(spec, memory, names=View().names([spec]), hints={}))
    async with Client(server) as client:
        result = await client.call_tool("dream", {}, progress_handler=note)
    assert text(result) == "done"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (rb'"half \ud83d"', rb'"half \ufffd"'),
        (rb'"\uDE00 other half"', rb'"\ufffd other half"'),
        (rb'"whole \ud83d\ude00"', rb'"whole \ud83d\ude00"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"text \\ud83d"', rb'"text \\ud83d"'),
        (rb'"\\\ud83d \n \u00e9"', rb'"\\\ufffd \n \u00e9"'),
    ],
)
def test_half_a_character_becomes_a_whole_one(line: bytes, expected: bytes) -> None:
    """Everything else stays: pairs, escaped backslashes, other escapes, and the ends of lines."""
    refused: list[LineRefusal] = []
    line, expected = (b'{"jsonrpc":"2.0","method":%s}' % each for each in (line, expected))
    stream = MessageLines(io.BytesIO(line + b"\n" + line), refused.append)
    assert (stream.read1(), stream.read1(10), stream.read1()) == (expected + b"\n", expected, b"")
    assert refused == []


@pytest.mark.requirement("FOL-04.1")
@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        (b"{", LineRefusal(code=-32700, message="expected a message in JSON on one line")),
        (b"[" * 100_000, LineRefusal(code=-32700, message="expected a message in JSON on one line")),
        (
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
            LineRefusal(
                code=-32600,
                message="expected one message a line, got a batch of 1: send each on its own line",
            ),
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
            LineRefusal(
                code=-32600,
                message="expected an id that is a text or a whole number; a notification has none",
            ),
        ),
        (b'{"id":3,"method":"ping"}', LineRefusal(code=-32600, message='expected "jsonrpc": "2.0"', id=3)),
        (b'{"jsonrpc":"2.0","id":"a"}', LineRefusal(code=-32600, message="expected a method", id="a")),
        (
            b'{"jsonrpc":"2.0","id":2,"method":"ping","params":[1]}',
            LineRefusal(code=-32600, message="expected an object as params", id=2),
        ),
        (
            b'{"jsonrpc":"2.0","id":9,"method":5,"result":{}}',
            LineRefusal(code=-32600, message="expected a method", id=9),
        ),
        (b"7", LineRefusal(code=-32600, message="expected a message: a JSON object")),
    ],
)
def test_what_is_no_message_is_refused(line: bytes, refusal: LineRefusal) -> None:
    """And the next message is read; a byte order mark and an empty line do no harm."""
    refused: list[LineRefusal] = []
    message = b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n'
    lines = io.BytesIO(b"\n" + line + b"\n\xef\xbb\xbf" + message)
    assert MessageLines(lines, refused.append).read1() == message
    assert refused == [refusal]


def test_messages_on_the_wire_are_whole() -> None:
    """Refusals and answers of any length, from several threads."""
    reading, writing = os.pipe()
    wire = Wire(writing)
    long = b"x" * 200_000 + b"\n"
    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(wire.write, long) for _ in range(4)]
        done += [threads.submit(wire.refuse, LineRefusal(code=1, message="no")) for _ in range(40)]
        with os.fdopen(reading, "rb") as file:
            lines = [file.readline() for _ in done]
    os.close(writing)
    assert Counter(map(len, lines))[len(long)] == 4
    assert {line for line in lines if len(line) < 100} == {
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}\n'
    }
