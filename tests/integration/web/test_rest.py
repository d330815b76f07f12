"""What operators ask of app memory over HTTP: apps, search, export and import, energy, statistics."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from support.deadlines import DEADLINE_S
from support.service import open_app_memory, serving

PREFERENCE = "User prefers meetings after 2 pm on weekdays, and never on Fridays."


@pytest.fixture
async def memory(database: Settings, clock: ManualClock) -> AsyncIterator[AppMemory]:
    """App memory in an empty database, with the app ``calendar``."""
    async with open_app_memory(database, clock=clock) as memory:
        await memory.registry.register("calendar", name="Calendar")
        yield memory


@pytest.fixture
async def client(memory: AppMemory) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service."""
    async with serving(memory) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
        yield client


async def digest(memory: AppMemory, conversation: str, said: str, *, user: str | None = None) -> None:
    """End a conversation of the app in which one thing was said."""
    messages = [Message(role="user", content=said)]
    await memory.ingest("calendar", conversation, messages, user_id=user)


@pytest.mark.requirement("APP-09.1")
async def test_apps_are_listed_a_page_at_a_time(memory: AppMemory, client: httpx2.AsyncClient) -> None:
    """By id, with their memories, uninstalled ones too unless another status is asked for."""
    await digest(memory, "c-1", PREFERENCE)
    await memory.registry.register("archive")
    await memory.registry.uninstall_app("archive")
    listed = (await client.get("/api/v1/apps")).json()
    assert [app["appId"] for app in listed["apps"]] == ["archive", "calendar"]
    assert listed["apps"][1] == {
        "appId": "calendar",
        "name": "Calendar",
        "status": "installed",
        "installedAt": "2026-03-01T12:00:00Z",
        "uninstalledAt": None,
        "memoryCount": 1,
    }
    first = (await client.get("/api/v1/apps?limit=1")).json()
    assert ([app["appId"] for app in first["apps"]], first["nextOffset"]) == (["archive"], 1)
    last = (await client.get("/api/v1/apps?limit=1&offset=1")).json()
    assert ([app["appId"] for app in last["apps"]], last["nextOffset"]) == (["calendar"], None)
    gone = (await client.get("/api/v1/apps?status=uninstalled")).json()
    assert [app["appId"] for app in gone["apps"]] == ["archive"]


@pytest.mark.requirement("APP-16.2", "APP-16.5", "APP-16.7")
@pytest.mark.parametrize("by", ["words", "meaning"])
async def test_memories_are_found(memory: AppMemory, client: httpx2.AsyncClient, by: str) -> None:
    """By words and by meaning, the best first; what a user said in private only for that user."""
    await digest(memory, "c-1", PREFERENCE)
    await digest(memory, "c-2", "User never eats meat and prefers fish.", user="ada")
    found = (await client.get("/api/v1/apps/calendar/search", params={"query": PREFERENCE, "by": by})).json()
    assert [hit["memory"]["sourceConversationId"] for hit in found["hits"]] == ["c-1"]
    assert found["hits"][0]["score"] > 0.9
    assert "meetings" in found["hits"][0]["words"]
    wanted = {"query": "User never eats meat and prefers fish.", "by": by, "userId": "ada"}
    own = (await client.get("/api/v1/apps/calendar/search", params=wanted)).json()
    assert own["hits"][0]["memory"]["userId"] == "ada"


@pytest.mark.requirement("APP-16.3")
async def test_an_export_can_be_imported(
    memory: AppMemory, client: httpx2.AsyncClient, clock: ManualClock
) -> None:
    """What comes out goes in elsewhere as it was; a second time it is known."""
    await digest(memory, "c-1", PREFERENCE)
    clock.advance(seconds=1.5)
    await digest(memory, "c-2", "User never eats meat and prefers fish.", user="ada")
    await memory.registry.register("planner")
    document = (await client.get("/api/v1/apps/calendar/export")).json()
    assert (document["format"], document["app"]["name"]) == ("commonplace-app-memories", "Calendar")
    taken = await client.post("/api/v1/apps/planner/import", json=document)
    assert taken.status_code == 200
    assert (len(taken.json()["added"]), taken.json()["knownCount"], taken.json()["refused"]) == (2, 0, [])
    again = (await client.post("/api/v1/apps/planner/import", json=document)).json()
    assert (again["added"], again["knownCount"]) == ([], 2)
    copied = (await client.get("/api/v1/apps/planner/export")).json()
    kept = ("content", "createdAt", "updatedAt", "sourceConversationId", "userId", "metadata")
    assert [[one[key] for key in kept] for one in copied["memories"]] == [
        [one[key] for key in kept] for one in document["memories"]
    ]


@pytest.mark.requirement("APP-16.3", "APP-03.4")
async def test_an_import_refuses_by_the_memory(memory: AppMemory, client: httpx2.AsyncClient) -> None:
    """A secret, and what finds no place, are named and refused; the others are added."""
    moment = "2026-01-01T00:00:00Z"
    texts = [*(f"Fact number {n}." for n in range(10)), "The key is sk-abcdefghij0123456789", "One too many."]
    document = {"memories": [{"content": text, "createdAt": moment, "updatedAt": moment} for text in texts]}
    receipt = (await client.post("/api/v1/apps/calendar/import", json=document)).json()
    assert len(receipt["added"]) == 10
    assert [refusal["index"] for refusal in receipt["refused"]] == [0, 10]
    assert "10 memories" in receipt["refused"][0]["reason"]
    assert "secret" in receipt["refused"][1]["reason"]
    assert len(await memory.list_memories("calendar")) == 10


