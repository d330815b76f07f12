"""Measure how long the first visitor of a page waits, with and without the work that the service does when it starts.

A scratch database gets the sample memories. For each round, a new process opens the memories, prepares the service or
not, and requests each page several times in process, without a network. The table shows the first request of each
page in both ways, and the median of the later requests, as medians over the rounds.

    python benchmarks/dashboard_first.py [--rounds N] [--json]

The exit status is 1 if a page of a prepared service takes its first visitor over 300 ms.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import httpx2
from rich.console import Console
from rich.table import Table

from commonplace.access import Tokens
from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.services.sample import load
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.web.service import create_app
from commonplace.web.warming import warm
from scratch_server import scratch_server

MOST_MS: Final = 300.0
LATER: Final = 5
PAGES: Final = {
    "overview": "/",
    "graph, all": "/knowledge/graph?all=true",
    "app registration": "/apps/-/new",
    "workers": "/workers",
    "week": "/week",
    "facts": "/knowledge/facts",
    "lessons": "/memories",
}

Times = dict[str, tuple[float, float]]
"""The milliseconds of the first request of each page, and the median of the later ones."""


async def visit(settings: Settings, *, prepared: bool) -> Times:
    """Request each page several times."""
    async with Tokens.open(settings) as tokens, Memories.open(settings) as memories:
        (rule,) = await memories.knowledge.lists.rules(limit=1)
        app = create_app(memories, tokens=tokens, settings=settings)
        if prepared:
            await warm(app)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            pages = PAGES | {"rule": f"/knowledge/rules/{rule.id}"}
            return {name: await _timed(client, path) for name, path in pages.items()}


async def _timed(client: httpx2.AsyncClient, path: str) -> tuple[float, float]:
    times: list[float] = []
    for _ in range(1 + LATER):
        began_s = time.perf_counter()
        (await client.get(path)).raise_for_status()
        times.append(1000 * (time.perf_counter() - began_s))
    return times[0], statistics.median(times[1:])


async def fill(settings: Settings) -> None:
    """Load the sample memories."""
    async with Memories.open(settings) as memories:
        await load(memories)


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Return the times of each page in milliseconds: unprepared, prepared, later."""
    with scratch_server() as server, tempfile.TemporaryDirectory() as home:
        asyncio.run(migrate_postgres(server.url(), "memory"))
        asyncio.run(fill(_settings(home, server.url())))
        visits: dict[bool, list[Times]] = {False: [], True: []}
        for number in range(2 * rounds):
            prepared = bool(number % 2)
            command = [sys.executable, __file__, "--visit", home, server.url(), str(int(prepared))]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            visits[prepared].append(json.loads(answer))
    return {
        name: {
            "unprepared": statistics.median(each[name][0] for each in visits[False]),
            "prepared": statistics.median(each[name][0] for each in visits[True]),
            "later": statistics.median(each[name][1] for each in visits[True]),
        }
        for name in visits[True][0]
    }


def _settings(home: str, url: str) -> Settings:
    return Settings(home=Path(home), workspace=Path(home), postgres_url=url)


def main() -> int:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="First visits of the dashboard's pages.")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each way")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--visit", nargs=3, metavar=("HOME", "URL", "PREPARED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.visit:
        home, url, prepared = options.visit
        json.dump(asyncio.run(visit(_settings(home, url), prepared=prepared == "1")), sys.stdout)
        return 0
    pages = measure(options.rounds)
    if options.json:
        json.dump({"rounds": options.rounds, "pages": pages}, sys.stdout, indent=2)
        print()
    else:
        table = Table("page", "first, unprepared ms", "first ms", "later ms", "first / unprepared")
        for name, times in pages.items():
            values = (times["unprepared"], times["prepared"], times["later"])
            table.add_row(name, *(f"{each:.0f}" for each in values), f"{values[1] / values[0]:.2f}")
        Console(width=100).print(table)
    return int(any(times["prepared"] > MOST_MS for times in pages.values()))


if __name__ == "__main__":
    raise SystemExit(main())
