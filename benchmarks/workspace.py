"""Measure the cost of workspace memory beyond the bare file work under it.

Each case runs next to a bare reference, in turns in one run. The figures are medians. A store is compared with what
the specification asks: open with ``O_APPEND``, write one line, fsync, close. A store into a full memory is compared
with the same plus a rewrite of all lines, which is the cost of pruning. Search and context are compared with reading
the file with ``json`` alone, as a program without a cache would on every call.

    python benchmarks/workspace.py [--rounds N] [--directory DIR] [--json]

The directory must be on a real disk. On a RAM disk fsync is free and the ratio says nothing.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from commonplace.core.clock import utc_now
from commonplace.workspace import MemoryConfig, WorkspaceMemory
from commonplace.workspace.model.memories import NoteDraft, NoteScope
from commonplace.workspace.rules.context_block import render, select
from commonplace.workspace.rules.search import search
from commonplace.workspace.store.file import MemoryStore

FACT = "service {} runs on port {} in the eu-west cluster and is deployed by the platform team on Fridays"
MESSAGE = "Which port does service 77 use, and which cluster does the platform team deploy it to?"
LINE = json.dumps(
    {"id": "m-1", "scope": "workspace", "text": FACT, "tags": ["infra"], "ts": "2026-03-01T12:00:00Z"}
)


def draft(number: int) -> NoteDraft:
    """Return a memory like those that agents store."""
    text = FACT.format(number, 5000 + number)
    return NoteDraft(text=text, scope=NoteScope.WORKSPACE, tags=("infra",), created_at=utc_now())


def append_bare(path: Path) -> None:
    """Append one line durably, as the specification describes it and nothing more."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{LINE}\n".encode())
    os.fsync(descriptor)
    os.close(descriptor)


def read_bare(path: Path) -> list[Any]:
    """Read every line of a memory file."""
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines]


def compare(
    name: str, rounds: int, measured: Callable[[int], object], bare: Callable[[], object]
) -> dict[str, Any]:
    """Run both in turns; return their medians in microseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in track(range(rounds), name, console=Console(stderr=True), transient=True):
        for kept, step in zip(times, (lambda: measured(turn), bare), strict=True):  # noqa: B023 - called at once
            start = time.perf_counter()
            step()
            kept.append(time.perf_counter() - start)
    ours, reference = (statistics.median(kept) * 1e6 for kept in times)
    return {
        "case": name,
        "us": round(ours, 1),
        "bare_us": round(reference, 1),
        "ratio": round(ours / reference, 3),
    }


async def measure_facade(workspace: Path, rounds: int) -> dict[str, Any]:
    """Time ``context`` as a host awaits it, event loop and thread included."""
    async with WorkspaceMemory.open(workspace=workspace) as memory:
        await memory.context(MESSAGE)
        times: list[float] = []
        for _ in range(rounds):
            start = time.perf_counter()
            await memory.context(MESSAGE)
            times.append(time.perf_counter() - start)
    return {"case": "context of 500, awaited", "us": round(statistics.median(times) * 1e6, 1)}


def run(directory: Path, rounds: int) -> list[dict[str, Any]]:
    """Run all cases in a directory of their own."""
    growing, full = directory / "growing", directory / "full"
    growing.mkdir()
    full.mkdir()
    store, pruning = MemoryStore(growing, max_total=10 * rounds + 500), MemoryStore(full)
    for number in range(500):
        pruning.store(draft(number))
    bare = directory / "bare.jsonl"
    drafts = [draft(turn) for turn in range(rounds)]
    results = [
        compare("store", rounds, lambda turn: store.store(drafts[turn]), lambda: append_bare(bare)),
        compare(
            "store into 500, pruning",
            rounds,
            lambda turn: pruning.store(drafts[turn]),
            lambda: append_bare(bare),
        ),
    ]
    cases: dict[str, Callable[[int], object]] = {
        "search 500, one match": lambda _: search(
            pruning.load().memories, query=f"port {5000 + rounds - 1} "
        ),
        "search 500, none": lambda _: search(pruning.load().memories, query="nowhere"),
        "context of 500": lambda _: render(
            select(pruning.load().memories, MESSAGE, MemoryConfig(), utc_now())
        ),
        "read 500 anew": lambda _: MemoryStore(full).load(),
    }
    results += [compare(name, rounds, case, lambda: read_bare(pruning.path)) for name, case in cases.items()]
    return [*results, asyncio.run(measure_facade(full, rounds))]


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument(
        "--directory", type=Path, default=None, help="where to work; the system's default otherwise"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        results = run(Path(directory), options.rounds)
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    table = Table("case", "µs", "bare, µs", "ratio", title="Workspace memory, medians")
    for result in results:
        table.add_row(result["case"], *(str(result.get(key, "")) for key in ("us", "bare_us", "ratio")))
    Console().print(table)


if __name__ == "__main__":
    main()