@pytest.mark.requirement("APP-16.3")
async def test_an_import_of_something_else_names_the_fault(
    memory: AppMemory, client: httpx2.AsyncClient
) -> None:
    """Nothing is added."""
    good = {"content": "Fact.", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
    bad = good | {"createdAt": "yesterday"}
    answer = await client.post("/api/v1/apps/calendar/import", json={"memories": [good, bad]})
    assert answer.status_code == 422
    problem = answer.json()
    assert (problem["type"], problem["field"]) == ("/docs#invalid-input", "memories.1.createdAt")
    assert problem["got"] == '"yesterday"'
    unnamed = good | {"userId": "a\x00b"}
    problem = (await client.post("/api/v1/apps/calendar/import", json={"memories": [unnamed]})).json()
    assert (problem["field"], problem["expected"]) == ("memories.0.userId", "1 to 200 printable characters")
    assert await memory.list_memories("calendar") == []


@pytest.mark.requirement("APP-11.2", "APP-11.3")
async def test_low_energy_and_what_waits_for_it_can_be_seen(database: Settings, clock: ManualClock) -> None:
    """The digest that waits is listed until there is energy again."""
    policy = EnergyPolicy(capacity=100.0, refill_per_s=1.0)
    async with (
        open_app_memory(database, clock=clock, energy=policy) as memory,
        serving(memory) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        await memory.registry.register("calendar")
        await digest(memory, "c-1", PREFERENCE)
        await memory.energy.spend(80.0)
        await digest(memory, "c-2", "User never eats meat and prefers fish.")
        energy = (await client.get("/api/v1/app-memory/energy")).json()
        assert energy["low"]
        assert energy["waitSeconds"] > 0
        assert energy["spentLastDay"]["host"] == 80.0
        assert 10 <= energy["spentLastDay"]["creation"] <= 15
        waiting = (await client.get("/api/v1/app-memory/digests")).json()
        assert waiting["digests"] == [
            {
                "appId": "calendar",
                "conversationId": "c-2",
                "state": "deferred",
                "reason": "energy is low",
                "updatedAt": "2026-03-01T12:00:00Z",
            }
        ]
        assert (waiting["total"], waiting["nextOffset"]) == (1, None)
        clock.advance(seconds=60)
        await memory.digests.run_deferred()
        assert (await client.get("/api/v1/app-memory/digests")).json()["total"] == 0
        assert not (await client.get("/api/v1/app-memory/energy")).json()["low"]


@pytest.mark.requirement("APP-11.2")
async def test_energy_that_never_comes_back_has_no_waiting_time(
    settings: Settings, clock: ManualClock
) -> None:
    """JSON knows no infinity."""
    policy = EnergyPolicy(capacity=100.0, refill_per_s=0.0)
    async with (
        open_app_memory(settings, clock=clock, energy=policy) as memory,
        serving(memory) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        await memory.energy.spend(100.0)
        energy = (await client.get("/api/v1/app-memory/energy")).json()
        assert (energy["low"], energy["waitSeconds"]) == (True, None)


@pytest.mark.requirement("APP-16.4", "APP-12.1", "APP-12.3")
async def test_statistics_show_how_memory_is_used(
    memory: AppMemory, client: httpx2.AsyncClient, clock: ManualClock
) -> None:
    """Apps, memories, those that are new, and the energy that they took."""
    await memory.registry.register("idle")
    await digest(memory, "c-1", PREFERENCE)
    clock.advance(seconds=timedelta(hours=2).total_seconds())
    await digest(memory, "c-2", "User never eats meat and prefers fish.")
    figures = (await client.get("/api/v1/app-memory/statistics")).json()
    assert (figures["apps"], figures["appsWithMemories"], figures["utilisation"]) == (2, 1, 0.5)
    assert (figures["memories"], figures["createdLastHour"], figures["createdLastDay"]) == (2, 1, 2)
    assert figures["fullest"] == {"calendar": 2}
    assert figures["digests"] == {"done": 2}
    assert 20 <= figures["energy"]["spentLastDay"]["creation"] <= 30


@pytest.mark.requirement("APP-16.5")
async def test_search_by_meaning_without_a_model_says_so(settings: Settings, clock: ManualClock) -> None:
    """503 names the cause; search by words goes on."""
    engine = EmbeddingEngine(EmbeddingOptions(model=str(settings.home / "nowhere")))
    async with (
        open_app_memory(settings, clock=clock, engine=engine) as memory,
        serving(memory) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        await memory.registry.register("calendar")
        moment = "2026-01-01T00:00:00Z"
        held = {"content": "Meetings are on Mondays.", "createdAt": moment, "updatedAt": moment}
        await memory.import_document("calendar", {"memories": [held]})
        answer = await client.get("/api/v1/apps/calendar/search?query=meetings&by=meaning")
        assert (answer.status_code, answer.json()["type"]) == (503, "/docs#model-unavailable")
        found = (await client.get("/api/v1/apps/calendar/search?query=meetings")).json()
        assert len(found["hits"]) == 1
