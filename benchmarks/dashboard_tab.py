"""Measure what an open tab of the overview costs, and how soon the overview is painted, with 100,000 memories.

The script fills operational memory, stores 200 facts, serves them, and opens the overview in Chromium on loopback. The
processor time is that of the service and of its PostgreSQL server, less what they need without a tab. Idle tabs ask
every three seconds. Each visit opens a tab in an open window, with an empty cache; visits to the health check, which is
a page with a few lines of text, alternate with those to the overview. Other programs delay a browser that draws on the
processor: run the script with `chrt -r 1`.

    python benchmarks/dashboard_tab.py [--memories N] [--seconds S] [--json]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from playwright.async_api import Browser, BrowserContext
from rich.console import Console
from rich.table import Table

from commonplace.core.clock import ManualClock
from commonplace.knowledge import FactDraft
from commonplace.services.opening import Memories
from dashboard_corpus import fill_operations
from dashboard_tasks import HEIGHT, WIDTH, chromium, served

ASKS_EVERY_S: Final = 3.0
OPENED: Final = 25
REFERENCE: Final = "/healthz"
"""A page without styles and scripts; it shows what Chromium needs for any page."""
FACTS: Final = 200
MOST_CPU_MS: Final = 10.0
MOST_PAINT_MS: Final = 300.0
MOST_SCRIPTS_KB: Final = 60.0
LARGEST_PAINT: Final = """() => new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: "largest-contentful-paint", buffered: true });
})"""
SCRIPTS: Final = """() => performance.getEntriesByType("resource")
  .filter((entry) => entry.initiatorType === "script").reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def processor_s(home: Path) -> float:
    """Return the processor time so far of this process, which serves, and of its PostgreSQL, in seconds."""
    servers = [
        each
        for each in psutil.process_iter(["name", "cwd"])
        if each.info["name"] == "postgres" and Path(each.info["cwd"] or "/").is_relative_to(home.resolve())
    ]
    return time.process_time() + sum(sum(each.cpu_times()[:4]) for each in servers)


async def spent_ms(home: Path, seconds: float) -> float:
    """Return the processor time of the next seconds, in milliseconds for each question of a tab."""
    before = processor_s(home)
    await asyncio.sleep(seconds)
    return (processor_s(home) - before) * 1000 * ASKS_EVERY_S / seconds


async def visit(context: BrowserContext, path: str) -> tuple[float, float]:
    """Open a page with an empty cache; return its largest paint in milliseconds and its scripts in bytes."""
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.clearBrowserCache")
    await page.goto(path, wait_until="networkidle")
    paint, scripts = await page.evaluate(LARGEST_PAINT), await page.evaluate(SCRIPTS)
    await page.close()
    return paint, scripts


async def look(browser: Browser, url: str, home: Path, seconds: float) -> dict[str, Any]:
    """Open the overview several times, leave one tab open, and return the figures."""
    context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, base_url=url)
    page = await context.new_page()
    pairs = [(await visit(context, REFERENCE), await visit(context, "/")) for _ in range(OPENED)]
    reference_ms, paint_ms = (float(np.median([pair[side][0] for pair in pairs])) for side in (0, 1))
    without_ms = await spent_ms(home, seconds)
    await page.goto("/", wait_until="networkidle")
    with_ms = await spent_ms(home, seconds)
    return {
        "largest_paint_ms": round(paint_ms, 1),
        "reference_paint_ms": round(reference_ms, 1),
        "ratio_of_paints": round(paint_ms / reference_ms, 1),
        "scripts_kb": round(pairs[-1][1][1] / 1000, 1),
        "without_tab_ms": round(without_ms, 1),
        "tab_ms": round(with_ms - without_ms, 1),
    }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fill a home, serve it, and measure."""
    texts = [f"Takes {number % 90} s to start after restart {number}" for number in range(options.memories)]

    async def fill(memories: Memories, home: Path, _clock: ManualClock) -> None:
        fill_operations(home / "commonplace.db", texts)
        await memories.knowledge.store_facts(
            [
                FactDraft(subject=f"service {number}", predicate="start", content=text)
                for number, text in enumerate(texts[:FACTS])
            ]
        )

    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        async with served(home, fill) as url, chromium() as browser:
            return await look(browser, url, home, options.seconds)


def main() -> int:
    """Print the table, or one JSON document; the exit status is 1 if a figure is over its limit."""
    parser = argparse.ArgumentParser(description="Cost of an open tab of the overview.")
    parser.add_argument("--memories", type=int, default=100_000, help="operational memories")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the tab is watched")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    figures = asyncio.run(run(options))
    limits = {"largest_paint_ms": MOST_PAINT_MS, "scripts_kb": MOST_SCRIPTS_KB, "tab_ms": MOST_CPU_MS}
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
    else:
        table = Table("figure", "measured", "at most")
        for name, value in figures.items():
            table.add_row(name, str(value), str(limits.get(name, "")))
        Console(width=80).print(table)
    return int(any(figures[name] > most for name, most in limits.items()))


if __name__ == "__main__":
    raise SystemExit(main())
