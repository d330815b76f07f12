"""Measure the upkeep of a large memory, and what its readers notice.

A database of one tenant is filled with facts of every age and consolidated episodes. Then the decay sweep and the
cleanup of episodes run while readers search. Measured are the total time and the readers' latency before and during
the work. The reference in the same run is one statement that only reads the rows that the sweep judges.

    python benchmarks/upkeep.py [--facts N] [--episodes N] [--directory D] [--json]

A million facts take long to fill in and index, and about 8 GB of disk. The exit status is 1 if a target is missed.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import numpy as np
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.knowledge.storage_functions import hybrid_search, run_decay_sweep, run_episode_cleanup
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scratch_server import scratch_server
from upkeep_corpus import NOW, TENANT, fill_episodes, fill_facts, questions

READERS = 2
PAUSE_S = 0.1
"""Between the questions of a reader: people who ask, not a contest for the cores."""

READS_BEFORE = 100
KEPT_EPISODES = 1_000
MOST_SECONDS = 120.0
"""For a million facts, and for a hundred thousand episodes."""

MOST_SLOWDOWN = 5.0
"""Highest factor of growth of a reader's p95; two readers, the server and the sweep share the cores."""

JUDGE = """
SELECT count(*) FILTER (WHERE commonplace_effective_confidence(
  confidence, decay_rate, coalesce(last_confirmed_at, created_at), $2) < 0.2)
FROM facts WHERE tenant_id = $1 AND validity = 'active' AND decay_rate > 0.0
"""


_T = TypeVar("_T")


@dataclass(slots=True)
class Readers:
    """Readers that search while other work runs."""

    pool: asyncpg.Pool
    times_ms: list[float]

    async def read(self, reads: int | None) -> None:
        """Search so many times, or until it is cancelled."""
        texts, vectors = questions(50)
        number = 0
        while reads is None or number < reads:
            began_s = time.perf_counter()
            await hybrid_search(self.pool, texts[number % 50], vectors[number % 50], "facts")
            self.times_ms.append((time.perf_counter() - began_s) * 1000)
            number += 1
            await asyncio.sleep(PAUSE_S)

    def summary(self) -> dict[str, float]:
        """Return the milliseconds of a read."""
        p50, p95, most = (float(np.percentile(self.times_ms, share)) for share in (50, 95, 100))
        return {
            "p50_ms": round(p50, 1),
            "p95_ms": round(p95, 1),
            "max_ms": round(most, 1),
            "reads": len(self.times_ms),
        }


@asynccontextmanager
async def reading(pool: asyncpg.Pool) -> AsyncIterator[Readers]:
    """Let readers search while the block runs."""
    readers = Readers(pool, [])
    tasks = [asyncio.create_task(readers.read(None)) for _ in range(READERS)]
    try:
        yield readers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def timed(work: Callable[[], Awaitable[_T]]) -> tuple[float, _T]:
    """Return the seconds that some work took, and its result."""
    began_s = time.perf_counter()
    result = await work()
    return round(time.perf_counter() - began_s, 2), result


async def fill(admin: asyncpg.Connection, facts: int, episodes: int, progress: Progress) -> None:
    """Fill an empty database; indexes on vectors are built at the end, as a restored dump would."""
    await register_vector(admin)
    definitions = [
        await admin.fetchval("SELECT pg_get_indexdef($1::text::regclass)", f"idx_{table}_embedding")
        for table in ("facts", "episodes")
    ]
    for table in ("facts", "episodes"):
        await admin.execute(f"DROP INDEX idx_{table}_embedding")
    task = progress.add_task("facts", total=facts)
    await fill_facts(admin, facts, lambda rows: progress.advance(task, rows))
    task = progress.add_task("episodes", total=episodes)
    await fill_episodes(admin, episodes, facts, lambda rows: progress.advance(task, rows))
    task = progress.add_task("indexes", total=len(definitions))
    await admin.execute("SET maintenance_work_mem = '2GB'")
    for definition in definitions:
        await admin.execute(definition, timeout=7200)
        progress.advance(task)
    await admin.execute("VACUUM ANALYZE", timeout=3600)


