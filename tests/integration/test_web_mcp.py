"""MCP over HTTP as part of the service: both servers, with and without a token."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastmcp import Client

from commonplace.core.settings import Settings
from support.deadlines import DEADLINE_S
from support.mcp import ask
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
        assert (await rest.get("/api/v1/workspace/memories?query=staging")).json()["count"] == 1
        fact = (await rest.get(f"/api/v1/knowledge/memories/fact/{receipt['id']}")).json()
        assert fact["content"] == "It is 5433"
        (entry,) = (await rest.get("/api/v1/knowledge/events")).json()["events"]
        assert entry["actor"] == "web"


async def test_both_servers_offer_the_briefing(url: str) -> None:
    """As a resource, with what was stored by REST."""
    async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as rest:
        await rest.post("/api/v1/workspace/memories", json={"text": "The staging port is 5433"})
    for name in ("workspace", "knowledge"):
        async with Client(f"{url}/mcp/{name}") as client:
            (content,) = await client.read_resource("commonplace://briefing?prompt=staging%20port")
            assert "The staging port is 5433" in content.text


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
