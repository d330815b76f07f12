"""Leases: one run a butler at a time, in order, and no effect of a worker that lost its own."""

import asyncio
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation import leases
from commonplace.knowledge.consolidation.executor import apply
from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.leases import Lease, NotDue
from commonplace.knowledge.consolidation.runs import RunState
from commonplace.knowledge.model.consolidation_results import ConsolidationResult, ProposedFact
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.storage_functions import memory_stats, run_consolidation
from support.consolidation import NOTHING, Spawner, fetch, states, store_some
from support.deadlines import DEADLINE_S
from support.on_pool import memory_on

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("KNW-12.2", "R-KNW-4")]

NOTHING_KNOWN = Known(facts={}, rules={})
A_FACT = ConsolidationResult(new_facts=[ProposedFact(subject="a", predicate="b", content="c")])


class Workers:
    """Takes leases of the butler ``ops`` on behalf of workers."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock

    async def take(self, worker: str, **policy: Any) -> Lease | NotDue:  # noqa: ANN401
        """Try to take a lease."""
        return await leases.take(
            self.pool, "ops", worker=worker, model="m", policy=Policy(**policy), clock=self.clock
        )

    async def get(self, worker: str, **policy: Any) -> Lease:  # noqa: ANN401
        """Take a lease that there is."""
        taken = await self.take(worker, **policy)
        assert isinstance(taken, Lease)
        return taken


@pytest.fixture
async def workers(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Workers:
    """A hundred episodes of one butler, and workers."""
    await store_some(knowledge_pool, engine, clock, "ops", [f"episode {number}" for number in range(100)])
    return Workers(knowledge_pool, engine, clock)


async def test_a_butler_has_one_run_at_a_time(workers: Workers) -> None:
    """Whoever comes second is told until when, also for episodes that nobody has leased."""
    lease = await workers.get("first", lease_s=120)
    assert len(lease.episodes) == 50
    busy = await workers.take("second")
    assert isinstance(busy, NotDue)
    assert busy.reason == "busy"
    assert busy.again_at is not None
    assert (busy.again_at - workers.clock()).total_seconds() == 120
    stats = await memory_stats(workers.pool, clock=workers.clock)
    assert (stats.episodes.leased, stats.episodes.unconsolidated) == (50, 100)
    report = await run_consolidation(workers.pool, workers.engine, Spawner(NOTHING), clock=workers.clock)
    assert (report.busy, report.runs) == (("ops",), ())


async def test_of_many_workers_one_gets_the_lease(workers: Workers) -> None:
    """However many ask at the same moment."""
    taken = await asyncio.gather(*(workers.take(f"worker {number}") for number in range(8)))
    assert sum(isinstance(each, Lease) for each in taken) == 1
    assert len(await memory_on(workers.pool).runs.list(state="running")) == 1


async def test_the_database_itself_allows_one_running_run(workers: Workers) -> None:
    """Whatever a program does."""
    await workers.get("first")
    with pytest.raises(asyncpg.UniqueViolationError, match="uq_consolidation_runs_running"):
        await fetch(
            workers.pool,
            "INSERT INTO consolidation_runs (tenant_id, butler, worker, episode_ids, leased_until)"
            " SELECT tenant_id, butler, 'second', '{}', leased_until FROM consolidation_runs",
        )


async def test_a_late_result_is_refused(workers: Workers) -> None:
    """The worker that took over is not disturbed, and nothing is written; the run says what it was."""
    late = await workers.get("late", lease_s=60)
    workers.clock.advance(seconds=60)
    other = await workers.get("other", lease_s=60)
    assert [each.id for each in other.episodes] == [each.id for each in late.episodes][:25]
    ((lost, attempts),) = await fetch(
        workers.pool, "SELECT DISTINCT last_error, retry_count FROM episodes WHERE last_error IS NOT NULL"
    )
    assert (lost, attempts) == ("worker late was silent until its lease ended", 1)
    refused = await apply(workers.pool, workers.engine, late, A_FACT, NOTHING_KNOWN, clock=workers.clock)
    assert refused.state is RunState.REFUSED
    assert "came too late" in refused.errors[-1]
    assert await fetch(workers.pool, "SELECT * FROM facts") == []
    applied = await apply(workers.pool, workers.engine, other, A_FACT, NOTHING_KNOWN, clock=workers.clock)
    assert applied.state is RunState.APPLIED
    assert len(await fetch(workers.pool, "SELECT * FROM facts")) == 1
    again = await apply(workers.pool, workers.engine, late, A_FACT, NOTHING_KNOWN, clock=workers.clock)
    assert again.state is RunState.REFUSED
    assert (await states(workers.pool)).count(("ops", "consolidated")) == 25


async def test_a_result_in_time_counts_though_the_lease_just_ended(workers: Workers) -> None:
    """As long as nobody else has begun."""
    lease = await workers.get("slow", lease_s=60)
    workers.clock.advance(seconds=90)
    run = await apply(workers.pool, workers.engine, lease, A_FACT, NOTHING_KNOWN, clock=workers.clock)
    assert run.state is RunState.APPLIED


async def test_a_clock_that_was_wrong_keeps_nobody_waiting(workers: Workers) -> None:
    """Neither for the lease of a worker that died by it, nor for an attempt that was put off by it."""
    workers.clock.advance(days=1)
    await workers.get("lost")
    workers.clock.advance(days=-1)
    lease = await workers.get("first")
    workers.clock.advance(days=1)
    await leases.fail(workers.pool, lease, RuntimeError("broke"), clock=workers.clock)
    workers.clock.advance(days=-1)
    report = await run_consolidation(workers.pool, workers.engine, clock=workers.clock)
    assert (report.busy, report.waiting) == ((), ())
    assert report.planned
    await workers.get("second")


async def test_the_lease_is_renewed_while_the_model_works(workers: Workers) -> None:
    """So that an answer may take longer than a lease."""
    policy = Policy(lease_s=0.3)
    seen: list[object] = []

    async def think(_: str) -> str:
        deadline = asyncio.get_running_loop().time() + DEADLINE_S
        while len(set(seen)) < 3:
            assert asyncio.get_running_loop().time() < deadline
            workers.clock.advance(seconds=0.01)
            await asyncio.sleep(0.02)
            seen.append((await fetch(workers.pool, "SELECT leased_until FROM consolidation_runs"))[0][0])
        ends = await fetch(
            workers.pool, "SELECT DISTINCT leased_until FROM episodes WHERE lease_run IS NOT NULL"
        )
        assert len(ends) == 1
        return NOTHING

    spawner = Spawner(think, NOTHING)
    report = await run_consolidation(
        workers.pool, workers.engine, spawner, policy=policy, clock=workers.clock
    )
    assert report.episodes_consolidated == 100
    assert seen == sorted(seen, key=str)


async def test_a_worker_that_loses_its_lease_stops_the_model(workers: Workers) -> None:
    """Its answer would be refused, and costs money."""
    policy = Policy(lease_s=0.15)
    stopped = asyncio.Event()

    async def think(_: str) -> str:
        await fetch(workers.pool, "UPDATE consolidation_runs SET state = 'failed', ended_at = now()")
        try:
            return await asyncio.Future[str]()
        except asyncio.CancelledError:
            stopped.set()
            raise

    async with asyncio.timeout(DEADLINE_S):
        report = await run_consolidation(
            workers.pool, workers.engine, Spawner(think), policy=policy, clock=workers.clock
        )
    assert stopped.is_set()
    assert [run.state for run in report.runs] == [RunState.REFUSED]


async def test_a_worker_that_is_stopped_gives_its_episodes_back(workers: Workers) -> None:
    """At once, and without an attempt: the next worker need not wait for the lease to end."""
    asked = asyncio.Event()

    async def hang(_: str) -> str:
        asked.set()
        return await asyncio.Future[str]()

    work = asyncio.create_task(
        run_consolidation(workers.pool, workers.engine, Spawner(hang), clock=workers.clock)
    )
    async with asyncio.timeout(DEADLINE_S):
        await asked.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    (run,) = await memory_on(workers.pool).runs.list()
    assert (run.state, run.errors) == (RunState.FAILED, ("the worker was stopped",))
    rows = await fetch(
        workers.pool, "SELECT DISTINCT consolidation_status, retry_count, lease_run FROM episodes"
    )
    assert [tuple(row) for row in rows] == [("pending", 0, None)]
    assert isinstance(await workers.take("next"), Lease)


async def test_episodes_that_end_their_workers_become_dead_letters(workers: Workers) -> None:
    """Five workers that were lost with the same episodes; each time the group is half as long."""
    sizes: list[int] = []
    for number in range(5):
        lease = await workers.get(f"worker {number}", lease_s=60)
        sizes.append(len(lease.episodes))
        workers.clock.advance(seconds=61)
    survivor = await workers.get("the last")
    assert sizes == [50, 25, 12, 6, 3]
    found = await states(workers.pool)
    assert found[:3] == [("ops", "dead_letter")] * 3
    assert survivor.episodes[0].content == "episode 3"
    assert ("ops", "dead_letter") not in found[3:]


async def test_shards_are_worked_on_side_by_side(workers: Workers) -> None:
    """Four workers on eight butlers: all four models work at the same moment, and nobody waits for anybody."""
    butlers = [f"butler-{number}" for number in range(8)]
    for butler in butlers:
        await store_some(workers.pool, workers.engine, workers.clock, butler, ["something"])
    all_four = asyncio.Barrier(4)

    async def meet(_: str) -> str:
        async with asyncio.timeout(DEADLINE_S):
            await all_four.wait()
        return NOTHING

    reports = await asyncio.gather(
        *(
            run_consolidation(
                workers.pool, workers.engine, Spawner(meet, NOTHING), worker=f"w{number}", clock=workers.clock
            )
            for number in range(4)
        )
    )
    assert sum(report.episodes_consolidated for report in reports) == 100 + len(butlers)
    assert all(report.runs for report in reports)


async def test_a_run_with_its_state_survives(workers: Workers) -> None:
    """What is leased to whom can be seen while it runs."""
    lease = await workers.get("worker 7")
    run = (await memory_on(workers.pool).runs.get(lease.run_id)).run
    assert (run.state, run.worker, run.model, run.ended_at) == (RunState.RUNNING, "worker 7", "m", None)
    rows = await fetch(
        workers.pool, "SELECT DISTINCT leased_by FROM episodes WHERE lease_run = $1", lease.run_id
    )
    assert [row["leased_by"] for row in rows] == ["worker 7"]


@pytest.mark.parametrize("limit", ["lease_s", "timeout_s", "max_attempts", "backoff_s"])
def test_limits_with_which_nothing_works_are_refused(limit: str) -> None:
    """By the name of the limit."""
    with pytest.raises(InvalidInputError, match=limit):
        Policy(**{limit: 0})