async def measure(
    server_url: str, admin_url: str, options: argparse.Namespace, progress: Progress
) -> dict[str, Any]:
    """Fill an empty, migrated database, and run upkeep in it."""
    admin = await asyncpg.connect(admin_url)
    try:
        await fill(admin, options.facts, options.episodes, progress)
        task = progress.add_task("upkeep", total=4)
        async with await open_pool(server_url, statement_timeout_s=300.0) as pool:
            with request_context(tenant_id=TENANT, actor="benchmark"):
                before = Readers(pool, [])
                await asyncio.gather(*(before.read(READS_BEFORE) for _ in range(READERS)))
                progress.advance(task)
                bare_s, _ = await timed(lambda: admin.fetchval(JUDGE, TENANT, NOW))
                progress.advance(task)
                async with reading(pool) as during_sweep:
                    sweep_s, swept = await timed(lambda: run_decay_sweep(pool, clock=lambda: NOW))
                progress.advance(task)
                async with reading(pool) as during_cleanup:
                    cleanup_s, cleaned = await timed(
                        lambda: run_episode_cleanup(pool, max_entries=KEPT_EPISODES, clock=lambda: NOW)
                    )
                progress.advance(task)
    finally:
        await admin.close()
    return {
        "facts": options.facts,
        "episodes": options.episodes,
        "sweep_s": sweep_s,
        "sweep_to_bare_read": round(sweep_s / bare_s, 1),
        "swept": {
            name: getattr(swept, name) for name in ("facts_evaluated", "facts_fading", "facts_expired")
        },
        "cleanup_s": cleanup_s,
        "cleaned": asdict(cleaned),
        "readers": {
            "before": before.summary(),
            "sweep": during_sweep.summary(),
            "cleanup": during_cleanup.summary(),
        },
    }


def missed_targets(result: dict[str, Any]) -> list[str]:
    """Return the missed targets in words."""
    missed = [
        f"{name} took {result[f'{name}_s']} s > {MOST_SECONDS} s"
        for name in ("sweep", "cleanup")
        if result[f"{name}_s"] > MOST_SECONDS
    ]
    before = result["readers"]["before"]["p95_ms"]
    for name in ("sweep", "cleanup"):
        times = result["readers"][name]
        if times["reads"] and times["p95_ms"] > MOST_SLOWDOWN * before:
            missed.append(f"readers' p95 during {name}: {times['p95_ms']} ms, {before} ms before")
    return missed


def print_tables(result: dict[str, Any]) -> None:
    """Print the figures of the work and the readers."""
    work = Table("work", "of", "seconds", "what it did", title="Upkeep")
    work.add_row("sweep", f"{result['facts']:,} facts", str(result["sweep_s"]), str(result["swept"]))
    work.add_row(
        "cleanup", f"{result['episodes']:,} episodes", str(result["cleanup_s"]), str(result["cleaned"])
    )
    readers = Table(
        "readers", "p50 ms", "p95 ms", "max ms", "reads", title=f"{READERS} readers, hybrid search"
    )
    for name, times in result["readers"].items():
        readers.add_row(name, *(str(value) for value in times.values()))
    console = Console(width=140)
    console.print(work, readers)
    console.print(f"the sweep takes {result['sweep_to_bare_read']} times a bare read of what it judges")


async def run(options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Measure on a scratch server."""
    with scratch_server(options.directory) as server:
        await migrate_postgres(server.url(), "memory")
        return await measure(server.url(), server.url(role=SUPERUSER), options, progress)


def main() -> int:
    """Print the tables, or one JSON document."""
    parser = argparse.ArgumentParser(description="Sweep and cleanup of a large memory.")
    parser.add_argument("--facts", type=int, default=1_000_000, help="facts to sweep (default: a million)")
    parser.add_argument(
        "--episodes", type=int, default=100_000, help="episodes to clean up (default: 100,000)"
    )
    parser.add_argument("--directory", type=Path, default=None, help="where the server is set up")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        result = asyncio.run(run(options, progress))
    missed = missed_targets(result)
    if options.json:
        json.dump(result | {"missed": missed}, sys.stdout, indent=2)
        print()
    else:
        print_tables(result)
        print("\n".join(missed) if missed else "every target was met")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
