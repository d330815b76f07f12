"""Three services and two workers behind HAProxy, on one database behind PgBouncer."""

import asyncio
import itertools
import logging
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from commonplace.access import Role, Tokens
from commonplace.core.settings import Settings
from commonplace.storage.embedded import Membership
from support.deadlines import DEADLINE_S
from support.fleet import Fleet, haproxy, running_fleet
from support.pooler import pooled_url, pooler
from support.postgres import fresh_database
from support.workers import until

log = logging.getLogger(__name__)
pytestmark = pytest.mark.cluster

CLIENTS: Final = 4
KILLS: Final = 8
BETWEEN_KILLS_S: Final = 3.0
PAUSE_S: Final = 0.1
MOST_TRIES: Final = 60
RETRY_S: Final = 0.5
OK, CREATED, CONFLICT = 200, 201, 409
PATH: Final = "/api/v1/knowledge/episodes"


@dataclass(frozen=True, slots=True)
class Try:
    """One request: when it began and ended, and its status; 0 without an answer."""

    began: float
    ended: float
    status: int


@dataclass(slots=True)
class Load:
    """Clients that store episodes, and repeat what was not acknowledged under the same key."""

    client: httpx2.AsyncClient
    tries: list[Try] = field(default_factory=list[Try])
    acknowledged: list[str] = field(default_factory=list[str])
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, name: int) -> None:
        """Store and read one episode after the other until the load stops."""
        for number in itertools.count():
            if self.stopping.is_set():
                return
            await self._store(f"Message {number} of client {name}.")
            await self._request("GET", "/api/v1/knowledge/stats")
            await asyncio.sleep(PAUSE_S)

    async def _store(self, content: str) -> None:
        body = {"content": content, "butler": "b"}
        for _ in range(MOST_TRIES):
            answer = await self._request("POST", PATH, headers={"Idempotency-Key": content}, json=body)
            if answer is not None and (answer.status_code == CREATED or "answer-lost" in answer.text):
                self.acknowledged.append(content)
                return
            await asyncio.sleep(RETRY_S)
        raise AssertionError(f"{content!r} was never acknowledged: {self.tries[-5:]}")

    async def _request(self, method: str, path: str, **options: Any) -> httpx2.Response | None:  # noqa: ANN401
        began, answer = time.monotonic(), None
        with suppress(httpx2.TransportError):
            answer = await self.client.request(method, path, **options)
        self.tries.append(Try(began, time.monotonic(), answer.status_code if answer is not None else 0))
        return answer

    def failed(self) -> list[Try]:
        """Return the requests without an answer or with an error, but for the ones that were told to wait."""
        return [each for each in self.tries if each.status not in {OK, CREATED, CONFLICT}]


@pytest.fixture
async def url(embedded_cluster: Membership, knowledge_template: str) -> AsyncIterator[str]:
    """The URL of an empty database behind PgBouncer, which pools by transaction."""
    async with fresh_database(embedded_cluster, template=knowledge_template) as direct:
        with pooler(embedded_cluster.sockets, mode="transaction", size=12) as port:
            yield pooled_url(port, urlsplit(direct).path.lstrip("/"))


@pytest.fixture
async def fleet(url: str, tmp_path: Path) -> AsyncIterator[tuple[Fleet, Load]]:
    """A fleet behind HAProxy, and a load on it that begins with the test."""
    settings = Settings(home=tmp_path, database=url, postgres_url=url)
    async with Tokens.open(settings) as tokens:
        token = await tokens.create(role=Role.ADMIN, name="load")
    variables = {"COMMONPLACE_POSTGRES_URL": url, "COMMONPLACE_DATABASE": url}
    with running_fleet(tmp_path, variables) as running, haproxy(running.ports, tmp_path) as port:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {token.secret}"},
            timeout=DEADLINE_S,
        ) as client:
            for _ in range(2 * len(running.ports)):  # each service loads its model
                await until(lambda: _is_answered(client), what="a service answers")
            yield running, Load(client)


async def _is_answered(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/api/v1/knowledge/recall?topic=port")).status_code == OK


@asynccontextmanager
async def under(load: Load) -> AsyncIterator[None]:
    """Run a load during the block."""
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        for name in range(CLIENTS):
            group.create_task(load.run(name))
        yield
        load.stopping.set()


async def stored(url: str) -> Counter[str]:
    """Return how often each text was stored."""
    connection = await asyncpg.connect(url.partition("?")[0], statement_cache_size=0)
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
            return Counter(row[0] for row in await connection.fetch("SELECT content FROM episodes"))
    finally:
        await connection.close()


async def test_killed_processes_lose_nothing(fleet: tuple[Fleet, Load], url: str) -> None:
    """Every acknowledged episode is stored once; only requests that a killed process was answering fail."""
    running, load = fleet
    killed: list[tuple[float, float]] = []  # the kill, and the moment when the process was gone
    async with under(load):
        for name in itertools.islice(itertools.cycle(running.names), KILLS):
            await asyncio.sleep(BETWEEN_KILLS_S)
            began = time.monotonic()
            await asyncio.to_thread(running.end, name, signal.SIGKILL)
            killed.append((began, time.monotonic()))
            await asyncio.to_thread(running.start, name)
    found = await stored(url)
    failed = load.failed()
    log.warning(
        "%d acknowledged, %d requests, %d failed, %d kills",
        len(load.acknowledged),
        len(load.tries),
        len(failed),
        KILLS,
    )
    assert set(load.acknowledged) <= set(found)
    assert set(found.values()) == {1}
    for each in failed:
        assert any(each.began <= gone and kill <= each.ended for kill, gone in killed), (each, killed)


async def test_a_rolling_restart_fails_no_request(fleet: tuple[Fleet, Load], url: str) -> None:
    """Each process is told to stop; it answers what it has begun, and HAProxy turns to the others."""
    running, load = fleet
    async with under(load):
        for name in running.names:
            await asyncio.to_thread(running.end, name, signal.SIGTERM)
            await asyncio.to_thread(running.start, name)
    log.warning("%d acknowledged, %d requests", len(load.acknowledged), len(load.tries))
    assert {each.status for each in load.tries} == {OK, CREATED}
    assert set(await stored(url)) == set(load.acknowledged)
    assert {process.poll() for process in running.processes.values()} == {None}
