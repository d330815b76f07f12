"""MCP over HTTP as part of the service: both servers, with and without a token."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest
from fastmcp import Client

from commonplace.core.settings import Settings
from commonplace.mcp.knowledge.server import TOOLS
from support.deadlines import DEADLINE_S
from support.mcp import ask, refused
from support.service import open_memories, serving


@pytest.fixture
async def url(settings: Settings, knowledge_url: str) -> AsyncIterator[str]:
    """A service on loopback without a login."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(there) as memories, serving(memories) as url:
        yield url


@pytest.mark.requirement("WSP-02.1", "WSP-05.1", "KNW-19.1")
async def test_both_servers_are_reached_at_their_paths(url: str) -> None:
    """With a slash at the end and without; what one client stores the next one finds, by REST too."""
    async with Client(f"{url}/mcp/workspace/") as first, Client(f"{url}/mcp/workspace") as second:
        assert (await ask(first, "memory_store", text="The staging port is 5433"))["ok"]
        assert (await ask(second, "memory_search", query="staging"))["count"] == 1
    async with Client(f"{url}/mcp/knowledge") as client:
        receipt = await ask(client, "memory_store_fact", subject="port", predicate="is", content="It is 5433")
        assert (await ask(client, "memory_recall", topic="port"))["count"] == 1
    async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as rest:
        assert (await rest.get("/api/v1/workspace/memories?query=staging")).json()["total"] == 1
        fact = (await rest.get(f"/api/v1/knowledge/memories/fact/{receipt['id']}")).json()
        assert fact["content"] == "It is 5433"
        (entry,) = (await rest.get("/api/v1/knowledge/events")).json()["events"]
        assert entry["actor"] == "web"


async def test_only_servers_that_clients_use_are_built(url: str) -> None:
    """By the first request, and once."""

    def built() -> list[str]:
        names = (task.get_name() for task in asyncio.all_tasks())
        return [name for name in names if name.startswith("MCP server")]

    assert built() == []
    for _ in range(2):
        async with Client(f"{url}/mcp/workspace") as client:
            await client.list_tools()
        assert built() == ["MCP server workspace"]


async def test_one_path_has_all_tools_under_distinct_names(url: str) -> None:
    """Each works on the memory that it names, as the caller of the request."""
    shown: dict[str, set[str]] = {}
    for name in ("workspace", "knowledge", "apps", "all"):
        async with Client(f"{url}/mcp/{name}") as client:
            shown[name] = {tool.name for tool in await client.list_tools()}
    of_workspace = {f"workspace_{tool}" for tool in shown["workspace"]}
    of_review = {"memory_review", "memory_decide"}
    assert shown["all"] == of_workspace | shown["knowledge"] | shown["apps"] | of_review
    async with Client(f"{url}/mcp/all") as client:
        assert (await ask(client, "workspace_memory_store", text="The staging port is 5433"))["ok"]
        await ask(client, "memory_store_fact", subject="port", predicate="is", content="It is 5434")
        assert (await ask(client, "workspace_memory_search", query="port"))["count"] == 1
        assert (await ask(client, "memory_search", query="port"))["count"] == 1
        (content,) = await client.read_resource("commonplace://briefing?prompt=port")
    assert "It is 5434" in str(content)
    async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as rest:
        (entry,) = (await rest.get("/api/v1/knowledge/events")).json()["events"]
        assert entry["actor"] == "web"


async def test_both_servers_offer_the_briefing(url: str) -> None:
    """As a resource, with what was stored by REST."""
    async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as rest:
        await rest.post("/api/v1/workspace/memories", json={"text": "The staging port is 5433"})
    for name in ("workspace", "knowledge"):
        async with Client(f"{url}/mcp/{name}") as client:
            (content,) = await client.read_resource("commonplace://briefing?prompt=staging%20port")
            assert "The staging port is 5433" in str(content)


