"""Workers that are killed, and what they leave behind."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.workers import outcomes
from commonplace.knowledge.workers.outcomes import take_back
from commonplace.knowledge.workers.status import worker_status
from support.commands import CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.workers import (
    fetch,
    held_fact,
    job_states,
    jobs,
    make_lively,
    memory_and_settings,
    prepared_queue,
    store,
    until,
    working,
)

ONLY_SWEEP = {"cleanup_cron": "off", "consolidation_cron": "off"}
START_S = 60
"""For a process of its own, which imports and connects before it does anything."""

LATER = "UPDATE procrastinate.procrastinate_workers SET last_heartbeat = last_heartbeat - interval '1 minute'"
AGED = "UPDATE facts SET last_confirmed_at = now() - interval '17 days'"
MISSED = """
UPDATE procrastinate_jobs SET status = 'doing', worker_id = workers.id
FROM procrastinate_workers AS workers WHERE task_name = 'sweep'
"""
AHEAD = """
WITH dead AS (
  INSERT INTO procrastinate.procrastinate_workers (last_heartbeat) VALUES (now() + interval '1 day') RETURNING id
)
UPDATE procrastinate.procrastinate_jobs SET worker_id = dead.id FROM dead WHERE procrastinate_jobs.id = $1
"""
JOB = """
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, attempts)
VALUES ('upkeep', 'sweep', 'sweep/a', 'sweep/a', '{"tenant_id": "a", "timestamp": 1}', $1, $2) RETURNING id
"""


@pytest.fixture(autouse=True)
def _lively(monkeypatch: pytest.MonkeyPatch) -> None:
    make_lively(monkeypatch)


class Process:
    """``commonplace worker`` as a process of its own."""

    def __init__(self, program: Path, url: str, home: Path, log: Path) -> None:
        environment = clean_environment(
            home,
            COMMONPLACE_POSTGRES_URL=url,
            COMMONPLACE_CLEANUP_CRON="off",
            COMMONPLACE_CONSOLIDATION_CRON="off",
        )
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [program, "worker"], env=environment, stdout=output, stderr=output, cwd=home
            )

    @property
    def said(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    async def end(self) -> int:
        """Wait for its end, and return its status."""
        return await asyncio.to_thread(self.process.wait, START_S)


@pytest.fixture
def one(knowledge_url: str, tmp_path: Path, command_server: CommandServer) -> Iterator[Process]:
    """A worker that works on the test's database."""
    started = Process(command_server.program, knowledge_url, tmp_path, tmp_path / "worker.log")
    yield started
    started.process.kill()
    started.process.wait()


async def test_the_job_of_a_worker_that_was_killed_is_taken_up_again(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, request: pytest.FixtureRequest
) -> None:
    """In the middle of a job, with SIGKILL; another worker does it, once it is known to be dead."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, utc_now, **ONLY_SWEEP) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        await fetch(pool, "tenant-a", AGED)
        async with held_fact(knowledge_url, "tenant-a"):
            killed: Process = request.getfixturevalue("one")
            await until(lambda: _doing(pool), what="a job under way", timeout_s=START_S)
            killed.process.send_signal(signal.SIGKILL)
            assert await killed.end() == -signal.SIGKILL
        async with working(memory, settings):
            assert await job_states(pool, "sweep") == [("sweep", "doing")]
            await pool.execute(LATER)
            await until(lambda: _succeeded(pool), what="the job of the dead worker")
            seen = await worker_status(memory, settings)
            assert [worker.alive for worker in seen.workers] == [False, True]
        assert await fetch(pool, "tenant-a", "SELECT metadata ->> 'status' FROM facts") == "fading"
        (done,) = [job for job in await jobs(pool) if job["task"] == "sweep"]
        assert done["attempts"] == 2


@pytest.mark.session  # the first worker does its job at once, as a notification tells it to
async def test_a_worker_ends_in_order_on_a_signal_and_at_once_on_the_second(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, one: Process, command_server: CommandServer
) -> None:
    """The first lets the job end; the second does not, and leaves it to others."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, utc_now, **ONLY_SWEEP) as (memory, _):
        pool = await memory.database.pool()
        await until(lambda: _said(one, "is running"), what="a worker", timeout_s=START_S)
        one.process.send_signal(signal.SIGTERM)
        assert await one.end() == 0
        assert await pool.fetchval("SELECT count(*) FROM procrastinate.procrastinate_workers") == 0
        await store(memory, "tenant-a")
        await fetch(pool, "tenant-a", AGED)
        await pool.execute("DELETE FROM procrastinate.procrastinate_periodic_defers")
        async with held_fact(knowledge_url, "tenant-a"):
            other = Process(command_server.program, knowledge_url, tmp_path, tmp_path / "other.log")
            await until(lambda: _doing(pool), what="a job under way", timeout_s=START_S)
            other.process.send_signal(signal.SIGINT)
            await until(lambda: _said(other, "a second signal stops"), what="a worker that stops")
            other.process.send_signal(signal.SIGTERM)
            assert await other.end() == -signal.SIGTERM
            assert await job_states(pool, "sweep") == [("sweep", "doing")]


