"""Measure what a sync costs: of one device that has much to tell, of one that takes it, and of both without news.

Two temporary homes with embedded databases share a folder. The first one has facts, some of which are edited later.
The vectors are computed again on arrival. Processor seconds are those of this process; the servers are not in them.

    python benchmarks/sync_cost.py [--facts N] [--json]
"""

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.table import Table

from commonplace.core.request_context import OPERATOR, request_context
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.knowledge import FactDraft, KnowledgeMemory
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.home import SyncedHome, create_home, join_home
from commonplace.storage.embedded import remove_cluster

PASSPHRASE: Final = "four words of a measurement"  # noqa: S105 - the homes are temporary
BATCH: Final = 1_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The cost of one sync.

    Attributes:
        name: Which device, and what it had to do.
        changes: The number of changes that it sent or took.
        wall_s: Seconds.
        processor_s: Processor seconds of this process.
        file_bytes: The bytes at the target afterwards.
    """

    name: str
    changes: int
    wall_s: float
    processor_s: float
    file_bytes: int


def processor_s() -> float:
    """Return the processor seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def timed(work: Awaitable[T]) -> tuple[T, float, float]:
    """Return the result of some work, and its seconds: of the clock, and of the processor."""
    began, used = time.perf_counter(), processor_s()
    result = await work
    return result, time.perf_counter() - began, processor_s() - used


async def measure(root: Path, facts: int) -> list[Step]:
    """Sync two homes, and return what each sync took."""
    carried = root / "carried"
    homes = [Settings(home=root / name, workspace=root) for name in ("laptop", "server")]
    target = SyncTarget(address=str(carried))
    steps: list[Step] = []

    async def sync(name: str, settings: Settings, memory: KnowledgeMemory) -> None:
        async with SyncedHome.open(settings) as home:
            report, wall, processor = await timed(home.sync(knowledge=memory))
        changes = report.own_changes + report.other_changes
        steps.append(
            Step(
                name=name,
                changes=changes,
                wall_s=wall,
                processor_s=processor,
                file_bytes=await asyncio.to_thread(bytes_in, carried),
            )
        )

    async with KnowledgeMemory.open(homes[0]) as laptop, KnowledgeMemory.open(homes[1]) as server:
        for first in range(0, facts, BATCH):
            numbers = range(first, min(first + BATCH, facts))
            drafts = [
                FactDraft(subject=f"host {n}", predicate="port", content=f"listens on {n} for requests")
                for n in numbers
            ]
            await laptop.store_facts(drafts)
        await server.engine.embed_async("warm")
        await create_home(homes[0], target, passphrase=PASSPHRASE, name="laptop")
        await join_home(homes[1], target, passphrase=PASSPHRASE, name="server")
        await sync("first, with all to tell", homes[0], laptop)
        await sync("second, with all to take", homes[1], server)
        await sync("first, without news", homes[0], laptop)
        await sync("second, without news", homes[1], server)
    return steps


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-sync-") as directory:
        root = Path(directory)
        try:
            with request_context(actor=OPERATOR, source=Source.PERSON):
                steps = asyncio.run(measure(root, options.facts))
        finally:
            for name in ("laptop", "server"):
                remove_cluster(Settings(home=root / name, workspace=root).postgres_directory)
    if options.as_json:
        print(json.dumps([asdict(each) for each in steps]))
        return
    table = Table("sync", "changes", "seconds", "processor seconds", "bytes at the target")
    for each in steps:
        table.add_row(
            each.name,
            f"{each.changes:,}",
            f"{each.wall_s:.2f}",
            f"{each.processor_s:.2f}",
            f"{each.file_bytes:,}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
