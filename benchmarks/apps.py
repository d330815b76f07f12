"""Measure the cost of app memory: reads among 10,000 apps, new memories, a day's energy, and a digest without a model.

Reads are compared with the specification's query on a bare sqlite3 connection, in turns in one run. A new memory uses a
model that answers at once, so the time is that of commonplace: claim, energy, embedding, storing. The simulated day
uses a manual clock and a scripted model.

    python benchmarks/apps.py [--apps N] [--rounds N] [--directory DIR] [--json]

The exit status is 1 if a target is missed.
"""

import argparse
import asyncio
import json
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.judge import judge
from commonplace.llm import Request, Script

MORNING = datetime(2026, 3, 1, tzinfo=UTC)
SPECIFIED = "SELECT * FROM app_memories WHERE app_id = ? ORDER BY updated_at DESC LIMIT 10"
TOPICS = ("invoices", "deploys", "backups", "meetings", "travel", "hiring", "budgets", "releases", "outages")
SENTENCES = (
    "We decided to move {} to the second Tuesday of the month because of the auditors.",
    "The report about {} was late again, and Maria will look into the reasons this week.",
    "I prefer to hear about {} in the morning, before the first meeting.",
    "There was a problem with {} on Friday; restarting the worker solved it.",
    "Please remember that {} need an approval of two people from March on.",
)


def fill(path: Path, apps: int) -> None:
    """Write ten memories for each app, as other processes would have left them."""
    with closing(sqlite3.connect(path)) as connection, connection:
        moments = [(MORNING + timedelta(hours=hour)).isoformat().replace("+00:00", "Z") for hour in range(10)]
        connection.executemany(
            "INSERT INTO apps (app_id, name, installed_at) VALUES (?, ?, ?)",
            ((f"app-{app}", f"App {app}", moments[0]) for app in range(apps)),
        )
        connection.executemany(
            "INSERT INTO app_memories (app_id, content, created_at, updated_at, metadata) VALUES (?, ?, ?, ?, ?)",
            (
                (
                    f"app-{app}",
                    f"Memory {number}: {'word ' * 36}",
                    moments[number],
                    moments[number],
                    '{"importance": 5}',
                )
                for app in range(apps)
                for number in range(10)
            ),
        )


def scripted(answers: int) -> Script:
    """Return a model that answers at once: each digest says something else, each decision deletes the first."""
    chance = dice(7)

    def answer(request: Request) -> str:
        if request.output is None:
            return f"The user keeps topic{chance.randrange(10**6)} for team{chance.randrange(10**6)}."
        first = re.findall(r"\[id (\d+)\]", request.prompt)[0]
        return json.dumps({"action": "delete", "targetMemoryId": int(first), "reason": "the first"})

    return Script(*[answer] * answers)


def dice(seed: int) -> random.Random:
    """Return a seeded random generator."""
    return random.Random(seed)  # noqa: S311 - made-up work, no secrets