@pytest.mark.parametrize(
    ("attempts", "successor", "becomes"),
    [(0, False, "todo"), (outcomes.MOST_ATTEMPTS - 1, False, "failed"), (0, True, "failed")],
    ids=["again", "too often", "another waits"],
)
async def test_what_becomes_of_the_job_of_a_dead_worker(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    attempts: int,
    *,
    successor: bool,
    becomes: str,
) -> None:
    """It is done again, unless it was tried too often, or its successor waits already."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock) as (memory, settings):
        pool = await prepared_queue(memory)
        await _make_job(pool, "doing", attempts)
        if successor:
            await _make_job(pool, "todo", 0)
        taken = await asyncio.gather(*(take_back(pool, worker_id=0, ended=[]) for _ in range(4)))
        assert sum(map(len, taken)) == 1
        first = (await jobs(pool))[0]
        assert (first["status"], first["attempts"]) == (becomes, attempts + 1)
        failures = (await worker_status(memory, settings)).failures
        assert [failure.error for failure in failures] == [outcomes.DIED] * (becomes == "failed")


async def test_a_worker_that_died_by_a_clock_that_was_ahead_is_dead(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Its last sign of life is a day from now: nobody waits until then for the job that it did."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock) as (memory, settings):
        pool = await prepared_queue(memory)
        job = await _make_job(pool, "doing", 0)
        await pool.execute(AHEAD, job)
        (seen,) = (await worker_status(memory, settings)).workers
        assert (seen.alive, seen.doing) == (False, 1)
        assert await take_back(pool, worker_id=0, ended=[]) == [job]


async def test_a_job_whose_end_could_not_be_written_down_is_done_again(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """The worker lives and no longer does it; the jobs that it still does are left alone."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock) as (memory, _):
        pool = await prepared_queue(memory)
        job = await _make_job(pool, "doing", 0)
        worker = await pool.fetchval(
            "INSERT INTO procrastinate.procrastinate_workers DEFAULT VALUES RETURNING id"
        )
        await pool.execute(
            "UPDATE procrastinate.procrastinate_jobs SET worker_id = $1", worker, timeout=DEADLINE_S
        )
        assert await take_back(pool, worker_id=worker, ended=[job + 1]) == []
        assert await take_back(pool, worker_id=worker + 1, ended=[job]) == []
        assert await take_back(pool, worker_id=worker, ended=[job]) == [job]
        assert await job_states(pool) == [("sweep", "todo")]


@pytest.mark.session  # the worker is woken by a notification
async def test_a_job_that_is_done_again_by_the_same_worker_is_left_to_it(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The queue missed its end once, and long ago: that does not count while it is under way again."""
    heard = "SELECT last_heartbeat FROM procrastinate.procrastinate_workers"
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **ONLY_SWEEP) as (
        memory,
        settings,
    ):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        async with working(memory, settings):
            await until(lambda: _succeeded(pool), what="a job")
            monkeypatch.setattr(outcomes, "SILENT_S", 0.05)
            await fetch(
                pool, "tenant-a", "UPDATE facts SET last_confirmed_at = $1", clock() - timedelta(days=17)
            )
            async with held_fact(knowledge_url, "tenant-a"):
                async with pool.acquire() as connection, connection.transaction():
                    await connection.execute("SET LOCAL search_path TO procrastinate")
                    await connection.execute(MISSED)
                await until(lambda: _done_again(pool), what="the same job once more")
                for _ in range(3):
                    before = await pool.fetchval(heard)
                    await until(lambda: _changed(pool, heard, before), what="a look at the queue")  # noqa: B023
                assert await _done_again(pool)
                monkeypatch.setattr(outcomes, "SILENT_S", 30.0)


async def test_old_jobs_go(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Those that are done after two days, failed ones after thirty; what waits stays."""
    off = ONLY_SWEEP | {"sweep_cron": "off"}
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **off) as (memory, settings):
        pool = await prepared_queue(memory)
        ages = [("succeeded", 1), ("succeeded", 3), ("failed", 29), ("failed", 31), ("aborted", 31)]
        for status, days in ages:
            job = await _make_job(pool, status, 1)
            event = (
                "INSERT INTO procrastinate.procrastinate_events (job_id, type, at) VALUES ($1, 'started', $2)"
            )
            await pool.execute(event, job, utc_now() - timedelta(days=days))
        async with working(memory, settings):
            assert await job_states(pool) == [("sweep", "succeeded"), ("sweep", "failed")]


async def _changed(pool: asyncpg.Pool, query: str, before: object) -> bool:
    return await pool.fetchval(query) != before


async def _make_job(pool: asyncpg.Pool, status: str, attempts: int) -> int:
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL search_path TO procrastinate")
        return await connection.fetchval(JOB, status, attempts)


async def _doing(pool: asyncpg.Pool) -> bool:
    there = await pool.fetchval("SELECT to_regclass('procrastinate.worker_details') IS NOT NULL")
    if not there or await job_states(pool, "sweep") != [("sweep", "doing")]:
        return False
    return {state for _, state in await job_states(pool, "sweep.all")} == {"succeeded"}


async def _done_again(pool: asyncpg.Pool) -> bool:
    """Return whether the job was taken back once, and is under way."""
    (job,) = [job for job in await jobs(pool) if job["task"] == "sweep"]
    return (job["status"], job["attempts"]) == ("doing", 2)


async def _succeeded(pool: asyncpg.Pool) -> bool:
    return await job_states(pool, "sweep") == [("sweep", "succeeded")]


async def _said(process: Process, words: str) -> bool:
    assert process.process.poll() is None, process.said
    return words in process.said
