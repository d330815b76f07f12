"""Background work by the clock: schedules, shards, locks, and what becomes of each job."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import httpx2
import procrastinate.utils
import pytest
from procrastinate import App

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.store.queue_work import queries
from commonplace.knowledge.workers import outcomes, worker
from commonplace.knowledge.workers.queue import open_queue
from commonplace.knowledge.workers.schedule import Schedule, Upkeep, start_due
from commonplace.knowledge.workers.schema import prepare_schema
from commonplace.knowledge.workers.status import worker_status
from commonplace.knowledge.workers.worker import in_process_worker
from commonplace.web.pages.layout.wording import iso
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving
from support.statements import prepare_set
from support.workers import (
    fetch,
    held_fact,
    job_states,
    jobs,
    make_lively,
    memory_and_settings,
    note_tenant,
    prepared_queue,
    store,
    until,
    working,
)

OFF = {"cleanup_cron": "off", "consolidation_cron": "off"}
PUT_OFF = "UPDATE procrastinate_jobs SET scheduled_at = now() + $1::interval WHERE status = 'todo'"
STATUS = "SELECT metadata ->> 'status' FROM facts"


@pytest.fixture(autouse=True)
def _lively(monkeypatch: pytest.MonkeyPatch) -> None:
    make_lively(monkeypatch)


async def schedule_once(memory: KnowledgeMemory, *wanted: Schedule) -> list[Upkeep]:
    """Set going what is due, as a worker does, without working."""
    access = await memory.database.access()
    await prepare_schema(access)
    async with open_queue(access, name="tester", concurrency=1, on_register=lambda _: None) as app:
        _register_nothing(app)
        return await start_due(app, await memory.database.pool(), wanted, memory.clock())


def _register_nothing(app: App) -> None:
    for upkeep in Upkeep:
        name = upkeep.fan_out
        app.task(name=name, queue="upkeep", lock=name, queueing_lock=name)(asyncio.sleep)


@pytest.mark.requirement("KNW-32.1", "KNW-09.3")
async def test_the_sweep_runs_for_every_tenant_when_its_cron_fires(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Facts of both tenants fade at three in the morning, and their audit trails name the worker."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        for tenant in ("tenant-a", "tenant-b"):
            await store(memory, tenant)
        # exp(-0.1 * 16) = 0.202, and 15 hours later 0.190
        clock.advance(days=16)
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep", 2), what="the sweep that was missed")
            assert await fetch(pool, "tenant-a", STATUS) is None
            clock.now = datetime(2026, 3, 18, 2, 59, 59, tzinfo=UTC)
            assert await schedule_once(memory, Schedule(upkeep=Upkeep.SWEEP, cron=settings.sweep_cron)) == []
            clock.advance(seconds=1)
            await until(lambda: _done(pool, "sweep", 4), what="the sweep of the night")
        for tenant in ("tenant-a", "tenant-b"):
            assert await fetch(pool, tenant, STATUS) == "fading"
            events = "SELECT array_agg(event_type) FROM memory_events WHERE actor = 'worker'"
            assert await fetch(pool, tenant, events) == ["fact_fading"]
        last = (await jobs(pool))[-1]
        assert last["result"]["facts_fading"] == 1


@pytest.mark.requirement("KNW-32.2", "KNW-15.1", "KNW-15.2", "KNW-15.3")
async def test_the_cleanup_runs_when_its_cron_fires(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Expired episodes go, and consolidated ones beyond the configured number; the result says how many."""
    only = {"sweep_cron": "off", "consolidation_cron": "off", "episode_max_entries": 1}
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **only) as (memory, settings):
        pool = await memory.database.pool()
        tenant = memory.acting_for(tenant_id="tenant-a", actor="tester")
        for number in range(4):
            await tenant.store_episode(content=f"turn {number}", butler="health")
        change = "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated'"
        await fetch(pool, "tenant-a", f"{change} WHERE content <> 'turn 0'")
        await fetch(
            pool, "tenant-a", "UPDATE episodes SET expires_at = $1 WHERE content = 'turn 0'", clock.now
        )
        clock.advance(hours=1)
        async with working(memory, settings):
            await until(lambda: _done(pool, "cleanup", 1), what="cleanup")
        done = (await jobs(pool))[-1]
        assert done["result"] == {
            "expired_deleted": 1,
            "expired_unconsolidated": 0,
            "capacity_deleted": 2,
            "remaining": 1,
            "passages_made": 0,
        }
        assert await fetch(pool, "tenant-a", "SELECT count(*) FROM episodes") == 1