def p95(times: Sequence[float]) -> float:
    """Return the 95th percentile in milliseconds."""
    return statistics.quantiles(times, n=100)[94] * 1000


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds that some work takes."""
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def measure_reading(memory: AppMemory, path: Path, apps: int, rounds: int) -> dict[str, Any]:
    """Read the memories of random apps, and run the bare query in turn."""
    chance = dice(1)
    ours: list[float] = []
    bare: list[float] = []
    with closing(sqlite3.connect(path)) as connection:
        for _ in track(range(rounds), "reading", console=Console(stderr=True), transient=True):
            app_id = f"app-{chance.randrange(apps)}"
            ours.append(await timed(lambda: memory.focus.visible(app_id)))  # noqa: B023 - awaited at once
            start = time.perf_counter()
            connection.execute(SPECIFIED, (app_id,)).fetchall()
            bare.append(time.perf_counter() - start)
    return row(
        f"read ten of {apps * 10:,}, p95", p95(ours), "ms", limit=5, reference=p95(bare), against="bare SQL"
    )


async def measure_creation(settings: Settings, engine: EmbeddingEngine, rounds: int) -> list[dict[str, Any]]:
    """Digest stored conversations, with and without a compaction."""
    script = scripted(6 * rounds)
    plenty = EnergyPolicy(capacity=1e9)
    times: list[float] = []
    async with AppMemory.open(settings, model=script.model(), engine=engine, energy=plenty) as memory:
        for turn in track(range(rounds), "creating", console=Console(stderr=True), transient=True):
            if turn % 10 == 0:
                await memory.registry.register(f"new-{turn // 10}")
            times.append(await make(memory, f"new-{turn // 10}", f"n-{turn}"))
        again = track(range(rounds), "compacting", console=Console(stderr=True), transient=True)
        compacting = [await make(memory, "new-0", f"m-{turn}") for turn in again]
    return [
        row("create, p95", p95(times), "ms", limit=50),
        row("create and compact, p95", p95(compacting), "ms", limit=5000),
    ]


async def make(memory: AppMemory, app_id: str, conversation_id: str) -> float:
    """End a conversation, and return the seconds until its memory is there."""
    await memory.begin_conversation(app_id, conversation_id)
    await memory.add_message(conversation_id, "user", "We decided about something today. " * 10)

    async def end() -> None:
        await (await memory.end_conversation(conversation_id)).digested()

    return await timed(end)


async def measure_day(directory: Path) -> dict[str, Any]:
    """Simulate a day of 200 conversations with twelve apps; return the share of energy used."""
    chance = dice(11)
    clock = ManualClock(MORNING)
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    model = scripted(800).model()
    async with AppMemory.open(Settings(home=directory), model=model, engine=engine, clock=clock) as memory:
        for app in range(12):
            await memory.registry.register(f"app-{app}")
        for number in track(range(200), "a day", console=Console(stderr=True), transient=True):
            clock.advance(seconds=86_400 / 200)
            said = conversation(chance, chance.randrange(2, 200))
            await memory.ingest(f"app-{chance.randrange(12)}", f"c-{number}", said)
        policy = memory.energy.policy
        total = policy.capacity + policy.refill_per_s * 86_400
        spent = await memory.energy.spent(timedelta(days=2))
    return row(
        "energy of a day of 200 conversations", 100 * sum(spent.values()) / total, "% of the day's", limit=5
    )


def conversation(chance: random.Random, messages: int) -> list[Message]:
    """Return a conversation of messages of one or two sentences."""
    return [
        Message(
            role="assistant" if number % 2 else "user",
            content=" ".join(
                chance.choice(SENTENCES).format(chance.choice(TOPICS)) for _ in range(1 + number % 2)
            )
            + f" That is point {number}.",
        )
        for number in range(messages)
    ]


async def measure_digest(settings: Settings, engine: EmbeddingEngine, rounds: int) -> dict[str, Any]:
    """Digest conversations of 200 messages with the loaded extractive model."""
    chance = dice(3)
    times: list[float] = []
    async with AppMemory.open(settings, engine=engine, energy=EnergyPolicy(capacity=1e9)) as memory:
        await memory.registry.register("long")
        await memory.ingest("long", "warm", conversation(chance, 4))
        for turn in track(range(rounds), "digesting", console=Console(stderr=True), transient=True):
            said = conversation(chance, 200)
            times.append(await timed(lambda: memory.ingest("long", f"l-{turn}", said)))  # noqa: B023 - awaited at once
    return row("extractive digest of 200 messages, median", statistics.median(times) * 1000, "ms", limit=1000)


def row(
    case: str, value: float, unit: str, *, limit: float, reference: float | None = None, against: str = ""
) -> dict[str, Any]:
    """Return a result with its unit, limit and reference."""
    return {
        "case": case,
        "value": round(value, 3),
        "unit": unit,
        "limit": limit,
        "met": value < limit,
        "reference": None if reference is None else round(reference, 3),
        "against": against,
    }


async def run(directory: Path, apps: int, rounds: int) -> list[dict[str, Any]]:
    """Run all cases."""
    settings = Settings(home=directory / "home")
    engine = EmbeddingEngine(EmbeddingOptions.from_settings(Settings()))
    try:
        async with AppMemory.open(settings, engine=engine) as memory:
            await asyncio.to_thread(fill, settings.database_path, apps)
            results = [await measure_reading(memory, settings.database_path, apps, rounds)]
        await engine.embed_async("warm")
        judge.prepare()
        results += await measure_creation(settings, engine, rounds // 10)
        results.append(await measure_day(directory / "day"))
        results.append(await measure_digest(settings, engine, 5))
    finally:
        engine.close()
    return results


def main() -> int:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--apps", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument(
        "--directory", type=Path, default=None, help="where to work; a real disk, for honest commits"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        results = asyncio.run(run(Path(directory), options.apps, options.rounds))
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        table = Table("case", "measured", "limit", "reference", title=f"App memory, {options.apps:,} apps")
        for one in results:
            reference = "" if one["reference"] is None else f"{one['reference']:g} ({one['against']})"
            measured = f"{one['value']:g} {one['unit']}{'' if one['met'] else ' MISSED'}"
            table.add_row(one["case"], measured, f"{one['limit']:g}", reference)
        Console().print(table)
    return int(not all(one["met"] for one in results))


if __name__ == "__main__":
    raise SystemExit(main())
