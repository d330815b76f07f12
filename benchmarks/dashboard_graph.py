"""Measure how fluid the graph page stays with 5,000 nodes, against 500 nodes in the same run.

The script fills a home with entities that are related to each other and have five facts each, opens the graph page in
Chromium, drags the picture, turns the wheel over it, and reads the times between frames. Chromium draws without a
graphics card, so a person's machine is faster.

    python benchmarks/dashboard_graph.py [--screenshots DIRECTORY] [--json]
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from playwright.async_api import Browser, FloatRect, Page
from rich.console import Console
from rich.table import Table

from commonplace.core.clock import ManualClock
from commonplace.knowledge import EntityGraph, FactDraft
from commonplace.services.opening import Memories
from dashboard_tasks import HEIGHT, WIDTH, chromium, served

SMALL: Final = 80
FACTS: Final = 5
STEPS: Final = 60
KINDS: Final = ("person", "organization", "place", "other")
VERBS: Final = ("works with", "maintains", "reviews", "depends on", "lives near")
FIRST_FRAME: Final = """() => new Promise((done) => {
  const wait = () => (document.querySelector("#graph[data-drawn]")
    ? requestAnimationFrame(() => done(performance.now())) : setTimeout(wait, 5));
  wait();
})"""
WATCH: Final = """() => {
  window.frames_ms = [];
  let last = performance.now();
  const next = () => {
    const now = performance.now();
    window.frames_ms.push(now - last);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
READ: Final = "() => window.frames_ms.splice(0)"


async def fill(memories: Memories, _home: Path, _clock: ManualClock) -> None:
    """Store the entities and their facts; the fifth fact of an entity names another entity."""
    knowledge = memories.knowledge
    found = [
        await knowledge.entities.create(
            canonical_name=f"Node {number:03}", entity_type=KINDS[number % len(KINDS)]
        )
        for number in range(EntityGraph.MAX_LIMIT)
    ]
    drafts = [
        FactDraft(
            subject=entity.canonical_name,
            predicate=f"{VERBS[number]}",
            content=f"{found[(7 * place + 3 * number) % EntityGraph.MAX_LIMIT].canonical_name} since week {place % 52}"
            if number == FACTS - 1
            else f"Shelf {place * FACTS + number} of the archive",
            entity_id=entity.id,
        )
        for place, entity in enumerate(found)
        for number in range(FACTS)
    ]
    for start in range(0, len(drafts), 500):
        await knowledge.store_facts(drafts[start : start + 500])


def of_frames(frames: list[float]) -> dict[str, float]:
    """Return the number of frames, and the median, the 95th percentile and the longest time between two frames."""
    return {
        "frames": len(frames),
        "p50_ms": round(float(np.median(frames)), 1),
        "p95_ms": round(float(np.percentile(frames, 95)), 1),
        "max_ms": round(max(frames), 1),
    }


async def bounds(page: Page) -> FloatRect:
    """Return the place of the picture in the window."""
    box = await page.locator("#graph").bounding_box()
    if box is None:
        raise SystemExit("the page shows no picture")
    return box


async def pan(page: Page) -> None:
    """Drag the picture across the screen and back."""
    box = await bounds(page)
    x, y = box["x"] + box["width"] - 6, box["y"] + box["height"] - 6
    await page.mouse.move(x, y)
    await page.mouse.down()
    for step in range(STEPS):
        far = min(step, STEPS - step) * 8
        await page.mouse.move(x - far, y - far / 2)
    await page.mouse.up()


async def zoom(page: Page) -> None:
    """Turn the wheel over the middle of the picture, in and out."""
    box = await bounds(page)
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for step in range(STEPS):
        await page.mouse.wheel(0, -60 if step < STEPS / 2 else 60)


async def look(browser: Browser, url: str, entities: int, screenshots: Path | None) -> dict[str, Any]:
    """Open the graph of the best-known entities, move it, and return its times."""
    page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, base_url=url)
    await page.goto(f"/knowledge/graph?all=true&entities={entities}", wait_until="commit")
    drawn_ms = await page.evaluate(FIRST_FRAME)
    nodes = int(await page.locator("#graph").get_attribute("data-drawn") or 0)
    result: dict[str, Any] = {"nodes": nodes, "drawn_ms": round(drawn_ms)}
    await page.evaluate(WATCH)
    for name, move in (("pan", pan), ("zoom", zoom)):
        await page.evaluate(READ)
        await move(page)
        result[name] = of_frames(await page.evaluate(READ))
    if screenshots is not None:
        await page.get_by_role("button", name="Show all").click()
        await page.screenshot(path=screenshots / f"graph-{nodes}.png")
    await page.close()
    return result


async def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fill a home, serve it, and measure the small and the large graph."""
    with tempfile.TemporaryDirectory() as directory:
        async with served(Path(directory), fill) as url, chromium() as browser:
            sizes = (SMALL, EntityGraph.MAX_LIMIT)
            return [await look(browser, url, entities, options.screenshots) for entities in sizes]


def main() -> int:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Frame times of the graph page.")
    parser.add_argument("--screenshots", type=Path, default=None, help="where pictures of the graphs go")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    rows = asyncio.run(run(options))
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return 0
    table = Table("nodes", "drawn after", "move", "frames", "median", "p95", "longest")
    for row in rows:
        for move in ("pan", "zoom"):
            times = row[move]
            table.add_row(
                f"{row['nodes']:,}",
                f"{row['drawn_ms']} ms",
                move,
                str(times["frames"]),
                *(f"{times[key]} ms" for key in ("p50_ms", "p95_ms", "max_ms")),
            )
    Console(width=100).print(table)
    small, large = rows
    for move in ("pan", "zoom"):
        ratio = large[move]["p95_ms"] / small[move]["p95_ms"]
        print(f"{move}: the 95th percentile is {ratio:.1f} times that of {small['nodes']} nodes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
