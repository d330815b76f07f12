"""Who may do what: every route and every tool, without a token, with too low a role, and of another tenant."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp import MCPError

from commonplace.access import Role
from commonplace.core.settings import Settings
from commonplace.mcp.access import ROLES, role_for
from support.mcp import ask, refused
from support.secured import STRANGER, Secured, secured

OPEN = {
    ("GET", "/login"),
    ("POST", "/login"),
    ("GET", "/healthz"),
    ("HEAD", "/healthz"),
    ("GET", "/docs.css"),
}
"""What nobody needs a token for."""

FRONT_PAGE = ("GET", "/")
"""Leads another tenant than the installation's to its knowledge."""

OF_ALL_TENANTS = (
    "/api/v1/knowledge",
    "/api/v1/know",
    "/api/v1/memories",
    "/api/v1/reviews",
    "/api/v1/sync/file",
    "/api/v1/health",
    "/knowledge",
    "/search",
    "/find",
    "/keys",
    "/show",
    "/compare",
    "/reviews",
    "/docs",
    "/openapi.json",
    "/logout",
)
"""What a tenant other than the installation's may reach; knowledge shows it its own rows only."""

READER_POSTS = {("POST", "/api/v1/briefing"), ("POST", "/logout")}
ADMIN_ONLY = {
    ("DELETE", "/apps/{appId}/memories"),
    ("POST", "/api/v1/apps/{appId}/import"),
    ("POST", "/api/v1/operational/decay"),
    ("POST", "/api/v1/knowledge/entities/{entityId}/merge"),
    ("POST", "/api/v1/knowledge/entities/{entityId}/unmerge"),
    ("POST", "/api/v1/knowledge/sweep"),
    ("POST", "/api/v1/knowledge/cleanup"),
    ("POST", "/api/v1/knowledge/consolidation/run"),
    ("POST", "/api/v1/knowledge/consolidation/runs/{runId}/undo"),
}
VALUES = {"memoryType": "fact", "appId": "calendar"}
OF_UUIDS = ("entityId", "ruleId", "runId")
DOCUMENT: dict[str, Any] = {}
"""The OpenAPI document, which each service would make anew, for a third of a second."""


@pytest.fixture
async def service(settings: Settings, knowledge_url: str) -> AsyncIterator[Secured]:
    """A service that asks for tokens, over empty memories."""
    async with secured(settings.model_copy(update={"postgres_url": knowledge_url})) as service:
        yield service


def operations(service: Secured) -> Iterator[tuple[str, str]]:
    """Yield method and path of every route, those of the dashboard too."""
    for route in iter_route_contexts(service.app.routes):
        for method in sorted(route.methods or ()):
            yield method, route.path or ""


def is_api(service: Secured, path: str) -> bool:
    """Tell whether a path is part of the documented API; the others are pages, whose forms ask for more to look at."""
    if not DOCUMENT:
        DOCUMENT.update(service.app.openapi())
    return path in DOCUMENT["paths"]


def filled(path: str) -> str:
    """Return a path with an id for each parameter, of something that is not there."""
    knowledge = path.startswith(("/api/v1/knowledge", "/knowledge"))
    parts: list[str] = []
    for part in path.split("/"):
        name = part[1:-1].partition(":")[0] if part.startswith("{") else None
        if name is None:
            parts.append(part)
        elif name in VALUES:
            parts.append(VALUES[name])
        else:
            parts.append(str(uuid4()) if knowledge or name in OF_UUIDS else "77")
    return "/".join(parts)


def role_of(method: str, path: str) -> Role:
    """Return what a route has to ask for: readers read, writers change, admins do the rest."""
    if (method, path) in ADMIN_ONLY:
        return Role.ADMIN
    if method in {"GET", "HEAD"} or (method, path) in READER_POSTS:
        return Role.READER
    return Role.WRITER


async def statuses(client: httpx2.AsyncClient, service: Secured) -> dict[tuple[str, str], int]:
    """Ask every route once, with nothing in the body, and return the statuses."""
    answers: dict[tuple[str, str], int] = {}
    for method, path in operations(service):
        body = None if method in {"GET", "HEAD", "DELETE"} else {}
        answer = await client.request(method, filled(path), json=body)
        answers[method, path] = answer.status_code
    return answers


