"""Measure what an open tab of the overview costs, and how soon the overview is painted, with 100,000 memories.

The script fills operational memory, stores 200 facts, serves them, and opens the overview in Chromium on loopback. The
processor time is that of the service and of its PostgreSQL server, less what they need without a tab. Idle tabs ask
every three seconds.

    python benchmarks/dashboard_tab.py [--memories N] [--seconds S] [--json]
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from playwright.async_api import Browser, async_playwright
from rich.console import Console
from rich.table import Table

from commonplace.core.clock import ManualClock
from commonplace.knowledge import FactDraft
from commonplace.memories import Memories
from dashboard_corpus import fill_operations
from dashboard_tasks import HEIGHT, WIDTH, served

ASKS_EVERY_S: Final = 3.0
OPENED: Final = 10
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


def processor_s() -> float:
    """Return the processor time so far of this process, which serves, and of PostgreSQL, in seconds."""
    servers = [each for each in psutil.process_iter(["name"]) if each.info["name"] == "postgres"]
    return time.process_time() + sum(sum(each.cpu_times()[:4]) for each in servers)


async def spent_ms(seconds: float) -> float:
    """Return the processor time of the next seconds, in milliseconds for each question of a tab."""
    before = processor_s()
    await asyncio.sleep(seconds)
    return (processor_s() - before) * 1000 * ASKS_EVERY_S / seconds


async def look(browser: Browser, url: str, seconds: float) -> dict[str, Any]:
    """Open the overview several times, leave one tab open, and return the figures."""
    paints: list[float] = []
    scripts = 0.0
    for _ in range(OPENED):
        context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, base_url=url)
        page = await context.new_page()
        await page.goto("/", wait_until="networkidle")
        paints.append(await page.evaluate(LARGEST_PAINT))
        scripts = await page.evaluate(SCRIPTS)
        await context.close()
    without_ms = await spent_ms(seconds)
    page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, base_url=url)
    await page.goto("/", wait_until="networkidle")
    with_ms = await spent_ms(seconds)
    return {
        "largest_paint_ms": round(float(np.median(paints)), 1),
        "scripts_kb": round(scripts / 1000, 1),
        "without_tab_ms": round(without_ms, 1),
        "tab_ms": round(with_ms - without_ms, 1),
    }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fill a home, serve it, and measure."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
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
        async with served(Path(directory), fill) as url, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            figures = await look(browser, url, options.seconds)
            await browser.close()
            return figures


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