@pytest.mark.requirement("FOL-04.6")
@pytest.mark.parametrize("name", ["agent", "knowledge"])
async def test_a_client_of_the_newest_protocol_needs_no_handshake(url: str, name: str) -> None:
    """Each request stands alone and names its protocol, in the headers as in the message."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=DEADLINE_S) as client:
        discovery, tool_list = [
            (
                await client.post(
                    f"/mcp/{name}",
                    headers={"mcp-method": method},
                    json={"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}},
                )
            ).json()["result"]
            for method in ("server/discover", "tools/list")
        ]
    assert "2026-07-28" in discovery["supportedVersions"]
    assert "logging" not in discovery["capabilities"]
    assert tool_list["tools"]


@pytest.mark.requirement("FOL-04.6")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_a_client_of_an_earlier_protocol_gets_its_handshake(url: str, version: str) -> None:
    """The server answers in the version that the client asks for."""
    headers = {"accept": "application/json, text/event-stream"}
    client_info = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client_info}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=DEADLINE_S) as client:
        answer = (await client.post("/mcp/knowledge", json=request)).json()["result"]
        tool_list = await client.post(
            "/mcp/knowledge",
            headers={"mcp-protocol-version": version},
            json={"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        )
    assert answer["protocolVersion"] == version
    assert "logging" not in answer["capabilities"]
    assert "memory_recall" in {tool["name"] for tool in tool_list.json()["result"]["tools"]}


@pytest.mark.requirement("KNW-19.1")
async def test_requests_stand_alone(url: str) -> None:
    """Without a session that only one process would know, so that any process may answer the next one."""
    headers = {"accept": "application/json, text/event-stream"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_stats", "arguments": {}},
    }
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=DEADLINE_S) as client:
        answers = await asyncio.gather(*(client.post("/mcp/knowledge/", json=call) for _ in range(8)))
    for answer in answers:
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers
        assert answer.json()["result"]["structuredContent"]["facts"]["active"] == 0


@pytest.mark.requirement("KNW-19.1", "KNW-19.2")
async def test_two_clients_share_a_server_over_http(url: str) -> None:
    """At once, on loopback: each finds what the other stored, and errors teach there too."""
    async with Client(f"{url}/mcp/knowledge") as first, Client(f"{url}/mcp/knowledge") as second:
        assert {tool.name for tool in await first.list_tools()} == {spec.run.__name__ for spec in TOOLS}
        stores = [
            ask(client, "memory_store_fact", subject=f"subject {number}", predicate="is", content="shared")
            for number in range(10)
            for client in (first, second)
        ]
        receipts = await asyncio.gather(*stores)
        assert len({receipt["id"] for receipt in receipts}) == 20
        assert sum("superseded_id" in receipt for receipt in receipts) == 10
        found = [await ask(client, "memory_search", query="shared", limit=50) for client in (first, second)]
        assert found[0]["count"] == 10
        assert {each["id"] for each in found[0]["results"]} == {each["id"] for each in found[1]["results"]}
        assert (await refused(second, "memory_get", memory_type="fact", memory_id=str(uuid4())))["hint"]
        result = await first.call_tool("memory_context", {"trigger_prompt": "shared", "butler": "ops"})
        assert result.structured_content is None


async def test_a_web_page_cannot_call_the_servers(url: str) -> None:
    """A browser that was led to loopback under another name, or from another site, is turned away."""
    port = int(url.rpartition(":")[2])
    for path in ("/mcp/knowledge/", "/mcp/workspace/"):
        for headers, expected in (
            ("Host: evil.example", b"421"),
            (f"Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example", b"403"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
            head = (
                f"POST {path} HTTP/1.1\r\n{headers}\r\nContent-Type: application/json\r\nConnection: close\r\n"
                f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            status = (await reader.readline()).split()[1]
            writer.close()
            await writer.wait_closed()
            assert status == expected


async def test_json_that_is_none_gets_an_answer_over_http(url: str) -> None:
    """Half characters, unbounded depth, NaN, garbage: a status, no traceback, and the server goes on."""
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    call = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_store_rule","arguments":%s}}'
    )
    bodies = [
        call % r'{"content": "half \ud83d"}',
        call % ('{"content": "x", "tags": ' + "[" * 5_000 + "]" * 5_000 + "}"),
        call % '{"content": NaN}',
        call % "[1, 2",
        "\x00",
        "[]",
    ]
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=DEADLINE_S) as web:
        for body in bodies:
            response = await web.post("/mcp/knowledge/", content=body.encode("utf-8", "surrogatepass"))
            answer = response.json()
            if response.status_code == 200:  # it is JSON to the reader, and no argument of the tool
                assert answer["result"]["isError"], body[:130]
            else:
                assert response.status_code == 400, body[:130]
                assert answer["error"]["message"], body[:130]
            assert "Traceback" not in response.text
        async with Client(f"{url}/mcp/knowledge") as client:
            assert (await ask(client, "memory_stats"))["rules"]["candidate"] == 0
