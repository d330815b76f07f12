"""Consolidation by the clock: a job for each butler of each tenant, and what its result says."""

import json
import math
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModelBudgetError, ModelRefusedError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.storage_functions import run_consolidation
from commonplace.knowledge.workers.status import worker_status
from commonplace.llm.scripted import Hang, Script
from support.consolidation import NOTHING
from support.workers import fetch, jobs, make_lively, memory_and_settings, until, working

ONLY_CONSOLIDATION = {"sweep_cron": "off", "cleanup_cron": "off"}
STATES = "SELECT array_agg(DISTINCT consolidation_status) FROM episodes"


@pytest.fixture(autouse=True)
def _lively(monkeypatch: pytest.MonkeyPatch) -> None:
    make_lively(monkeypatch)


async def store_episodes(memory: KnowledgeMemory, tenant: str, *butlers: str) -> None:
    """Store an episode of each butler."""
    for butler in butlers:
        acting = memory.acting_for(tenant_id=tenant, actor="tester")
        assert await acting.store_episode(content=f"what {butler} did", butler=butler)


@pytest.mark.requirement("KNW-12.2")
async def test_each_butler_of_each_tenant_is_consolidated_by_a_job_of_its_own(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Side by side, each under its own lock, and as the tenant's own."""
    script = Script(*[NOTHING] * 3)
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops", "mail")
        await store_episodes(memory, "tenant-b", "ops")
        async with working(memory, settings, model=script.model()):
            await until(lambda: _ended(pool, 3), what="three jobs")
        for tenant in ("tenant-a", "tenant-b"):
            assert await fetch(pool, tenant, STATES) == ["consolidated"]
        assert [job["result"]["episodes_consolidated"] for job in await _done(pool)] == [1, 1, 1]
        locks = (
            "SELECT array_agg(lock ORDER BY lock) FROM procrastinate.procrastinate_jobs WHERE task_name = $1"
        )
        assert await pool.fetchval(locks, "consolidation") == [
            "consolidation/tenant-a/mail",
            "consolidation/tenant-a/ops",
            "consolidation/tenant-b/ops",
        ]


async def test_without_a_language_model_the_result_says_so(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Nothing fails, nothing is tried again, and the episodes wait."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops")
        async with working(memory, settings):
            await until(lambda: _ended(pool, 1), what="the job")
        (done,) = await _done(pool)
        assert (done["result"]["episodes_pending"], done["result"]["episodes_consolidated"]) == (1, 0)
        assert "COMMONPLACE_MODEL" in done["result"]["note"]
        assert await fetch(pool, "tenant-a", STATES) == ["pending"]
        seen = await worker_status(memory, settings)
        assert (seen.jobs, seen.schedules[2].outcome) == ({"succeeded": 2}, "no model")


async def test_a_model_that_fails_is_a_failed_job_that_is_tried_again(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The operator sees why, in lines without a traceback; the other butler is done."""
    script = Script(ModelRefusedError("no such model"), NOTHING)
    only = ONLY_CONSOLIDATION | {"worker_concurrency": 1}
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **only) as (memory, settings):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "mail", "ops")
        async with working(memory, settings, model=script.model()):
            await until(lambda: _ended(pool, 2), what="both jobs")
        (failure,) = (await worker_status(memory, settings)).failures
        assert failure.arguments == {"tenant_id": "tenant-a", "butler": "mail"}
        assert "no such model" in failure.error
        (again,) = [job for job in await jobs(pool) if job["status"] == "todo"]
        assert (again["args"]["butler"], again["args"]["attempt"]) == ("mail", 0)
        assert await fetch(pool, "tenant-a", STATES) == ["consolidated", "failed"]
    said = [each for each in caplog.records if each.levelname == "ERROR"]
    assert len(said) == 2
    assert all("no such model" in each.getMessage() and not each.exc_info for each in said)


async def test_a_worker_that_stops_gives_the_episodes_back(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model that never answers does not keep it; the next worker asks again at once."""
    monkeypatch.setattr("commonplace.knowledge.workers.worker.GRACE_S", 0.1)
    hanging, answering = Script(Hang()), Script(NOTHING)
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops")
        async with working(memory, settings, model=hanging.model()):
            await until(lambda: _asked(hanging), what="a question")
        async with working(memory, settings, model=answering.model()):
            await until(lambda: _ended(pool, 1), what="the job that was handed back")
        assert await fetch(pool, "tenant-a", STATES) == ["consolidated"]


async def test_episodes_that_somebody_else_has_are_looked_at_again_later(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The lease of a worker that died has to end first."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops")

        async def spawner(prompt: str, *, trigger_source: str) -> str:
            del prompt, trigger_source
            async with working(memory, settings, model=Script().model()):
                await until(lambda: _ended(pool, 1), what="the job beside")
            return NOTHING

        async with memory.acting_for(tenant_id="tenant-a", actor="tester").session.acting():
            report = await run_consolidation(pool, engine, spawner, clock=clock)
        assert report.episodes_consolidated == 1
        (done,) = await _done(pool)
        assert (done["result"]["note"], done["result"]["again_in_s"]) == (
            "another process holds the oldest episodes",
            120.0,
        )
        assert [job["args"].get("attempt") for job in await jobs(pool) if job["status"] == "todo"] == [0]


async def test_an_outage_is_looked_at_again_for_as_long_as_it_lasts(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Every five minutes, twelve times, over a tick of the schedule, and never by two jobs; then it is done."""
    script = Script(*[ModelBudgetError(1, 1, "THE_SETTING")] * 12, NOTHING)
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops")

        async def one_job_waits() -> bool:
            seen = (await worker_status(memory, settings)).schedules[2]
            return (seen.outcome, seen.jobs) == ("running", {"todo": 1})

        async with working(memory, settings, model=script.model()):
            for turn in range(1, 13):
                await until(lambda: _ended(pool, turn), what=f"turn {turn}")  # noqa: B023 - awaited here
                assert await _next_in_s(pool) == 300
                if turn == 6:
                    clock.advance(hours=6)
                    await until(lambda: _waited_for(pool), what="the tick that finds a job waiting")
                    # The job of the tick ends a moment after it has found the other.
                    await until(one_job_waits, what="one job to wait")
                clock.advance(seconds=300)
                await _come_due(pool)
            await until(lambda: _ended(pool, 13), what="the answer")
        assert await fetch(pool, "tenant-a", STATES) == ["consolidated"]
        assert await fetch(pool, "tenant-a", "SELECT max(retry_count) FROM episodes") == 0


async def test_answers_that_cannot_be_read_are_tried_again_until_the_fifth(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """After 1, 2, 4 and 8 minutes; then the episodes are dead letters, and nothing waits any more."""
    script = Script(*["I have read them all."] * 5)
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_CONSOLIDATION) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "ops")
        async with working(memory, settings, model=script.model()):
            for turn, pause_s in enumerate((60, 120, 240, 480), 1):
                await until(lambda: _ended(pool, turn), what=f"attempt {turn}")  # noqa: B023 - awaited here
                assert await _next_in_s(pool) == pause_s
                clock.advance(seconds=pause_s)
                await _come_due(pool)
            await until(lambda: _ended(pool, 5), what="the last attempt")
            assert await fetch(pool, "tenant-a", STATES) == ["dead_letter"]
            await _next_in_s(pool)
            await _come_due(pool)
            await until(lambda: _ended(pool, 6), what="a look at those that came after")
        assert [job["task"] for job in await jobs(pool) if job["status"] == "todo"] == []


async def test_a_run_that_succeeded_when_it_was_tried_again_has_not_failed(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Of each butler the newest job counts: while it waits the run goes on, and what failed before is history."""
    # The first job fails, although the model is told its fault; the other one and the second attempt succeed.
    script = Script("I have read them all.", "I really have.", NOTHING, NOTHING)
    only = ONLY_CONSOLIDATION | {"worker_concurrency": 1}
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **only) as (memory, settings):
        pool = await memory.database.pool()
        await store_episodes(memory, "tenant-a", "mail", "ops")
        async with working(memory, settings, model=script.model()):
            await until(lambda: _ended(pool, 2), what="both jobs")
            await _next_in_s(pool)
            seen = (await worker_status(memory, settings)).schedules[2]
            assert (seen.outcome, seen.jobs) == ("running", {"todo": 1, "succeeded": 1})
            clock.advance(seconds=60)
            await _come_due(pool)
            await until(lambda: _ended(pool, 3), what="the second attempt")
        status = await worker_status(memory, settings.with_model("openai:scripted"))
        assert (status.schedules[2].outcome, status.schedules[2].jobs) == ("done", {"succeeded": 2})
        assert status.jobs["failed"] == 1


async def _next_in_s(pool: asyncpg.Pool) -> int:
    """Return when the one job that waits comes, in seconds after the last one ended."""
    await until(lambda: _waiting(pool), what="the next job")
    (waiting,) = await pool.fetch(
        "SELECT scheduled_at, now() AS now FROM procrastinate.procrastinate_jobs"
        " WHERE task_name = 'consolidation' AND status = 'todo'"
    )
    # What it took until it was looked at is less than ten seconds.
    return math.ceil((waiting["scheduled_at"] - waiting["now"]).total_seconds() / 10) * 10


async def _come_due(pool: asyncpg.Pool) -> None:
    """Let the job that waits be due now, and tell the worker, which is told of new ones only."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL search_path TO procrastinate, public")
        job_id = await connection.fetchval(
            "UPDATE procrastinate.procrastinate_jobs SET scheduled_at = now()"
            " WHERE task_name = 'consolidation' AND status = 'todo' RETURNING id"
        )
        told = json.dumps({"type": "job_inserted", "job_id": job_id})
        await connection.execute("SELECT pg_notify('procrastinate_any_queue_v1', $1)", told)


async def _waiting(pool: asyncpg.Pool) -> bool:
    return ("consolidation", "todo") in [(job["task"], job["status"]) for job in await jobs(pool)]


async def _waited_for(pool: asyncpg.Pool) -> bool:
    return {"jobs": 0, "already_waiting": 1} in [job["result"] for job in await jobs(pool)]


async def _done(pool: asyncpg.Pool) -> list[asyncpg.Record]:
    return [
        job for job in await jobs(pool) if job["task"] == "consolidation" and job["status"] == "succeeded"
    ]


async def _ended(pool: asyncpg.Pool, count: int) -> bool:
    """Tell whether so many jobs have ended; the queue is not there at first."""
    if not await pool.fetchval("SELECT to_regclass('procrastinate.job_outcomes') IS NOT NULL"):
        return False
    states = [job["status"] for job in await jobs(pool) if job["task"] == "consolidation"]
    return len([state for state in states if state in {"succeeded", "failed"}]) >= count


async def _asked(script: Script) -> bool:
    return len(script.requests) > 0
