"""Measure the cost of the operational block beyond its SQL.

The database holds 10,000 memories of 40 services. Each round builds the block, and in turn runs the two statements
under it alone: the count, and the first page by confidence. The ratio is that of the medians. The limit is 3, because
each memory that fits is turned into one line that can neither close a fence nor open a heading.

    python benchmarks/context.py [--memories N] [--rounds N] [--json]
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from commonplace.core.budgets import budget_chars
from commonplace.core.confidence import ACTIVE_THRESHOLD
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.rules.context_block import SHORTEST_BULLET_CHARS

TARGET = 3
CATEGORIES = ("timing", "dependency", "behavior", "remediation", "maintenance")
WORDS = [
    "restart",
    "takes",
    "health",
    "check",
    "fails",
    "after",
    "upgrade",
    "when",
    "disk",
    "is",
    "full",
    "wait",
    "before",
    "retry",
    "pool",
    "lock",
    "tunnel",
]


def fill(path: Path, count: int) -> None:
    """Write memories of 40 to 240 characters, confidences from 0.3 to 1.0."""
    source = random.Random(1)  # noqa: S311 - the same data each time
    rows = []
    for number in range(count):
        words = " ".join(source.choices(WORDS, k=source.randint(6, 36)))
        moment = f"2026-01-{source.randint(1, 28):02}T00:00:00.{number:06}Z"
        confidence = round(source.uniform(0.3, 1.0), 1)
        rows.append(
            (
                f"service-{number % 40}",
                source.choice(CATEGORIES),
                f"{words} {number}",
                confidence,
                moment,
                moment,
            )
        )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (service, category, observation, confidence, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )


async def measure(count: int, rounds: int, *, quiet: bool) -> dict[str, float]:
    """Build the block and run its bare statements in turn; return medians in milliseconds and their ratio."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(home=Path(directory))
        async with OperationalMemory.open(settings) as memory:
            fill(settings.database_path, count)
            store = memory._store  # noqa: SLF001 - the bare statements
            chars, threshold = budget_chars(settings.memory_budget), float(ACTIVE_THRESHOLD)
            built: list[float] = []
            bare: list[float] = []
            for _ in range(rounds) if quiet else track(range(rounds), console=Console(stderr=True)):
                began = time.perf_counter()
                block = await memory.context()
                built.append(time.perf_counter() - began)
                began = time.perf_counter()
                async with store.reading() as sql:
                    await sql.count_eligible(threshold=threshold)
                    await sql.eligible(
                        threshold=threshold,
                        max_chars=chars,
                        services="",
                        after_confidence=2.0,
                        after_updated_at="",
                        after_id=0,
                        limit=chars // SHORTEST_BULLET_CHARS + 1,
                    )
                bare.append(time.perf_counter() - began)
    context_ms, sql_ms = (statistics.median(times) * 1000 for times in (built, bare))
    return {
        "memories": count,
        "shown": len(block.memory_ids),
        "context_ms": round(context_ms, 2),
        "sql_ms": round(sql_ms, 2),
        "ratio": round(context_ms / sql_ms, 2),
    }


def main() -> int:
    """Measure and print; the exit status is 1 if the target is missed."""
    parser = argparse.ArgumentParser(description="The operational block against its bare SQL")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    found = asyncio.run(measure(arguments.memories, arguments.rounds, quiet=arguments.json))
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        table = Table(title="The operational block against the SQL that it needs")
        for name in found:
            table.add_column(name if name != "ratio" else f"ratio (target < {TARGET})", justify="right")
        table.add_row(*map(str, found.values()))
        Console().print(table)
    return int(found["ratio"] >= TARGET)


if __name__ == "__main__":
    raise SystemExit(main())