@pytest.mark.requirement("APP-10.5")
async def test_every_route_needs_a_token(service: Secured) -> None:
    """Closed unless it is known to be for everybody; a path that is not there tells nothing either."""
    async with service.client() as client:
        answers = await statuses(client, service)
        assert len(answers) > 60
        assert {key for key, status in answers.items() if status != 401} == OPEN - {("POST", "/login")}
        for path in ("/nowhere", "/mcp/workspace/", "/mcp/knowledge/", "/mcp/knowledge", "/api/v1/../docs"):
            refused = await client.get(path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert (await client.get("/static/app.css")).status_code in {200, 404}


@pytest.mark.requirement("APP-10.5")
@pytest.mark.parametrize("role", list(Role))
async def test_every_route_asks_for_its_role(service: Secured, role: Role) -> None:
    """Who has it is let through to whatever comes behind, who has less is not."""
    async with service.client(role) as client:
        answers = await statuses(client, service)
    wrong = {
        key: status
        for key, status in answers.items()
        if is_api(service, key[1]) and key not in OPEN and (status == 403) is role.includes(role_of(*key))
    }
    assert wrong == {}
    refused = {key for key, status in answers.items() if status == 403 and not is_api(service, key[1])}
    changes = {key for key in answers if key[0] == "POST" and not is_api(service, key[1])}
    if role is Role.READER:
        assert refused >= changes - READER_POSTS - OPEN
    if role is Role.ADMIN:
        assert refused == set()
    assert 401 not in {status for key, status in answers.items() if key not in OPEN}
    assert not [key for key, status in answers.items() if status >= 500]


@pytest.mark.requirement("KNW-29.1")
async def test_another_tenant_reaches_its_own_knowledge_only(service: Secured) -> None:
    """Also as an admin: what belongs to the installation is refused, knowledge shows no row of others."""
    async with service.client(Role.WRITER) as ours, service.client(STRANGER) as theirs:
        fact = {"subject": "port", "predicate": "is", "content": "the port is 5433"}
        stored = (await ours.post("/api/v1/knowledge/facts", json=fact)).json()
        answers = await statuses(theirs, service)
        refused = {key for key, status in answers.items() if status == 403}
        closed = answers.keys() - OPEN - {FRONT_PAGE}
        expected = {key for key in closed if not key[1].startswith(OF_ALL_TENANTS)}
        assert refused >= expected
        assert not {path for _, path in refused - expected if is_api(service, path)}
        path = f"/api/v1/knowledge/memories/fact/{stored['id']}"
        assert (await ours.get(path)).json()["content"] == fact["content"]
        assert (await theirs.get(path)).status_code == 404
        assert (await theirs.delete(path)).status_code == 404
        assert (await theirs.post(f"{path}/confirm")).status_code == 404
        for found in ("search?query=port", "recall?topic=port"):
            assert (await theirs.get(f"/api/v1/knowledge/{found}")).json()["count"] == 0
        assert (await theirs.get("/api/v1/knowledge/stats")).json()["facts"]["active"] == 0
        events = (await ours.get("/api/v1/knowledge/events?eventType=fact_created")).json()["events"]
        assert [event["actor"] for event in events] == ["the writer"]
        theirs_too = (await theirs.get("/api/v1/knowledge/events?eventType=fact_created")).json()
        assert theirs_too["events"] == []


def connect(service: Secured, server: str, who: str) -> Client[StreamableHttpTransport]:
    """Return an MCP client with a token."""
    headers = {"Authorization": f"Bearer {service.issued[who].secret}"}
    return Client(StreamableHttpTransport(f"{service.url}/mcp/{server}/", headers=headers))


def test_no_tool_is_forgotten() -> None:
    """What nobody thought about takes an admin."""
    assert role_for("memory_made_up") is Role.ADMIN


@pytest.mark.requirement("KNW-19.1", "ONE-05.3")
@pytest.mark.parametrize("server", ["workspace", "knowledge", "all", "agent"])
async def test_every_tool_asks_for_its_role(service: Secured, server: str) -> None:
    """A role is shown the tools that it may use, and refused the others by name."""
    async with connect(service, server, Role.ADMIN) as client:
        tools = {tool.name for tool in await client.list_tools()}
    assert tools
    assert tools <= ROLES.keys()
    for role in Role:
        async with connect(service, server, role) as client:
            shown = {tool.name for tool in await client.list_tools()}
            assert shown == {tool for tool in tools if role.includes(role_for(tool))}
            for tool in tools - shown:
                refused = await client.call_tool(tool, {}, raise_on_error=False)
                assert refused.is_error
                assert f"requires the role {role_for(tool)}" in str(refused.content[0])


@pytest.mark.requirement("ONE-05.3", "KNW-29.1")
async def test_tools_for_agents_show_other_tenants_their_own_knowledge_only(service: Secured) -> None:
    """Other memories belong to the installation; an id of another tenant does not exist, and is not undone."""
    async with (
        connect(service, "agent", STRANGER) as theirs,
        connect(service, "agent", Role.WRITER) as ours,
        connect(service, "agent", Role.READER) as reader,
    ):
        fact = {"kind": "fact", "subject": "port", "predicate": "is", "text": "The port is 5433"}
        added = await ask(ours, "memory_add", **fact)
        note = await ask(ours, "memory_add", kind="note", text="The port is in the runbook")
        (await ask(theirs, "memory_add", **fact))["id"]
        found = await ask(theirs, "memory_search", query="port")
        for tool in ("memory_get", "memory_forget", "memory_undo"):
            error = await refused(theirs, tool, memory_id=added["id"])
            assert "no " in error["message"]
            error = await refused(theirs, tool, memory_id=note["id"])
            assert "belong to the installation" in error["message"]
        kind = await refused(theirs, "memory_add", kind="note", text="mine")
        block = await ask(theirs, "memory_context", trigger_prompt="port")
        shown = {tool.name for tool in await reader.list_tools()}
        read = await ask(reader, "memory_search", query="port")
    assert [each["text"] for each in found["results"]] == ["port is: The port is 5433"]
    assert found["results"][0]["id"] != added["id"]
    assert "belong to the installation" in kind["message"]
    assert "runbook" not in block
    assert shown == {"memory_search", "memory_get", "memory_context"}
    assert {each["id"] for each in read["results"]} == {added["id"], note["id"]}


@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
async def test_tools_work_for_the_tenant_of_the_token(service: Secured) -> None:
    """Each tenant finds its own, in the audit stream is the token's name, and the workspace is the installation's."""
    async with (
        connect(service, "knowledge", STRANGER) as theirs,
        connect(service, "knowledge", "writer") as ours,
    ):
        await ask(theirs, "memory_store_fact", subject="a", predicate="b", content="a secret of acme")
        assert (await ask(ours, "memory_search", query="secret of acme"))["count"] == 0
        assert (await ask(theirs, "memory_search", query="secret of acme"))["count"] == 1
    async with service.client(STRANGER) as client:
        (entry,) = (await client.get("/api/v1/knowledge/events")).json()["events"]
        assert entry["actor"] == STRANGER
        refused = await client.post("/mcp/workspace/", json={})
        assert (refused.status_code, refused.json()["type"]) == (403, "/docs#forbidden")


async def test_the_briefing_is_for_the_installation_only(service: Secured) -> None:
    """It shows memories that belong to no other tenant."""
    async with connect(service, "knowledge", "reader") as ours:
        assert await ours.read_resource("commonplace://briefing") is not None
    async with connect(service, "knowledge", STRANGER) as theirs:
        with pytest.raises(MCPError, match="belongs to the installation"):
            await theirs.read_resource("commonplace://briefing")


async def test_a_tenant_reads_its_own_sections_of_a_briefing(service: Secured) -> None:
    """Those of knowledge memory; the others belong to the installation."""
    fact = {"subject": "a", "predicate": "b", "content": "a secret of acme"}
    async with service.client(STRANGER) as client:
        await client.post("/api/v1/knowledge/facts", json=fact)
        own = await client.post("/api/v1/briefing", json={"sections": ["knowledge", "sessions"]})
        whole = await client.post("/api/v1/briefing", json={})
        more = await client.post("/api/v1/briefing", json={"sections": ["knowledge", "workspace"]})
    async with service.client("reader") as client:
        ours = await client.post("/api/v1/briefing", json={"sections": ["knowledge"]})

    assert [each["name"] for each in own.json()["sections"]] == ["knowledge"]
    assert "a secret of acme" in own.text
    assert (whole.status_code, more.status_code) == (403, 403)
    assert "a secret of acme" not in ours.text


@pytest.mark.requirement("APP-10.5")
async def test_refused_credentials_are_logged_and_counted(
    service: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong token and a failed login have a line with the address, never the secret, and a metric."""
    wrong = "cpl_" + "x" * 43
    async with service.client(Authorization=f"Bearer {wrong}") as client:
        assert (await client.get("/api/v1/apps")).status_code == 401
    async with service.client(Origin=service.url) as client:
        assert (await client.post("/login", data={"token": wrong})).status_code == 401
    async with service.client("admin") as client:
        metrics = (await client.get("/metrics")).text
    for credential in ("token", "login"):
        assert f'commonplace_refused_credentials_total{{credential="{credential}"}} 1.0' in metrics
        assert f"refused a {credential} from 127.0.0.1" in caplog.text
    assert wrong not in caplog.text