async def test_what_was_missed_happens_once(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Three days without a worker are one run, and a restart right after is none."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        for _ in range(2):
            async with working(memory, settings):
                await until(lambda: _done(pool, "sweep.all", 1), what="the first run")
        assert len(await job_states(pool, "sweep.all")) == 1
        clock.advance(days=3)
        for _ in range(2):
            async with working(memory, settings):
                await until(lambda: _done(pool, "sweep.all", 2), what="the run that was missed")
        assert len(await job_states(pool, "sweep.all")) == 2


async def test_a_run_that_is_made_up_for_says_when_it_ran(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Not at the moment that it was for; while it waits, it has not run."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        nightly = Schedule(upkeep=Upkeep.SWEEP, cron="0 3 * * *")
        assert await schedule_once(memory, nightly) == [Upkeep.SWEEP]
        waiting = (await worker_status(memory, settings)).schedules[0]
        assert (waiting.last_at, waiting.ran_at) == (datetime(2026, 3, 1, 3, 0, tzinfo=UTC), None)
        before = await pool.fetchval("SELECT now()")
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep.all", 1), what="the run")
        ran = (await worker_status(memory, settings)).schedules[0]
        assert ran.last_at == waiting.last_at
        assert ran.ran_at is not None
        assert before <= ran.ran_at <= await pool.fetchval("SELECT now()")
    async with open_memories(settings) as memories, serving(memories) as url:
        page = (await asyncio.to_thread(httpx2.get, f"{url}/workers", timeout=DEADLINE_S)).text
    assert f'<time datetime="{iso(ran.ran_at)}"' in page
    assert "for 2026-03-01 03:00" in page


async def test_two_workers_do_not_double(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """They start together, and share the shards of one run between them."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        tenants = [f"tenant-{number}" for number in range(8)]
        for tenant in tenants:
            await store(memory, tenant)
        async with working(memory, settings), working(memory, settings):
            await until(lambda: _done(pool, "sweep", 8), what="all tenants")
            clock.advance(days=1)
            await until(lambda: _done(pool, "sweep", 16), what="all tenants once more")
            seen = await worker_status(memory, settings)
            assert [one.alive for one in seen.workers] == [True, True]
        made = await jobs(pool)
        assert [job["task"] for job in made].count("sweep.all") == 2
        swept = [job["args"]["tenant_id"] for job in made if job["task"] == "sweep"]
        assert sorted(swept) == sorted(tenants * 2)


async def test_runs_do_not_pile_up(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """While nobody works, ten ticks are one job in the queue, and the tick that waits is not lost."""
    hourly = Schedule(upkeep=Upkeep.SWEEP, cron="0 * * * *")
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        assert await schedule_once(memory, hourly) == [Upkeep.SWEEP]
        for _ in range(10):
            clock.advance(hours=1)
            assert await schedule_once(memory, hourly) == []
        assert await job_states(pool) == [("sweep.all", "todo")]
        seen = await worker_status(memory, settings)
        assert (seen.schedules[0].outcome, seen.schedules[0].jobs) == ("running", {"todo": 1})


@pytest.mark.parametrize(
    ("moved", "runs"),
    [(timedelta(days=400), 1), (timedelta(minutes=-30), 0), (timedelta(hours=-3), 1), (timedelta(), 0)],
    ids=["far ahead", "back a little", "back by hours", "not at all"],
)
async def test_a_clock_that_jumps(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    moved: timedelta,
    runs: int,
) -> None:
    """Forward: one run. Back by less than workers' clocks may differ: none; by more: the hours happen again."""
    hourly = Schedule(upkeep=Upkeep.SWEEP, cron="0 * * * *")
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await schedule_once(memory, hourly)
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep.all", 1), what="the first run")
        clock.now += moved
        for _ in range(3):
            await schedule_once(memory, hourly)
        assert len(await job_states(pool, "sweep.all")) == 1 + runs


async def test_a_schedule_is_switched_off_and_on_again(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Settings alone decide, at each start."""
    for cron, runs in (("off", 0), ("0 * * * *", 1), ("", 1), ("0 * * * *", 2)):
        clock.advance(days=1)
        chosen = OFF | {"sweep_cron": cron}
        async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **chosen) as (
            memory,
            settings,
        ):
            pool = await memory.database.pool()
            async with working(memory, settings):
                await until(lambda: _done(pool, "sweep.all", runs), what=f"{runs} runs")  # noqa: B023 - awaited here
            seen = await worker_status(memory, settings)
            assert (seen.schedules[0].cron is None) == (cron in {"off", ""})
            assert len(await job_states(pool, "sweep.all")) == runs


@pytest.mark.session
async def test_a_worker_that_stops_finishes_what_it_does(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A job that waits for a row ends well after the worker was told to stop."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        clock.advance(days=17)
        async with AsyncExitStack() as holding:
            held = await holding.enter_async_context(held_fact(knowledge_url, "tenant-a"))
            async with working(memory, settings) as one:
                await until(lambda: _somebody_waits(pool, held), what="a job under way")
                one.stop()
                await holding.aclose()
        assert await job_states(pool, "sweep") == [("sweep", "succeeded")]
        assert await pool.fetchval("SELECT count(*) FROM procrastinate.procrastinate_workers") == 0


@pytest.mark.session
async def test_a_job_that_takes_too_long_is_handed_back(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that stops cuts it off, changes nothing, and the next worker does it."""
    monkeypatch.setattr(worker, "GRACE_S", 0.1)
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        clock.advance(days=17)
        async with held_fact(knowledge_url, "tenant-a") as held:
            async with working(memory, settings):
                await until(lambda: _somebody_waits(pool, held), what="a job under way")
            assert await job_states(pool, "sweep") == [("sweep", "aborted"), ("sweep", "todo")]
            assert [job["error"] for job in await jobs(pool)][1] == outcomes.RETURNED
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep", 1), what="the job that was handed back")
        assert await fetch(pool, "tenant-a", STATUS) == "fading"


async def test_a_job_that_fails_says_why_and_is_tried_again(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its shard alone, after a pause by the clock of the server, whatever that of the worker says."""
    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: utc_now() - timedelta(hours=1))
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        await note_tenant(pool, "not a tenant")
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep", 1), what="the good shard")
            await until(lambda: _failed(pool), what="the bad one")
        seen = await worker_status(memory, settings)
        (failure,) = seen.failures
        assert (failure.task, failure.arguments) == ("sweep", {"tenant_id": "not a tenant"})
        assert failure.error.startswith("InvalidInputError: tenant_id: expected 1 to 64")
        assert failure.ended_at is not None
        again = (await jobs(pool))[-1]
        assert (again["status"], again["args"]["attempt"]) == ("todo", 1)
        assert seen.schedules[0].outcome == "running"
        scheduled = "SELECT scheduled_at - now() FROM procrastinate.procrastinate_jobs WHERE status = 'todo'"
        assert timedelta(seconds=60 - DEADLINE_S) < await pool.fetchval(scheduled) <= timedelta(seconds=60)
        assert seen.oldest_waiting_at is None


async def test_a_job_that_was_put_off_by_a_wrong_clock_is_done(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """It would keep every later one of its shard from being made; one that waits for its turn goes on waiting."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        for tenant in ("tenant-a", "tenant-b"):
            await store(memory, tenant)
        await schedule_once(memory, Schedule(upkeep=Upkeep.SWEEP, cron=settings.sweep_cron))
        await _put_off(pool, timedelta(days=1))
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep", 2), what="the sweep that was put off")
        await schedule_once(memory, Schedule(upkeep=Upkeep.SWEEP, cron="* * * * *"))
        await _put_off(pool, timedelta(hours=1))
        async with working(memory, settings):
            await until(lambda: _began(pool), what="a look at the queue")
        assert (await job_states(pool, "sweep.all"))[-1][1] == "todo"


async def test_an_outage_of_the_database_ends_no_worker(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Every connection is cut; the next tick is swept all the same."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        async with working(memory, settings):
            await until(lambda: _done(pool, "sweep", 1), what="the first run")
            other = await asyncpg.connect(knowledge_url)
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
            )
            clock.advance(days=1)
            await until(lambda: _succeeded(other, "sweep", 2), what="the run after the outage")
            await other.close()


async def test_a_worker_beside_others_waits_for_its_database(
    tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever runs it in their process is not disturbed where there is no server, and can stop at once."""
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    settings_home = tmp_path / "home"
    settings_home.mkdir()
    settings = Settings(home=settings_home, workspace=settings_home, postgres_url=nowhere)
    async with (
        KnowledgeMemory.open(settings, engine=engine, clock=clock, lazy=True) as memory,
        asyncio.timeout(DEADLINE_S),
        in_process_worker(settings, knowledge=memory),
    ):
        await until(lambda: _is_said("background work is not running", caplog), what="a line in the log")
    assert not any(each.exc_info for each in caplog.records if "does not run" in each.getMessage())


async def test_a_worker_beside_others_works(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """And has ended when the block has."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **OFF) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        async with in_process_worker(settings, knowledge=memory):
            await until(lambda: _began(pool), what="a queue")
            await until(lambda: _done(pool, "sweep", 1), what="a sweep")
        assert await pool.fetchval("SELECT count(*) FROM procrastinate.procrastinate_workers") == 0


async def test_every_statement_of_the_queue_is_understood_by_the_server(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Against the schema as it is now."""
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock) as (memory, _):
        pool = await prepared_queue(memory)
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SET LOCAL search_path TO procrastinate, public")
            assert await prepare_set(connection, queries())


async def _put_off(pool: asyncpg.Pool, wait: timedelta) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL search_path TO procrastinate")
        await connection.execute(PUT_OFF, wait)


async def _is_said(text: str, caplog: pytest.LogCaptureFixture) -> bool:
    return text in caplog.text


async def _began(pool: asyncpg.Pool) -> bool:
    return await pool.fetchval("SELECT to_regclass('procrastinate.job_outcomes') IS NOT NULL")


async def _done(pool: asyncpg.Pool, task: str, count: int) -> bool:
    return len([one for one in await job_states(pool, task) if one[1] == "succeeded"]) >= count


async def _succeeded(connection: asyncpg.Connection, task: str, count: int) -> bool:
    query = (
        "SELECT count(*) FROM procrastinate.procrastinate_jobs WHERE task_name = $1 AND status = 'succeeded'"
    )
    return await connection.fetchval(query, task) >= count


async def _failed(pool: asyncpg.Pool) -> bool:
    return ("sweep", "failed") in await job_states(pool) and ("sweep", "todo") in await job_states(pool)


async def _somebody_waits(pool: asyncpg.Pool, held: asyncpg.Connection) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))"
    return await pool.fetchval(query, held.get_server_pid()) > 0
