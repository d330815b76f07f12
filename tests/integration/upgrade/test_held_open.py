"""A home is upgraded while a service, an MCP server and a resident process of release 0.1.0 hold it open."""

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from support.commands import clean_environment
from support.deadlines import DEADLINE_S
from support.mcp import ask
from support.releases import ALONE, OLDEST, Installation, next_heads, workspace_of
from support.resident import PATIENT, RESIDENT, end, pid_of
from support.service import ServiceProcess, service_process

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NOTE = "The build needs Node 22"
STALE = "restart this service with that release"


def prompted(installation: Installation, home: Path) -> str:
    """Call the hook of a prompt as a host does, and return what the prompt gets."""
    call = {"session_id": str(uuid4()), "transcript_path": "/none", "cwd": str(workspace_of(home))}
    document = json.dumps(call | {"prompt": "what does the build need?"}).encode()
    return installation.run(home, "hook", "user-prompt", stdin=document, variables=RESIDENT | PATIENT).out


@contextmanager
def resident_at_end(home: Path) -> Iterator[None]:
    """End the resident process of a home after the block."""
    try:
        yield
    finally:
        end(home)


async def post(service: ServiceProcess, path: str, **fields: str) -> None:
    """Store a memory through a service."""
    async with httpx2.AsyncClient(base_url=service.url, timeout=DEADLINE_S) as client:
        answer = await client.post(f"/api/v1/{path}", json=fields)
        assert answer.status_code == 201, answer.text


async def health_of(service: ServiceProcess) -> dict[str, str]:
    """Return the state of a service, and what it says about its release."""
    async with httpx2.AsyncClient(base_url=service.url, timeout=DEADLINE_S) as client:
        health = (await client.get("/healthz")).json()
        release = health["parts"]["release"]
        return {"status": health["status"], "version": health["version"], "detail": release["detail"]}


@pytest.mark.requirement("UPG-04.1")
async def test_service_and_mcp_server_keep_working(
    old: Installation, home: Path, releases: dict[str, Path]
) -> None:
    """They store on upgraded tables, and the service says that it must restart; then it is the new one."""
    environment = clean_environment(home, **ALONE)
    transport = StdioTransport(str(old.program), ["mcp", "knowledge"], env=environment, keep_alive=False)
    with service_process(home, program=old.program, **ALONE) as service:
        async with Client(transport) as mcp:
            await post(service, "knowledge/episodes", content="Stored before the upgrade", butler="ops")
            await ask(mcp, "memory_store_rule", content="Stored by MCP before the upgrade")

            old.replace(releases["next"])
            await asyncio.to_thread(old.do, home, "admin", "upgrade")

            await post(service, "knowledge/episodes", content="Stored after the upgrade", butler="ops")
            lesson = {"category": "timing", "observation": "Stored on upgraded tables"}
            await post(service, "operational/memories", **lesson)
            await ask(mcp, "memory_store_rule", content="Stored by MCP after the upgrade")
            health = await health_of(service)
        assert (health["status"], health["version"]) == ("degraded", OLDEST)
        assert f"{next_heads()['memory']}, {next_heads()['operational']}): {STALE}" in health["detail"]
        service.signal(signal.SIGTERM)
        assert service.ended()[0] == 0
    exported = await asyncio.to_thread(old.do, home, "export", str(home.with_name("all.jsonl")))
    assert exported.out.startswith("13 items in ")
    with service_process(home, program=old.program, **ALONE) as service:
        assert (await health_of(service))["detail"] == ""


@pytest.mark.requirement("UPG-04.2")
def test_the_resident_process_gives_up_its_place(
    old: Installation, home: Path, releases: dict[str, Path]
) -> None:
    """To one of the new release, at the next hook; every prompt gets its memories."""
    with resident_at_end(home):
        assert NOTE in prompted(old, home)
        former = pid_of(home)
        old.replace(releases["next"])
        old.do(home, "admin", "upgrade")
        assert NOTE in prompted(old, home)
        assert pid_of(home) not in {former, None}
