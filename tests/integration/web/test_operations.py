"""What monitoring and people see of the service: health, metrics, documentation."""

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from commonplace.access import Tokens
from commonplace.apps.memory import AppMemory
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.web.http.problems import KINDS
from commonplace.web.service import create_app
from support.deadlines import DEADLINE_S
from support.service import open_app_memory, open_memories, serving, serving_app

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def memory(settings: Settings, clock: ManualClock) -> AsyncIterator[AppMemory]:
    """App memory in an empty database, with more energy than a test spends."""
    energy = EnergyPolicy(capacity=10_000.0)
    async with open_app_memory(settings, clock=clock, energy=energy) as memory:
        yield memory


@pytest.fixture
async def client(memory: AppMemory) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service."""
    async with serving(memory) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
        yield client


async def test_a_service_that_stops_fails_its_health_check(settings: Settings) -> None:
    """So load balancers turn away, while requests are still answered."""
    async with open_memories(settings) as memories, Tokens.open(settings) as tokens:
        app = create_app(memories, tokens=tokens, settings=settings)
        async with serving_app(app) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
            assert (await client.get("/healthz")).status_code == 200
            app.state.draining = True
            health = await client.get("/healthz")
            assert (health.status_code, health.json()["detail"]) == (503, "the service is stopping")
            assert (await client.get("/api/v1/workspace/memories")).status_code == 200


async def scrape(client: httpx2.AsyncClient) -> Mapping[tuple[str, ...], float]:
    """Read the metrics as Prometheus does: values by name and labels."""
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.mark.requirement("APP-12.1", "APP-12.2", "APP-12.3", "APP-12.4", "APP-12.5")
async def test_metrics_tell_how_app_memory_works(memory: AppMemory, client: httpx2.AsyncClient) -> None:
    """The five figures of the specification after twelve conversations of one app, of two that are known."""
    await memory.registry.register("calendar")
    await memory.registry.register("idle")
    for number in range(12):
        said = Message(
            role="user", content=f"User prefers option number {number} for the project of week {number}."
        )
        await memory.ingest("calendar", f"c-{number}", [said])
    await memory.focus.review("c-0")
    figures = await scrape(client)
    assert figures["commonplace_app_digests_made_total", "created"] == 12
    assert figures["commonplace_app_memories_created_last_hour",] == 12
    assert figures["commonplace_app_compactions_last_day_most",] == 2
    assert figures["commonplace_app_compactions_last_day_per_app",] == 2
    compactions = [value for key, value in figures.items() if key[0] == "commonplace_app_compactions_total"]
    assert sum(compactions) == 2
    assert figures["commonplace_app_memories",] == 10
    assert figures["commonplace_app_utilisation_ratio",] == 0.5
    assert figures["commonplace_app_injection_ratio",] == 1
    assert figures["commonplace_app_contexts_total", "with"] == 1
    spent = sum(figures["commonplace_app_energy_spent_total", kind] for kind in ("creation", "compaction"))
    assert 12 * 10 + 2 * 20 <= spent <= 12 * 15 + 2 * 30
    assert figures["commonplace_app_energy_level",] == pytest.approx(10_000 - spent, abs=0.1)


@pytest.mark.requirement("APP-12.1")
async def test_counters_only_grow(memory: AppMemory, client: httpx2.AsyncClient) -> None:
    """Scraping changes nothing, and a purge takes nothing back."""
    await memory.registry.register("calendar")
    await memory.ingest("calendar", "c-1", [Message(role="user", content="User prefers tea over coffee.")])
    first = await scrape(client)
    await memory.purge("calendar")
    second = await scrape(client)
    assert second["commonplace_app_memories",] == 0
    for key, value in first.items():
        if key[0].startswith("commonplace_app") and key[0].endswith("_total"):
            assert second[key] == value


async def test_metrics_tell_of_the_other_memories(
    settings: Settings, knowledge_url: str, clock: ManualClock
) -> None:
    """How much there is in each, and what somebody should look at."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(settings, clock=clock) as memories:
        await memories.operational.add(category="timing", service="caddy", observation="Takes 3s to reload")
        await memories.workspace.store("The database listens on port 5433")
        with memories.workspace.path.open("a", encoding="utf-8") as file:
            file.write("no JSON\n")
        await memories.knowledge.store_episode(content="The port was moved", butler="dev")
        await memories.knowledge.store_fact(subject="Ada", predicate="drinks", content="tea")
        async with serving(memories) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
            figures = await scrape(client)
    for expected in (
        {("commonplace_up", name): 1 for name in ("operational", "apps", "workspace", "knowledge")},
        {("commonplace_operational_memories", "active"): 1},
        {("commonplace_workspace_memories",): 1, ("commonplace_workspace_memories_capacity",): 500},
        {("commonplace_workspace_damaged_lines",): 1},
        {("commonplace_knowledge_memories", "facts", "active"): 1},
        {("commonplace_knowledge_episodes_pending",): 1, ("commonplace_knowledge_episodes_failed",): 0},
        {("commonplace_knowledge_episodes_dead_letter",): 0},
    ):
        assert {key: figures[key] for key in expected} == expected


