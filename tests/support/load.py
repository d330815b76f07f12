"""Load on a fleet: clients that store in three memories and repeat what was not acknowledged, under the same key."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg
import httpx2

from support.deadlines import DEADLINE_S
from support.fleet import Fleet
from support.workers import until

CLIENTS: Final = 4
PAUSE_S: Final = 0.1
RETRY_S: Final = 0.2
OK, CREATED, CONFLICT = 200, 201, 409

APP: Final = "/api/v1/apps"
CONVERSATION: Final = "load"
STATEMENTS: Final = {
    "knowledge": "SELECT content FROM episodes",
    "operational": "SELECT observation FROM memories",
    "apps": "SELECT content FROM messages",
}
"""The statement that returns the stored texts of each memory."""


@dataclass(frozen=True, slots=True)
class Try:
    """One request: when it began and ended, and its status; 0 without an answer."""

    began: float
    ended: float
    status: int


@dataclass(slots=True)
class Load:
    """Clients that store and read until the load stops.

    Attributes:
        acknowledged: The texts that each memory acknowledged.
        acknowledged_at: When the changes were acknowledged, by ``time.time()``.
    """

    client: httpx2.AsyncClient
    tries: list[Try] = field(default_factory=list[Try])
    acknowledged: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in STATEMENTS})
    acknowledged_at: list[float] = field(default_factory=list[float])
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def prepare(self) -> None:
        """Install the app and begin the conversation of the load."""
        for path, body in (
            (APP, {"app_id": "load"}),
            (f"{APP}/load/conversations", {"conversation_id": CONVERSATION}),
        ):
            (await self.client.post(path, json=body)).raise_for_status()

    async def run(self, name: int) -> None:
        """Store in each memory and read, again and again."""
        for number in itertools.count():
            if self.stopping.is_set():
                return
            text = f"Message {number} of client {name}."
            await self._store("knowledge", "/api/v1/knowledge/episodes", text, content=text, butler="b")
            await self._store(
                "operational", "/api/v1/operational/memories", text, category="timing", observation=text
            )
            said = [{"role": "user", "content": text}]
            await self._store(
                "apps", f"{APP}/load/conversations/{CONVERSATION}/messages", text, messages=said
            )
            await self._request("GET", "/api/v1/knowledge/stats")
            await asyncio.sleep(PAUSE_S)

    async def _store(self, memory: str, path: str, text: str, **body: object) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            answer = await self._request(
                "POST", path, headers={"Idempotency-Key": f"{memory}: {text}"}, json=body
            )
            if answer is not None and (answer.status_code in {OK, CREATED} or "answer-lost" in answer.text):
                self.acknowledged[memory].append(text)
                self.acknowledged_at.append(time.time())
                return
            await asyncio.sleep(RETRY_S)
        raise AssertionError(f"{text!r} was never acknowledged: {self.tries[-5:]}")

    async def _request(self, method: str, path: str, **options: Any) -> httpx2.Response | None:  # noqa: ANN401
        began, answer = time.monotonic(), None
        with suppress(httpx2.TransportError):
            answer = await self.client.request(method, path, **options)
        self.tries.append(Try(began, time.monotonic(), answer.status_code if answer is not None else 0))
        return answer

    def failed(self) -> list[Try]:
        """Return the requests without an answer or with an error, but for the ones that were told to wait."""
        return [each for each in self.tries if each.status not in {OK, CREATED, CONFLICT}]

    def count(self) -> int:
        """Return the number of acknowledged changes."""
        return len(self.acknowledged_at)


@asynccontextmanager
async def ready_load(fleet: Fleet, port: int, token: str) -> AsyncIterator[Load]:
    """Wait until each service of a fleet has loaded its model; yield a load that has not begun."""
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE_S
    ) as client:

        async def is_answered() -> bool:
            return (await client.get("/api/v1/knowledge/recall?topic=port")).status_code == OK

        for _ in range(2 * len(fleet.ports)):
            await until(is_answered, what="a service answers")
        load = Load(client)
        await load.prepare()
        yield load


@asynccontextmanager
async def under(load: Load) -> AsyncIterator[None]:
    """Run a load during the block."""
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        for name in range(CLIENTS):
            group.create_task(load.run(name))
        yield
        load.stopping.set()


async def stored(url: str) -> dict[str, Counter[str]]:
    """Return how often each memory stored each text."""
    return {
        name: Counter(row[0] for row in await rows(url, statement)) for name, statement in STATEMENTS.items()
    }


async def rows(url: str, statement: str, *arguments: object) -> list[asyncpg.Record]:
    """Return what the tenant ``default`` sees, also behind a pooler."""
    connection = await asyncpg.connect(url.partition("?")[0], statement_cache_size=0)
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
            return await connection.fetch(statement, *arguments)
    finally:
        await connection.close()
