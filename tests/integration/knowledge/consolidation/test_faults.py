"""Consolidation while everything fails: workers that are killed, a database that goes away, a model that is moody."""

import asyncio
import os
import random
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.runs import RunState
from commonplace.storage.cluster import locate_cluster
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from support.commands import CommandServer
from support.consolidation import fetch, store_some
from support.deadlines import DEADLINE_S
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")

WORKER = Path(__file__).with_name("consolidation_worker.py")
QUEUE_WORKER = Path(__file__).with_name("consolidation_queue_worker.py")
BUTLERS = tuple(f"butler-{number}" for number in range(8))
EACH = 16

SEED = 12
MOMENTS = {(65, 120): 3, (30, 60): 2}
"""How many workers are killed while so many episodes are open: before the server is restarted, and after."""

LONGEST_RUN_S = 0.2
"""A run takes as long as a model may; a kill falls anywhere within one."""

LONG = "word " * 2_000
"""Four such episodes fill a prompt."""

OPEN = "SELECT count(*) FROM episodes WHERE consolidation_status IN ('pending', 'failed')"


class Crew:
    """Workers as processes, each with a home of its own, as on machines of their own."""

    def __init__(self, command: tuple[Path, Path], url: str, directory: Path) -> None:
        self._command, self._url, self._directory = command, url, directory
        self._hired = 0
        self.processes: list[asyncio.subprocess.Process] = []

    async def hire(self) -> None:
        """Start one more."""
        self._hired += 1
        home = self._directory / f"home-{self._hired}"
        home.mkdir()
        arguments = (self._url, home, str(1_000 * self._hired))
        self.processes.append(await asyncio.create_subprocess_exec(*self._command, *arguments))

    async def lose_one(self, chance: random.Random) -> None:
        """End any one on the spot, and start another in its place."""
        lost = self.processes.pop(chance.randrange(len(self.processes)))
        assert lost.returncode is None, "it had ended before"
        lost.kill()
        assert await lost.wait() == -signal.SIGKILL
        await self.hire()


