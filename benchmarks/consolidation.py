"""Measure how several workers share the episodes of several butlers.

One worker at a time consolidates a butler's episodes, in their order. Different butlers run side by side. So the time
is the models' time divided by the number of workers, if there are enough butlers. The model here takes a fixed time
for an answer and makes one fact of each episode. Everything else is real.

    python benchmarks/consolidation.py [--butlers N] [--episodes N] [--workers N] [--model-s S] [--json]

The exit status is 1 if the workers gain less than half of what their number allows.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import asyncpg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import run_consolidation, store_episodes
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scratch_server import scratch_server

EPISODE: Final = re.compile(r"^Episode \d+ of \d+: id ([0-9a-f-]{36})", re.MULTILINE)
LEAST_SHARE: Final = 0.8
"""Least share of the gain that the number of workers allows; they share the cores with the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Time and throughput of a number of workers."""

    workers: int
    seconds: float
    episodes_per_s: float
    facts: int


async def measure(
    pool: asyncpg.Pool, engine: EmbeddingEngine, options: argparse.Namespace, workers: int
) -> Measured:
    """Fill a new tenant and let the workers consolidate it."""
    with request_context(tenant_id=f"workers-{workers}", actor="benchmark"):
        for butler in range(options.butlers):
            drafts = [
                EpisodeDraft(content=f"episode {number} of butler {butler}", butler=f"butler-{butler}")
                for number in range(options.episodes)
            ]
            await store_episodes(pool, engine, drafts)

        async def answer(prompt: str, *, trigger_source: str) -> str:
            del trigger_source
            await asyncio.sleep(options.model_s)
            facts = [
                {
                    "subject": episode,
                    "predicate": "was",
                    "content": f"episode {episode}",
                    "evidence": [episode],
                }
                for episode in EPISODE.findall(prompt)
            ]
            return f"```json\n{json.dumps({'new_facts': facts})}\n```"

        began_s = time.perf_counter()
        reports = await asyncio.gather(
            *(run_consolidation(pool, engine, answer, worker=f"worker-{number}") for number in range(workers))
        )
        seconds = time.perf_counter() - began_s
    done = sum(report.episodes_consolidated for report in reports)
    facts = sum(report.total("facts_created") for report in reports)
    if not done == facts == options.butlers * options.episodes:
        raise SystemExit(f"{done} episodes became {facts} facts, of {options.butlers * options.episodes}")
    return Measured(workers=workers, seconds=seconds, episodes_per_s=done / seconds, facts=facts)


async def run(options: argparse.Namespace, progress: Progress) -> list[Measured]:
    """Measure one worker, then all workers, on a scratch server."""
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    with scratch_server(options.directory) as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            counts = (1, options.workers)
            return [
                await measure(pool, engine, options, count)
                for count in progress.track(counts, description="consolidating")
            ]


def print_table(measured: list[Measured], gain: float) -> None:
    """Print the time for each number of workers."""
    out = Table("workers", "seconds", "episodes/s", "facts", title="Consolidation")
    for each in measured:
        out.add_row(str(each.workers), f"{each.seconds:.2f}", f"{each.episodes_per_s:.0f}", str(each.facts))
    console = Console(width=100)
    console.print(out)
    console.print(f"{measured[-1].workers} workers are {gain:.1f} times as fast as one")


def main() -> int:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Consolidation by one worker and by several.")
    parser.add_argument("--butlers", type=int, default=8, help="shards (default: 8)")
    parser.add_argument("--episodes", type=int, default=20, help="of each butler (default: 20)")
    parser.add_argument("--workers", type=int, default=4, help="at once (default: 4)")
    parser.add_argument("--model-s", type=float, default=2.0, help="what an answer takes (default: 2 s)")
    parser.add_argument("--directory", type=Path, default=None, help="where the server is set up")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        measured = asyncio.run(run(options, progress))
    gain = measured[0].seconds / measured[1].seconds
    possible = min(options.workers, options.butlers)
    missed = gain < LEAST_SHARE * possible
    if options.json:
        result = {"measured": [asdict(each) for each in measured], "gain": gain, "missed": missed}
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        print_table(measured, gain)
        print(f"a gain of {gain:.1f} < {LEAST_SHARE * possible:g}" if missed else "the target was met")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
