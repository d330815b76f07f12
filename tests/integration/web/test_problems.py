"""What the service answers to requests that it cannot or will not do: always a problem, never a traceback."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from commonplace.apps.memory import AppMemory
from commonplace.core.settings import Settings
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.embedded import Membership
from commonplace.web.http.security import MAX_BODY_BYTES
from support.deadlines import DEADLINE_S
from support.postgres import fresh_database
from support.service import open_app_memory, open_memories, serving

MOMENT = "2026-01-01T00:00:00Z"
IMPORT = "/api/v1/apps/calendar/import"


@pytest.fixture
async def memory(database: Settings) -> AsyncIterator[AppMemory]:
    """App memory in an empty database, with the app ``calendar``."""
    async with open_app_memory(database) as memory:
        await memory.registry.register("calendar")
        yield memory


@pytest.fixture
async def client(memory: AppMemory) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service."""
    async with serving(memory) as url, httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
        yield client


def assert_problem(answer: httpx2.Response, status: int, kind: str) -> dict[str, object]:
    """Check that an answer is a problem of a kind, and return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["status"]) == (f"/docs#{kind}", status)
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.requirement("APP-10.1")
async def test_a_bad_parameter_is_named(client: httpx2.AsyncClient) -> None:
    """With what was expected and what came, in the words of the API."""
    for path, field in (
        ("/apps/calendar/memories?limit=0", "limit"),
        ("/apps/calendar/memories?limit=1001", "limit"),
        ("/apps/calendar/memories?offset=-1", "offset"),
        ("/apps/calendar/memories?offset=99999999999999999999", "offset"),
        ("/apps/calendar/memories?limit=1%27%20OR%201=1", "limit"),
        ("/api/v1/apps?limit=-5", "limit"),
        ("/api/v1/apps?status=broken", "status"),
        ("/api/v1/app-memory/digests?offset=x", "offset"),
        ("/api/v1/apps/calendar/search", "query"),
        ("/api/v1/apps/calendar/search?query=", "query"),
        ("/api/v1/apps/calendar/search?query=%00", "query"),
        ("/api/v1/apps/calendar/search?query=x&by=magic", "by"),
        ("/api/v1/apps/calendar/search?query=x&userId=a%00b", "userId"),
    ):
        problem = assert_problem(await client.get(path), 422, "invalid-input")
        assert problem["field"] == field
        assert problem["expected"]
        assert "got" in problem


FORMS_OF_PYTHON = re.compile(r"(?<!\w)'|\bNone\b|\bTrue\b|\bFalse\b|<class|[a-z]Error\b|\bdict\b|\bStr\b|b'")
"""Texts in single quotes, and names of values and types."""

QUERIES = ("", "?limit=x&offset=-1&type=no&since=never", "?unknown=1")
BODIES: tuple[object, ...] = (
    None,
    [],
    {"unknown": None, "content": 5, "text": None, "tags": "a b"},
    {"content": "a"},
)
"""Bodies of the wrong kind, for routes that take one."""


@pytest.mark.requirement("ONE-06.4")
async def test_no_problem_shows_a_form_of_the_programming_language(client: httpx2.AsyncClient) -> None:
    """Every route of the API, with parameters, ids and bodies of the wrong kind."""
    paths = (await client.get("/openapi.json")).json()["paths"]
    details: list[str] = []
    for path, methods in paths.items():
        where = re.sub(r"{[^}]*}", "no-such.id", path)
        for method, operation in methods.items():
            takes_body = "requestBody" in operation
            for query, body in (
                (query, body) for query in QUERIES for body in (BODIES if takes_body else [None])
            ):
                answer = await client.request(method.upper(), f"{where}{query}", json=body)
                if "problem+json" in answer.headers.get("content-type", ""):
                    problem = answer.json()
                    details += [str(problem.get(field) or "") for field in ("detail", "expected", "got")]
    assert len(details) > 1_000
    assert {text for text in details if FORMS_OF_PYTHON.search(text)} == set()


@pytest.mark.requirement("APP-10.4")
async def test_an_id_that_is_no_number_is_a_bad_parameter(client: httpx2.AsyncClient) -> None:
    """It cannot name a memory."""
    answer = await client.delete("/apps/calendar/memories/1%3B%20DROP%20TABLE%20apps")
    problem = assert_problem(answer, 422, "invalid-input")
    assert problem["field"] == "memoryId"


HOSTILE: tuple[dict[str, object], ...] = (
    {"content": "a\x00b'; DROP TABLE app_memories; --"},
    {"content": "half of an emoji: \ud83d"},
    {"content": "\x00"},
    {"content": " "},
    {"content": "x" * 100_000},
    {"userId": "a\x00b"},
    {"userId": "\ud83d"},
    {"userId": ""},
    {"sourceConversationId": "\x00"},
    {"sourceConversationId": "\udfff"},
    {"createdAt": "2026-01-01T00:00:00"},
    {"createdAt": 1e300},
    {"metadata": {"tags": ["\x00", "\ud83d"]}},
    {"metadata": {"\ud83d": "\x00"}},
    {"metadata": {"importance": float("nan"), "other": float("inf")}},
    {"metadata": {"importance": 10**400}},
    {"createdAt": "0001-01-01T00:00:00+14:00"},
    {"updatedAt": "9999-12-31T23:59:59-14:00"},
    {"metadata": []},
)
"""Fields of a memory in a document that some store, codec or arithmetic cannot take."""


@pytest.mark.requirement("APP-16.3")
async def test_no_document_breaks_the_service(client: httpx2.AsyncClient) -> None:
    """It is taken, or refused with a reason; and what was taken can be read."""
    answered: dict[str, int] = {}
    for changed in HOSTILE:
        document = {"memories": [{"content": "Fact.", "createdAt": MOMENT, "updatedAt": MOMENT} | changed]}
        body, headers = json.dumps(document).encode(), {"content-type": "application/json"}
        for answer in (
            await client.post(IMPORT, content=body, headers=headers),
            await client.get("/apps/calendar/memories"),
            await client.get("/api/v1/apps/calendar/export"),
        ):
            if answer.status_code not in {200, 422}:
                answered[f"{changed!r:.60} {answer.request.method}"] = answer.status_code
    assert answered == {}


@pytest.mark.requirement("APP-16.3")
async def test_a_body_that_is_no_json_is_refused(client: httpx2.AsyncClient) -> None:
    """Nor is one that a form of a web page elsewhere could send without asking first."""
    for body, kind in (
        (b"", "application/json"),
        (b"{", "application/json"),
        (b"\xff", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"memories": []}', "text/plain"),
    ):
        answer = await client.post(IMPORT, content=body, headers={"content-type": kind})
        assert answer.status_code in {400, 422}
        assert_problem(
            answer, answer.status_code, "refused" if answer.status_code == 400 else "invalid-input"
        )
    form = "application/x-www-form-urlencoded"
    assert_problem(await client.post(IMPORT, content=b"a=b", headers={"content-type": form}), 403, "forged")


async def test_a_body_that_is_too_large_is_refused(client: httpx2.AsyncClient) -> None:
    """By its stated length before it comes, and by what has come where none was stated."""
    stated = await client.post(IMPORT, content=b" " * (MAX_BODY_BYTES + 1))
    assert_problem(stated, 413, "too-large")

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 2**20 + 1):
            yield b" " * 2**20

    streamed = await client.post(IMPORT, content=pieces(), headers={"content-type": "application/json"})
    assert_problem(streamed, 413, "too-large")


@pytest.mark.requirement("APP-10.5")
async def test_a_request_for_another_host_is_refused(client: httpx2.AsyncClient) -> None:
    """A web page whose name resolves to this machine gets nothing, wherever it asks."""
    for host in ("evil.example", "evil.example:8420", "127.0.0.1.evil.example", "", "10.0.0.1", "[::2]:80"):
        for path in ("/apps/calendar/memories", "/healthz", "/nowhere"):
            assert_problem(await client.get(path, headers={"host": host}), 421, "foreign-host")


@pytest.mark.requirement("APP-10.5")
async def test_every_name_of_this_machine_is_served(client: httpx2.AsyncClient) -> None:
    """With a port and without."""
    for host in ("localhost", "LOCALHOST:8420", "127.0.0.1", "[::1]:8420", "[::1]", "127.8.8.8"):
        assert (await client.get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.requirement("APP-10.5")
async def test_no_other_site_is_allowed_in(client: httpx2.AsyncClient) -> None:
    """A browser that asks whether a page elsewhere may delete is not told that it may."""
    asked = {"origin": "https://evil.example", "access-control-request-method": "DELETE"}
    answer = await client.options("/apps/calendar/memories", headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_unknown_paths_and_methods_are_problems_too(client: httpx2.AsyncClient) -> None:
    """404, and 405 with the methods that there are."""
    assert_problem(await client.get("/nowhere"), 404, "not-found")
    assert_problem(await client.get("/healthz/"), 404, "not-found")
    refused = await client.put("/apps/calendar/memories")
    assert_problem(refused, 405, "refused")
    assert refused.headers["allow"] == "DELETE, GET"


async def test_a_database_that_is_gone_is_unavailable(
    embedded_cluster: Membership, settings: Settings
) -> None:
    """Every route that needs it answers 503, and the health check too; metrics tell of all that is there."""
    async with fresh_database(embedded_cluster) as url:
        there = settings.model_copy(update={"database": url})
        async with (
            open_app_memory(there) as memory,
            serving(memory) as base,
            httpx2.AsyncClient(base_url=base, timeout=DEADLINE_S) as client,
        ):
            assert (await client.get("/healthz")).status_code == 200
            await _shut(embedded_cluster, url)
            for path in ("/apps/calendar/memories", "/api/v1/apps"):
                problem = assert_problem(await client.get(path), 503, "storage-unavailable")
                assert "password" not in str(problem["detail"])
            problem = assert_problem(await client.get("/healthz"), 503, "unhealthy")
            assert problem["detail"] == "down: apps"
            metrics = (await client.get("/metrics")).text
            assert 'commonplace_up{memory="apps"} 0.0' in metrics
            assert 'commonplace_up{memory="operational"} 1.0' in metrics


@pytest.mark.requirement("HRD-01.1")
async def test_an_outage_is_never_reported_as_success(settings: Settings) -> None:
    """An episode that cannot be stored is 503, and so is a block that cannot be read; both name a time to retry."""
    there = settings.model_copy(update={"postgres_url": f"postgresql://u:hunter2@/d?host={settings.home}"})
    async with (
        open_memories(there) as memories,
        serving(memories) as url,
        httpx2.AsyncClient(base_url=f"{url}/api/v1/knowledge", timeout=DEADLINE_S) as client,
    ):
        episode = {"content": "The port was moved.", "butler": "ops"}
        for answer in (
            await client.post("/episodes", json=episode),
            await client.get("/context?prompt=port&butler=ops"),
        ):
            assert_problem(answer, 503, "storage-unavailable")
            assert int(answer.headers["retry-after"]) > 0
            assert str(settings.home) not in answer.text
            assert "hunter2" not in answer.text


@pytest.mark.requirement("HRD-01.1")
async def test_an_embedded_server_that_does_not_start_is_an_outage(
    settings: Settings, tmp_path: Path
) -> None:
    """The answer is 503 without the directories of the machine; the log has them."""
    there = settings.model_copy(update={"home": tmp_path / "plain"})
    there.home.write_text("a file, where a directory is needed")
    async with open_memories(settings) as memories:
        broken = replace(
            memories, knowledge=KnowledgeMemory(KnowledgeDatabase(there), memories.knowledge.engine)
        )
        async with (
            serving(broken) as url,
            httpx2.AsyncClient(base_url=f"{url}/api/v1/knowledge", timeout=DEADLINE_S) as client,
        ):
            answer = await client.get("/stats")
            assert_problem(answer, 503, "storage-unavailable")
            assert str(tmp_path) not in answer.text


async def test_a_fault_tells_nothing_of_the_inside(settings: Settings) -> None:
    """A clock that fails: 500, and the details are in the log alone."""

    def broken() -> datetime:
        raise RuntimeError("hunter2")

    async with (
        open_app_memory(settings, clock=broken) as memory,
        serving(memory) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        answer = await client.post("/api/v1/apps", json={"appId": "calendar"})
        problem = assert_problem(answer, 500, "fault")
        assert problem["detail"] == "an unexpected error; the log of the service has the details"


async def _shut(cluster: Membership, url: str) -> None:
    """Let nobody into a database any more, and throw out who is in it."""
    admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database="postgres"))
    name = urlsplit(url).path.removeprefix("/")
    await admin.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
    await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
    await admin.close()
