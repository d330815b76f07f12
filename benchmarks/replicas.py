"""Measure how many recalls a second one, two and three servers answer, in one run.

The read URL names all servers, so the primary takes its turn. Each server is pinned to a core. On few cores, recalls
of this process and the servers compete. With --share, each server therefore gets only a share of its core, as on a
small machine of its own, and this process gets the rest. The limit needs root and control groups of version 1. A recall
counts its uses on the primary.

    python benchmarks/replicas.py [--size N] [--recalls N] [--share S] [--json]
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import asyncpg
import psutil
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.storage.migrations.runner import migrate_postgres
from scale_corpus import Corpus, fill, make_corpus, tenant_name
from support.replication import Server, all_of, primary_and_replicas

QUESTIONS: Final = 200
WARM_UP: Final = 20
CLIENTS: Final = 8
REPLICAS: Final = 2
GROUPS: Final = Path("/sys/fs/cgroup/cpu")
PERIOD_US: Final = 5_000
WEIGHT: Final = "262144"
"""The largest: other programs wait for the servers, up to their share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of some servers; processor times are those of one recall, of all replicas together."""

    servers: int
    per_s: float
    primary_ms: float
    replicas_ms: float


def processor_s(server: Server) -> float:
    """Return the processor time of a server and of all its processes so far."""
    main = psutil.Process(server.process.pid)
    own = main.cpu_times()
    live = [each.cpu_times() for each in main.children(recursive=True)]
    return own.children_user + own.children_system + sum(each.user + each.system for each in (own, *live))


async def filled(primary: Server, corpus: Corpus) -> None:
    """Fill the primary."""
    await migrate_postgres(primary.url, "memory")
    admin = await asyncpg.connect(primary.url)
    await register_vector(admin)
    await fill(admin, corpus, tenants=1, facts=True, advance=lambda _rows: None)
    await admin.execute("VACUUM ANALYZE")
    await admin.close()


async def measure(settings: Settings, servers: Sequence[Server], options: argparse.Namespace) -> Row:
    """Recall with several clients at once; return rate and processor times."""
    async with KnowledgeMemory.open(settings, tenant_id=tenant_name(0), engine=options.engine) as memory:
        if memory.database.replicas is not None:
            while any(each.fault for each in await memory.database.replicas.states()):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.1)

        async def client(number: int, recalls: int) -> None:
            for turn in range(recalls):
                await memory.recall(options.corpus.questions[(number * recalls + turn) % QUESTIONS])

        async def all_clients(recalls: int) -> None:
            await asyncio.gather(*(client(number, recalls) for number in range(CLIENTS)))

        await all_clients(WARM_UP)
        began_s, spent = time.perf_counter(), [processor_s(each) for each in servers]
        await all_clients(options.recalls)
        seconds, count = time.perf_counter() - began_s, CLIENTS * options.recalls
        primary, *replicas = (
            1000 * (processor_s(each) - before) / count for each, before in zip(servers, spent, strict=True)
        )
    return Row(
        servers=len(servers),
        per_s=round(count / seconds, 1),
        primary_ms=round(primary, 2),
        replicas_ms=round(sum(replicas), 2),
    )


@contextmanager
def control_groups(share: float) -> Iterator[list[Path]]:
    """Make a control group for each server, with a share of a core; delete the groups after their processes ended."""
    names = [f"commonplace-{os.getpid()}-{number}" for number in range(REPLICAS + 1)]
    groups = [GROUPS / name for name in names] if share < 1 else []
    for group in groups:
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(PERIOD_US * share)))
        (group / "cpu.shares").write_text(WEIGHT)
    try:
        yield groups
    finally:
        for group in groups:
            group.rmdir()


def confine(servers: Sequence[Server], groups: Sequence[Path]) -> None:
    """Pin each server to a core, and put it into its control group."""
    for number, server in enumerate(servers):
        main = psutil.Process(server.process.pid)
        for process in (main, *main.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, ProcessLookupError):  # such as a worker that ended
                process.cpu_affinity([number % (psutil.cpu_count() or 1)])
                if groups:
                    (groups[number] / "cgroup.procs").write_text(str(process.pid))


async def compare(home: Path, servers: Sequence[Server], options: argparse.Namespace) -> list[Row]:
    """Measure the primary alone, then the primary with more and more replicas."""
    await filled(servers[0], options.corpus)
    settings = Settings(home=home, workspace=home, postgres_url=servers[0].url)
    confine(servers, options.groups)
    rows = [await measure(settings, servers[:1], options)]
    for count in range(2, len(servers) + 1):
        there = settings.model_copy(update={"postgres_read_url": all_of(*servers[:count])})
        rows.append(await measure(there, servers[:count], options))
    return rows


def show(rows: list[Row], options: argparse.Namespace) -> None:
    """Print the figures."""
    limit = f"each server has {options.share:g} of a core"
    print(f"Recalls among {options.size:,} facts and as many episodes, {CLIENTS} clients; {limit}")
    table = Table()
    for column in ("servers", "recalls/s", "ratio", "primary: ms of processor", "replicas: ms of processor"):
        table.add_column(column, justify="right")
    for row in rows:
        figures = (row.servers, row.per_s, row.per_s / rows[0].per_s, row.primary_ms, row.replicas_ms)
        table.add_row(*(f"{figure:.3g}" for figure in figures))
    Console().print(table)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20_000, help="facts, and as many episodes")
    parser.add_argument("--recalls", type=int, default=100, help="of each client")
    parser.add_argument("--share", type=float, default=1.0, help="of a core, for each server")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    options.engine = EmbeddingEngine(EmbeddingOptions())
    options.corpus = make_corpus(options.engine, options.size, QUESTIONS)
    with (
        control_groups(options.share) as options.groups,
        primary_and_replicas(REPLICAS) as servers,
        tempfile.TemporaryDirectory() as home,
    ):
        rows = asyncio.run(compare(Path(home), servers, options))
    if options.as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(rows, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