async def test_alerts_name_metrics_and_routes_that_exist(settings: Settings, knowledge_url: str) -> None:
    """A service with a replica serves every metric of the alerting rules and of the handbook."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url, "postgres_read_url": knowledge_url})
    async with open_memories(settings) as memories, Tokens.open(settings) as tokens:
        await memories.knowledge.lists.facts()
        app = create_app(memories, tokens=tokens, settings=settings)
        async with serving_app(app) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
            text = (await client.get("/metrics")).text
            routes = set((await client.get("/openapi.json")).json()["paths"])
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    of_histograms = {name + suffix for name in kinds for suffix in ("_bucket", "_count", "_sum")}
    groups = yaml.safe_load((ROOT / "packaging" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    rules = " ".join(rule["expr"] for group in groups for rule in group["rules"])
    pages = "".join(map(Path.read_text, (ROOT / "docs" / "operations").glob("*.md")))
    named = set(re.findall(r"commonplace_\w+", rules)) | set(re.findall(r"`(commonplace_\w+)`", pages))
    assert len(named) > 10
    assert named <= {*kinds, *of_histograms}
    assert set(re.findall(r'route="([^"]+)"', rules)) <= routes


@pytest.mark.requirement("APP-12.5")
async def test_metrics_tell_of_the_process(client: httpx2.AsyncClient) -> None:
    """Its memory, its open files and its Python."""
    figures = await scrape(client)
    assert figures["process_resident_memory_bytes",] > 10_000_000
    assert figures["process_open_fds",] > 0
    assert any(key[0] == "python_info" for key in figures)


async def test_health_is_found_out_by_reading(client: httpx2.AsyncClient) -> None:
    """The answer says of each part how it is and how long that took; what nobody asked for yet is starting."""
    answer = await client.get("/healthz")
    assert answer.status_code == 200
    health = answer.json()
    assert health["status"] == "starting"
    assert {name: part["status"] for name, part in health["parts"].items()} == {
        "operational": "ok",
        "apps": "ok",
        "workspace": "ok",
        "knowledge": "starting",
        "embedding model": "ok",
        "release": "ok",
    }
    assert health["parts"]["apps"]["ms"] > 0


@pytest.mark.requirement("ONE-06.2")
async def test_rest_doctor_and_overview_tell_the_same(
    settings: Settings, knowledge_url: str, clock: ManualClock
) -> None:
    """A token of another tenant reads only about its own episodes, and a session is told of what is urgent."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(there, clock=clock) as memories, Tokens.open(there) as tokens:
        await memories.knowledge.store_episode(content="Closed the shop", butler="shop")
        other = memories.knowledge.acting_for(tenant_id="other", actor="test")
        await other.store_episode(content="Opened the garden", butler="garden")
        await other.store_episode(content="Closed the garden", butler="garden")
        token = (await tokens.create(role="reader", tenant_id="other")).secret
        clock.advance(days=6)
        async with (
            serving(memories, tokens=tokens) as url,
            httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
        ):
            report = (await client.get("/api/v1/health")).json()
            page = (await client.get("/overview/health")).text
            theirs = await client.get("/api/v1/health", headers={"Authorization": f"Bearer {token}"})
    (warning,) = (each for each in report["warnings"] if each["code"] == "no-model")
    assert warning["severity"] == "urgent"
    assert warning["text"].startswith(
        "No language model is set, so 1 episode will be lost without becoming knowledge"
    )
    assert report["notice"] == f"Tell the user: {warning['text']} The command `{warning['command']}` helps."
    assert all(each["text"] in page and each["command"] in page for each in report["warnings"])
    assert "parts of the service work" not in page
    assert [each["text"][:45] for each in theirs.json()["warnings"]] == [
        "No language model is set, so 2 episodes will "
    ]


async def test_health_can_be_asked_for_without_its_words(client: httpx2.AsyncClient) -> None:
    """As `wget --spider` and `curl --head` do, by which containers are watched."""
    answer = await client.head("/healthz")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_every_operation_is_described(client: httpx2.AsyncClient) -> None:
    """Each has a name, a sentence and its answers; each parameter says what it is."""
    document = (await client.get("/openapi.json")).json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) > 50
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        done = [answer for status, answer in operation["responses"].items() if status < "300"]
        assert done
        assert all(answer["description"] != "Successful Response" for answer in done)
        for parameter in operation.get("parameters", []):
            assert parameter["description"], parameter
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"]
    for name, schema in document["components"]["schemas"].items():
        assert "description" in schema, name


async def test_the_documentation_needs_nothing_from_elsewhere(client: httpx2.AsyncClient) -> None:
    """One page with every operation and every problem; no script, and no address of another host."""
    opened = await client.get("/docs")
    assert opened.status_code == 200
    document = (await client.get("/openapi.json")).json()
    for path, operations in document["paths"].items():
        assert path in opened.text
        for operation in operations.values():
            assert f'id="{operation["operationId"]}"' in opened.text
    for kind in KINDS:
        assert f'id="{kind.name}"' in opened.text
    assert "<script" not in opened.text
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", opened.text)
    assert opened.headers["content-security-policy"].startswith("default-src 'none'")
