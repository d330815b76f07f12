"""The admin API of app memory at the specification's paths, over a real connection, on each database."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from support.deadlines import DEADLINE_S
from support.service import open_app_memory, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A client of the service, and the memory behind it."""

    client: httpx2.AsyncClient
    memory: AppMemory


@pytest.fixture
async def service(database: Settings, clock: ManualClock) -> AsyncIterator[Service]:
    """The service over an empty database, with the apps ``calendar`` and ``notes``."""
    async with (
        open_app_memory(database, clock=clock) as memory,
        serving(memory) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        await memory.registry.register("calendar", name="Calendar")
        await memory.registry.register("notes")
        yield Service(client=client, memory=memory)


def memories(*contents: str, user: str | None = None) -> dict[str, Any]:
    """Return a document of memories, each a day younger than the one before."""
    return {
        "memories": [
            {
                "content": content,
                "createdAt": f"2025-10-{day:02}T14:30:00Z",
                "updatedAt": f"2025-10-{day:02}T14:30:00Z",
                "userId": user,
            }
            for day, content in enumerate(contents, start=1)
        ]
    }


@pytest.mark.requirement("APP-10.1")
async def test_memories_are_listed_in_the_specified_shape(service: Service) -> None:
    """An object with ``memories`` and nothing else; names in camel case; the newest first."""
    document = memories("Meetings after 2 pm.", "Lives in Oslo.")
    document["memories"][1] |= {
        "sourceConversationId": "c-1",
        "metadata": {"importance": 7, "tags": ["home"]},
    }
    await service.memory.import_document("calendar", document)
    answer = await service.client.get("/apps/calendar/memories")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "memories": [
            {
                "id": 2,
                "appId": "calendar",
                "content": "Lives in Oslo.",
                "createdAt": "2025-10-02T14:30:00Z",
                "updatedAt": "2025-10-02T14:30:00Z",
                "sourceConversationId": "c-1",
                "userId": None,
                "metadata": {"importance": 7.0, "tags": ["home"]},
                "flags": [],
            },
            {
                "id": 1,
                "appId": "calendar",
                "content": "Meetings after 2 pm.",
                "createdAt": "2025-10-01T14:30:00Z",
                "updatedAt": "2025-10-01T14:30:00Z",
                "sourceConversationId": None,
                "userId": None,
                "metadata": {},
                "flags": [],
            },
        ]
    }
    assert (await service.client.get("/apps/notes/memories")).json() == {"memories": []}


@pytest.mark.requirement("APP-10.1")
async def test_pages_hold_every_memory_once(service: Service) -> None:
    """Following ``nextOffset`` to its end gives what comes at once without paging, over the spaces of all users."""
    await service.memory.import_document("calendar", memories(*(f"Fact {n}." for n in range(5))))
    await service.memory.import_document("calendar", memories(*(f"Own {n}." for n in range(4)), user="ada"))
    together = (await service.client.get("/apps/calendar/memories")).json()["memories"]
    assert len(together) == 9
    offset: int | None = 0
    walked: list[Any] = []
    while offset is not None:
        page = (await service.client.get(f"/apps/calendar/memories?limit=4&offset={offset}")).json()
        assert (page["limit"], page["offset"], page["total"]) == (4, offset, 9)
        walked += page["memories"]
        offset = page["nextOffset"]
    assert walked == together
    beyond = (await service.client.get("/apps/calendar/memories?offset=100")).json()
    assert (beyond["memories"], beyond["nextOffset"], beyond["total"]) == ([], None, 9)


@pytest.mark.requirement("APP-10.2", "APP-08.1")
async def test_a_purge_deletes_all_memories_of_one_app(service: Service) -> None:
    """It says how many there were, a second one finds none, and the other app keeps its own."""
    await service.memory.import_document("calendar", memories("One.", "Two."))
    await service.memory.import_document("calendar", memories("Own.", user="ada"))
    await service.memory.import_document("notes", memories("Kept."))
    purged = await service.client.delete("/apps/calendar/memories")
    assert (purged.status_code, purged.json()) == (200, {"success": True, "deletedCount": 3})
    assert (await service.client.get("/apps/calendar/memories")).json() == {"memories": []}
    assert (await service.client.delete("/apps/calendar/memories")).json()["deletedCount"] == 0
    assert len((await service.client.get("/apps/notes/memories")).json()["memories"]) == 1


@pytest.mark.requirement("APP-10.3")
async def test_one_memory_is_deleted(service: Service) -> None:
    """The others stay, a second deletion finds nothing, and the history says who it was."""
    await service.memory.import_document("calendar", memories("One.", "Two."))
    deleted = await service.client.delete("/apps/calendar/memories/1")
    assert (deleted.status_code, deleted.json()) == (200, {"success": True})
    left = (await service.client.get("/apps/calendar/memories")).json()["memories"]
    assert [memory["id"] for memory in left] == [2]
    assert (await service.client.delete("/apps/calendar/memories/1")).status_code == 404
    assert [change.actor for change in await service.memory.history(1)] == ["operator", "web"]


@pytest.mark.requirement("APP-10.4", "APP-08.1")
async def test_a_memory_of_another_app_is_unknown(service: Service) -> None:
    """It is not deleted, and the answer does not tell that it is there."""
    await service.memory.import_document("notes", memories("Kept."))
    elsewhere = await service.client.delete("/apps/calendar/memories/1")
    nowhere = await service.client.delete("/apps/calendar/memories/2")
    assert elsewhere.status_code == nowhere.status_code == 404
    assert elsewhere.text.replace("id 1", "id 2") == nowhere.text
    assert len(await service.memory.list_memories("notes")) == 1


@pytest.mark.requirement("APP-10.4")
async def test_what_is_unknown_is_not_found(service: Service) -> None:
    """Whatever stands in the path: no app, no memory, 404 with a problem that says so."""
    for method, path in (
        ("GET", "/apps/nobody/memories"),
        ("GET", "/apps/nobody/memories?limit=1"),
        ("DELETE", "/apps/nobody/memories"),
        ("DELETE", "/apps/nobody/memories/1"),
        ("DELETE", "/apps/calendar/memories/0"),
        ("DELETE", "/apps/calendar/memories/-1"),
        ("DELETE", "/apps/calendar/memories/2147483648"),
        ("DELETE", "/apps/calendar/memories/9223372036854775808"),
        ("GET", "/apps/a%00b/memories"),
        ("DELETE", "/apps/calendar'%3B%20DROP%20TABLE%20app_memories%3B--/memories"),
        ("GET", "/apps/%ff%fe/memories"),
        ("GET", f"/apps/{'a' * 5000}/memories"),
        ("GET", "/api/v1/apps/nobody/search?query=x"),
        ("GET", "/api/v1/apps/nobody/export"),
    ):
        answer = await service.client.request(method, path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert (problem["type"], problem["status"]) == ("/docs#not-found", 404)
        assert problem["detail"].startswith(("no app with id", "no digest with id", "no memory with id"))
    assert len(await service.memory.registry.list()) == 2
