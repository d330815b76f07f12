"""Workers for tests: with a clock that the test sets, on a test's own database, looked after every few milliseconds."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import Clock
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers import outcomes, worker
from commonplace.knowledge.workers.schema import prepare_schema
from commonplace.knowledge.workers.worker import Worker
from commonplace.llm.model import Model
from support.deadlines import DEADLINE_S

PATH = "SELECT set_config('search_path', 'procrastinate, ' || current_setting('search_path'), false)"


def make_lively(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers look after the queue, and come back from outages, at once."""
    monkeypatch.setattr(worker, "TEND_EVERY_S", 0.05)
    monkeypatch.setattr(worker, "BEGIN_AGAIN_S", 0.05)


async def prepared_queue(memory: KnowledgeMemory) -> asyncpg.Pool:
    """Make the tables of the queue beside those of the memory; return its pool."""
    await prepare_schema(await memory.database.access())
    return await memory.database.pool()


async def until(
    condition: Callable[[], Awaitable[object]], *, what: str, timeout_s: float = DEADLINE_S
) -> None:
    """Poll until a condition holds.

    Raises:
        AssertionError: It did not within ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while not await condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        await asyncio.sleep(0.01)


@asynccontextmanager
async def memory_and_settings(
    url: str,
    home: Path,
    engine: EmbeddingEngine,
    clock: Clock,
    **settings: Any,  # noqa: ANN401 - those of Settings
) -> AsyncIterator[tuple[KnowledgeMemory, Settings]]:
    """Open knowledge memory on a test's database, with settings for a worker."""
    chosen = Settings(home=home, workspace=home, postgres_url=url, **settings)
    async with KnowledgeMemory.open(chosen, engine=engine, clock=clock) as memory:
        yield memory, chosen


@asynccontextmanager
async def working(
    memory: KnowledgeMemory, settings: Settings, *, model: Model | None = None
) -> AsyncIterator[Worker]:
    """Let a worker work inside the block, from when it takes jobs; stop it in order at the end."""
    async with Worker.open(settings, knowledge=memory, model=model) as one:
        task = asyncio.create_task(one.run())
        try:
            await asyncio.wait_for(one.began.wait(), DEADLINE_S)
            yield one
        finally:
            one.stop()
            await asyncio.wait_for(task, DEADLINE_S + outcomes.SILENT_S)


async def jobs(pool: asyncpg.Pool) -> list[asyncpg.Record]:
    """Return every job: task, state, arguments, attempts and outcome, in the order in which they were made."""
    return await pool.fetch(
        """
        SELECT id, task_name AS task, status::text, args, attempts, worker_id, result, error
        FROM procrastinate.procrastinate_jobs AS jobs
        LEFT JOIN procrastinate.job_outcomes AS outcomes ON outcomes.job_id = jobs.id
        ORDER BY id
        """
    )


async def job_states(pool: asyncpg.Pool, *tasks: str) -> list[tuple[str, str]]:
    """Return task and state of every job, or of those of some tasks."""
    return [(job["task"], job["status"]) for job in await jobs(pool) if not tasks or job["task"] in tasks]


async def store(memory: KnowledgeMemory, tenant_id: str, **fact: str) -> str:
    """Store a fact of a tenant, and return its id."""
    described: dict[str, Any] = {
        "subject": "Ann",
        "predicate": "drinks",
        "content": "tea",
        "permanence": "ephemeral",
    } | fact
    receipt = await memory.acting_for(tenant_id=tenant_id, actor="tester").store_fact(**described)
    return str(receipt.id)


async def fetch(pool: asyncpg.Pool, tenant_id: str, query: str, *arguments: object) -> Any:  # noqa: ANN401 - whatever the query gives
    """Return one value, as a tenant sees it."""
    with request_context(tenant_id=tenant_id, actor="tester"):
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant_id)
            return await connection.fetchval(query, *arguments)


@asynccontextmanager
async def held_fact(url: str, tenant_id: str) -> AsyncIterator[asyncpg.Connection]:
    """Hold the rows of a tenant's facts, so that whoever would change them waits, until the block ends."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", tenant_id)
            await connection.execute("SELECT 1 FROM facts FOR UPDATE")
            yield connection
    finally:
        await connection.close()


async def note_tenant(pool: asyncpg.Pool, name: str) -> None:
    """Note a tenant, whatever it is called, as storing something for it would."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", name)
        await connection.execute("INSERT INTO tenants (tenant_id) VALUES ($1)", name)