@pytest.fixture
async def server(postgres_directory: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A server of the test's own, which it may kill."""
    async with EmbeddedPostgres(postgres_directory) as server:
        yield server


@pytest.fixture
async def url(server: EmbeddedPostgres) -> str:
    """The URL of an empty knowledge memory on it."""
    url = await server.start()
    await migrate_postgres(url, "memory")
    return url


@pytest.fixture
async def crew(
    url: str, tmp_path: Path, request: pytest.FixtureRequest, command_server: CommandServer
) -> AsyncIterator[Crew]:
    """Nobody yet; whoever is left is ended."""
    crew = Crew((command_server.python, getattr(request, "param", WORKER)), url, tmp_path)
    yield crew
    for process in crew.processes:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until_open(pool: asyncpg.Pool, number: int) -> None:
    """Wait until at most so many episodes are open."""
    while (await fetch(pool, OPEN))[0][0] > number:
        await fetch(pool, "SELECT pg_sleep(0.01)")


async def lose_at_random(crew: Crew, pool: asyncpg.Pool, chance: random.Random, moments: list[int]) -> None:
    """Lose a worker each time that at most so many episodes are open, a moment later that chance decides."""
    for number in moments:
        await until_open(pool, number)
        await fetch(pool, f"SELECT pg_sleep({chance.uniform(0, LONGEST_RUN_S)})")
        await crew.lose_one(chance)


async def restart(server: EmbeddedPostgres, directory: Path) -> None:
    """Kill the database's server on the spot and start it again."""
    pid_file = locate_cluster(directory).data / "postmaster.pid"
    os.kill(int((await asyncio.to_thread(pid_file.read_text)).split()[0]), signal.SIGKILL)
    await server.start()


@pytest.mark.long
@pytest.mark.requirement("KNW-12.2", "KNW-14.1", "KNW-14.3", "KNW-24.3", "R-KNW-4")
async def test_every_episode_is_consolidated_once_or_kept_whatever_fails(
    url: str,
    server: EmbeddedPostgres,
    postgres_directory: Path,
    crew: Crew,
    engine: EmbeddingEngine,
    clock: ManualClock,
) -> None:
    """128 episodes of 8 butlers: no fact is there twice, no link is missing, none is lost, none is overtaken.

    Five times a worker is killed, two of them after the server was. When and which is chance, whose seed is
    fixed, so that a failure can be looked at again; how far a worker is at that moment differs each time.
    """
    chance = random.Random(SEED)  # noqa: S311 - no secret
    before, after = (
        sorted(chance.sample(range(*each), count), reverse=True) for each, count in MOMENTS.items()
    )
    stored: dict[str, list[UUID]] = {}
    clock.now = datetime.now(UTC)
    async with await open_pool(url) as pool:
        for butler in BUTLERS:
            contents = [f"number {number}" for number in range(EACH)]
            stored[butler] = await store_some(pool, engine, clock, butler, contents)
    total = EACH * len(BUTLERS)
    async with asyncio.timeout(2 * DEADLINE_S):
        for _ in range(2):
            await crew.hire()
        async with await open_pool(url) as pool:
            await lose_at_random(crew, pool, chance, before)
        await restart(server, postgres_directory)
        async with await open_pool(url) as pool:
            await lose_at_random(crew, pool, chance, after)
        for process in crew.processes:
            assert await process.wait() == 0
    async with await open_pool(url) as pool:
        await check(pool, stored)
        assert total == (await fetch(pool, "SELECT count(*) FROM episodes"))[0][0]
        assert await memory_on(pool).runs.list(state="running") == []


@pytest.mark.long
@pytest.mark.parametrize("crew", [QUEUE_WORKER], indirect=True)
async def test_a_worker_of_the_queue_is_killed_and_every_episode_is_consolidated_once(
    url: str, crew: Crew, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """40 episodes of 4 butlers, a job each and several runs a job: one of two workers is killed on the way."""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    clock.now = datetime.now(UTC)
    async with await open_pool(url) as pool:
        stored = {
            butler: await store_some(pool, engine, clock, butler, [f"{n} {LONG}" for n in range(10)])
            for butler in BUTLERS[:4]
        }
        for _ in range(2):
            await crew.hire()
        async with asyncio.timeout(2 * DEADLINE_S):
            await lose_at_random(crew, pool, chance, [chance.randrange(8, 32)])
            await until_open(pool, 0)
            for process in crew.processes:
                process.terminate()
                await process.wait()
        await check(pool, stored)
        assert await memory_on(pool).runs.list(state="running") == []


async def check(pool: asyncpg.Pool, stored: dict[str, list[UUID]]) -> None:
    """Check every episode, its fact and its link, and the order in which each butler's were done."""
    rows = await fetch(
        pool,
        "SELECT episodes.id, consolidation_status, lease_run, count(DISTINCT facts.id) AS facts,"
        " count(DISTINCT memory_links.source_id) AS links"
        " FROM episodes LEFT JOIN facts ON facts.subject = episodes.id::text"
        " LEFT JOIN memory_links ON memory_links.target_id = episodes.id AND relation = 'derived_from'"
        " AND memory_links.source_id = facts.id GROUP BY episodes.id",
    )
    wanted = {"consolidated": (1, 1), "dead_letter": (0, 0)}
    for row in rows:
        assert (row["facts"], row["links"]) == wanted[row["consolidation_status"]], row
        assert row["lease_run"] is None
    done = {row["id"] for row in rows if row["consolidation_status"] == "consolidated"}
    assert len(done) > len(rows) * 0.9
    assert (await fetch(pool, "SELECT count(*) FROM memory_links"))[0][0] == len(done)
    applied = await memory_on(pool).runs.list(state=RunState.APPLIED, limit=1000)
    assert sum(len(run.episode_ids) for run in applied) == len(done)
    order: dict[str, list[UUID]] = defaultdict(list)
    for run in sorted(applied, key=lambda run: run.started_at):
        order[run.butler].extend(run.episode_ids)
    assert order == {butler: [each for each in ids if each in done] for butler, ids in stored.items()}
    causes = await fetch(
        pool, "SELECT count(*) FROM memory_events WHERE event_type = 'fact_created' AND payload ? 'run_id'"
    )
    assert causes[0][0] == len(done)
