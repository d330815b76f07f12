"""Measure how many recalls a second one server answers, and a primary with a replica, in one run.

Each server is pinned to a core of its own. The recalls run in this process, which shares these cores, so on two cores
the rate says little. The processor time of a recall on the primary says more: it limits how far replicas can take
recalls, whatever the number of cores. A recall counts its uses on the primary.

    python benchmarks/replicas.py [--size N] [--recalls N] [--json]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
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
from support.replication import Server, primary_and_replica

QUESTIONS: Final = 200
WARM_UP: Final = 20
CLIENTS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of one topology; processor times are those of one recall."""

    servers: str
    per_s: float
    primary_ms: float
    replica_ms: float


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


async def measure(
    name: str, settings: Settings, servers: tuple[Server, Server], options: argparse.Namespace
) -> Row:
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
        primary, replica = (
            1000 * (processor_s(each) - before) / count for each, before in zip(servers, spent, strict=True)
        )
    return Row(
        servers=name,
        per_s=round(count / seconds, 1),
        primary_ms=round(primary, 2),
        replica_ms=round(replica, 2),
    )


async def compare(home: Path, servers: tuple[Server, Server], options: argparse.Namespace) -> list[Row]:
    """Measure the primary alone, then the primary with its replica."""
    primary, replica = servers
    await filled(primary, options.corpus)
    alone = Settings(home=home, workspace=home, postgres_url=primary.url)
    both = alone.model_copy(update={"postgres_read_url": replica.url})
    return [
        await measure("one server", alone, servers, options),
        await measure("primary and replica", both, servers, options),
    ]


def show(rows: list[Row], size: int) -> None:
    """Print the figures."""
    table = Table(title=f"Recalls among {size:,} facts and as many episodes, {CLIENTS} clients")
    for column in ("", "recalls/s", "primary: ms of processor", "replica: ms of processor"):
        table.add_column(column, justify="right" if column else "left")
    for row in rows:
        table.add_row(row.servers, f"{row.per_s:g}", f"{row.primary_ms:g}", f"{row.replica_ms:g}")
    one, two = rows
    Console().print(table)
    print(
        f"With the replica: {two.per_s / one.per_s:.2f} times the recalls a second, "
        f"{two.primary_ms / one.primary_ms:.2f} times the processor time of a recall on the primary."
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20_000, help="facts, and as many episodes")
    parser.add_argument("--recalls", type=int, default=100, help="of each client")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    options.engine = EmbeddingEngine(EmbeddingOptions())
    options.corpus = make_corpus(options.engine, options.size, QUESTIONS)
    with primary_and_replica() as servers, tempfile.TemporaryDirectory() as home:
        for core, server in enumerate(servers):
            psutil.Process(server.process.pid).cpu_affinity([core % (psutil.cpu_count() or 1)])
        rows = asyncio.run(compare(Path(home), servers, options))
    if options.as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(rows, options.size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
