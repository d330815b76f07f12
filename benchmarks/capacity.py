"""Print the machines, memory, disk and money that tenants, memories and recalls need, from costs measured here.

Four databases of growing size are filled, each with ten tenants. Measured are the disk that a memory takes, and the
processor time of a recall in the service's process and in the server's. The model takes its costs from the two smaller
databases: disk grows with the memories, the server's time with the memories of a tenant. The two larger databases show
how far the model is off. Then it carries the costs over to the load that was asked for. Beyond the sizes that were
measured it is a guess: measure tenants of about the right size, for which each tenant of the largest database has 1.6
times --size memories.

With --day, the command also simulates a day on the planned machines: with all of them, without one service machine in
the busiest hour, and with a failover of the server in that hour. It checks the simulation on this machine at two rates.

    python benchmarks/capacity.py --tenants N --memories M --recalls R [--day] [--cores C] [--ram GB] [--size S]
        [--prices CORE RAM DISK]
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import asyncpg
import numpy as np
import psutil
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.table import Table

import capacity_day
from capacity_day import HOUR_S, Loss, Recalls
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from scale_corpus import Corpus, fill, make_corpus, tenant_name
from scratch_server import scratch_server

TENANTS: Final = 10
RECALLS: Final = 200
WARM_UP: Final = 20
POINTS: Final = 4
USED: Final = 0.5
"""The share of the processors that a plan may use; the rest is for peaks, upkeep and the loss of a machine."""

SEARCHED_BY_ROW: Final = 20_000
"""Memories of a tenant up to which a search in a large table compares each vector. Source: ADR 0010."""

FAILOVER_S: Final = 20.0
"""Seconds without a primary. Source: `make cluster` with packaging/patroni.yml."""

RATES: Final = (0.3, 0.6)
"""The shares of this machine's processors at which the simulation is checked."""

SERVERS: Final = 3
"""PostgreSQL servers to pay for: a primary and the two replicas of packaging/patroni.yml."""

PRICES: Final = (20.0, 3.0, 0.1)
"""Prices of a core, a GB of memory and a GB of disk for a month. An assumption; every provider has its own."""

GROWTH: Final = 2.0
"""Disk for each byte of tables and indexes: the log, dead rows, and room to build an index."""

_SIZES: Final = """
SELECT pg_database_size(current_database()) AS disk, (
    SELECT CAST(sum(pg_relation_size(indexrelid)) AS bigint) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relname LIKE 'idx_%_embedding'
) AS vectors
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The measured costs of one database.

    Attributes:
        memories: Episodes, facts and rules of all tenants.
        disk_bytes: The disk of the filled database.
        vectors_bytes: The indexes on vectors, which belong into memory.
        service_ms: Processor time of a recall in the process that computes its vector.
        server_ms: Processor time of a recall in PostgreSQL.
        service_rss_bytes: The memory of the process.
        loads: For each rate: recalls a second, and the median and 95 % milliseconds, measured and simulated.
    """

    memories: int
    disk_bytes: int
    vectors_bytes: int
    service_ms: float
    server_ms: float
    service_rss_bytes: int
    loads: list[dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Machines, memory and disk for a load, and the price of all machines for a month."""

    disk_gb: float
    vectors_gb: float
    server_cores: int
    service_cores: int
    service_machines: int
    service_ram_gb: float
    price: float


async def measure(
    engine: EmbeddingEngine,
    corpus: Corpus,
    size: int,
    url: str,
    admin_url: str,
    home: Path,
    rates: Sequence[float],
) -> Point:
    """Fill an empty database with a part of a corpus and measure recalls in it, also under load at some rates."""
    part = Corpus(
        texts=corpus.texts[:size],
        vectors=corpus.vectors[:size],
        questions=corpus.questions,
        question_vectors=corpus.question_vectors,
    )
    await migrate_postgres(url, "memory")
    admin = await asyncpg.connect(admin_url)
    await register_vector(admin)
    await fill(admin, part, tenants=TENANTS, facts=True, advance=lambda _: None)
    sizes = await admin.fetchrow(_SIZES)
    count = await admin.fetchval("SELECT (SELECT count(*) FROM rules)") + 2 * size
    postmaster = psutil.Process(await admin.fetchval("SELECT pg_backend_pid()")).parent()
    await admin.close()
    settings = Settings(home=home, workspace=home, postgres_url=url)
    async with KnowledgeMemory.open(settings, engine=engine) as memory:
        sessions = [
            memory.acting_for(tenant_id=tenant_name(each), actor="capacity") for each in range(TENANTS)
        ]
        for number in range(WARM_UP):
            await sessions[number % TENANTS].recall(part.questions[number % len(part.questions)])
        before = _times(postmaster)
        for number in range(RECALLS):
            await sessions[number % TENANTS].recall(part.questions[number % len(part.questions)])
        after = _times(postmaster)
        service_ms, server_ms = ((after[each] - before[each]) * 1000 / RECALLS for each in (0, 1))

        async def ask(number: int) -> None:
            await sessions[number % TENANTS].recall(part.questions[number % len(part.questions)])

        loads = [await _under_load(ask, share, service_ms, server_ms) for share in rates]
    return Point(
        memories=count,
        disk_bytes=sizes["disk"],
        vectors_bytes=sizes["vectors"],
        service_ms=round(service_ms, 2),
        server_ms=round(server_ms, 2),
        service_rss_bytes=psutil.Process().memory_info().rss,
        loads=loads,
    )


async def _under_load(
    ask: Callable[[int], Awaitable[None]], share: float, service_ms: float, server_ms: float
) -> dict[str, float]:
    """Recall at random moments, at a rate that takes a share of the processors; return measurement and simulation."""
    cores = psutil.cpu_count() or 1
    per_s = share * cores * 1000 / (service_ms + server_ms)
    random = np.random.default_rng(1)
    at_s = np.cumsum(random.exponential(1 / per_s, RECALLS))
    measured_ms: list[float] = []

    async def one(number: int, due_s: float) -> None:
        await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        await ask(number)
        measured_ms.append((time.perf_counter() - due_s) * 1000)

    began_s = time.perf_counter()
    await asyncio.gather(*(one(number, began_s + at) for number, at in enumerate(at_s)))
    # Service and server share the processors of this machine.
    work_s = random.exponential((service_ms + server_ms) / 1000, RECALLS)
    recalls = Recalls(at_s=at_s, service_s=work_s, server_s=np.zeros(RECALLS))
    simulated_ms = capacity_day.latencies(recalls, service_cores=cores, server_cores=cores) * 1000
    return {
        "per_s": round(per_s, 1),
        **{f"measured_p{p}_ms": round(float(np.percentile(measured_ms, p)), 1) for p in (50, 95)},
        **{f"simulated_p{p}_ms": round(float(np.percentile(simulated_ms, p)), 1) for p in (50, 95)},
    }


def _times(postmaster: psutil.Process | None) -> tuple[float, float]:
    """Return the processor seconds of this process, and of the server's."""
    assert postmaster is not None  # noqa: S101 - a backend has a parent
    own = psutil.Process().cpu_times()
    backends = [child.cpu_times() for child in postmaster.children()]
    return own.user + own.system, sum(each.user + each.system for each in backends)


class Model:
    """Costs from two measured points.

    Args:
        small: The smaller one.
        large: The larger one.
    """

    def __init__(self, small: Point, large: Point) -> None:
        more = large.memories - small.memories
        self._bytes_each = (large.disk_bytes - small.disk_bytes) / more
        self._bytes_before = small.disk_bytes - self._bytes_each * small.memories
        self._ms_each = max(0.0, large.server_ms - small.server_ms) / (more / TENANTS)
        self._ms_before = small.server_ms - self._ms_each * small.memories / TENANTS
        self.vectors_each = large.vectors_bytes / large.memories
        self.service_ms = (small.service_ms + large.service_ms) / 2

    def disk_bytes(self, memories: int) -> float:
        """Return the disk of tables and indexes for all memories."""
        return self._bytes_before + self._bytes_each * memories

    def server_ms(self, memories_a_tenant: float) -> float:
        """Return the server's processor time of a recall in a tenant."""
        return self._ms_before + self._ms_each * min(memories_a_tenant, SEARCHED_BY_ROW)


def plan(model: Model, options: argparse.Namespace, rss_bytes: int) -> Plan:
    """Carry measured costs over to the load that the options name."""
    memories, cores = options.tenants * options.memories, options.cores
    service_cores = math.ceil(options.recalls * model.service_ms / 1000 / USED)
    server_ms = model.server_ms(options.memories)
    if options.day:  # most recalls are in the tenants with the most memories
        load, cost_ms = capacity_day.tenants_of(options.tenants, options.memories, model.server_ms)
        server_ms = float(load @ cost_ms)
    # One process computes vectors on all cores of its machine.
    machines = max(2, math.ceil(service_cores / cores))
    server_cores = math.ceil(options.recalls * server_ms / 1000 / USED)
    disk_gb = round(model.disk_bytes(memories) * GROWTH / 1e9, 1)
    vectors_gb = round(model.vectors_each * memories / 1e9, 1)
    ram_gb = round(max(options.ram, 1.5 * rss_bytes / 1e9), 1)
    bought = (
        SERVERS * server_cores + machines * cores,
        SERVERS * (vectors_gb + options.ram) + machines * ram_gb,
        SERVERS * disk_gb,
    )
    return Plan(
        disk_gb=disk_gb,
        vectors_gb=vectors_gb,
        server_cores=server_cores,
        service_cores=service_cores,
        service_machines=machines,
        service_ram_gb=ram_gb,
        price=round(sum(map(math.prod, zip(bought, options.prices, strict=True)))),
    )


def simulate(model: Model, planned: Plan, options: argparse.Namespace) -> dict[str, list[float]]:
    """Return recalls a second and latencies of hours of a day on the planned machines."""
    recalls = capacity_day.a_day(
        tenants=options.tenants,
        memories=options.memories,
        recalls=options.recalls,
        service_ms=model.service_ms,
        server_ms=model.server_ms,
    )
    cores = {
        "service_cores": planned.service_machines * options.cores,
        "server_cores": planned.server_cores,
    }
    busiest_s = capacity_day.BUSIEST * HOUR_S
    machine = Loss(at_s=busiest_s, until_s=busiest_s + HOUR_S, cores=options.cores)
    server = Loss(at_s=busiest_s, until_s=busiest_s + FAILOVER_S, cores=planned.server_cores)
    all_there = capacity_day.latencies(recalls, **cores)
    without_machine = capacity_day.latencies(recalls, **cores, service_loss=machine)
    failed_over = capacity_day.latencies(recalls, **cores, server_loss=server)
    return {
        name: [round(each, 1) for each in capacity_day.of_hour(recalls, seconds, hour)]
        for name, seconds, hour in (
            ("quietest hour", all_there, capacity_day.QUIETEST),
            ("busiest hour", all_there, capacity_day.BUSIEST),
            ("busiest hour, one service machine lost", without_machine, capacity_day.BUSIEST),
            (f"busiest hour, {FAILOVER_S:g} s without a primary", failed_over, capacity_day.BUSIEST),
        )
    }


def show_day(console: Console, points: list[Point], day: dict[str, list[float]]) -> None:
    """Print the check of the simulation and the simulated day."""
    table = Table(title="The simulation against measurement on this machine, ms", title_justify="left")
    for column in ("memories", "recalls a second", "p50", "simulated", "p95", "simulated"):
        table.add_column(column, justify="right")
    for point in points:
        for load in point.loads:
            numbers = ("per_s", "measured_p50_ms", "simulated_p50_ms", "measured_p95_ms", "simulated_p95_ms")
            table.add_row(f"{point.memories:,}", *(f"{load[each]:g}" for each in numbers))
    console.print(table)
    table = Table(title="A simulated day, ms", title_justify="left")
    for column in ("hour", "recalls a second", "p50", "p95", "p99"):
        table.add_column(column, justify="left" if column == "hour" else "right")
    for name, numbers in day.items():
        table.add_row(name, *(f"{each:g}" for each in numbers))
    console.print(table)


def show(
    console: Console, points: list[Point], model: Model, planned: Plan, options: argparse.Namespace
) -> None:
    """Print the check of the model and the plan."""
    table = Table(title="The model, from the first two rows, against measurement", title_justify="left")
    for column in (
        "memories",
        "disk MB",
        "model",
        "off by",
        "service ms",
        "server ms",
        "recall, model",
        "off by",
    ):
        table.add_column(column, justify="right")
    for point in points:
        expected = model.disk_bytes(point.memories)
        spent = point.service_ms + point.server_ms
        modelled = model.service_ms + model.server_ms(point.memories / TENANTS)
        table.add_row(
            f"{point.memories:,}",
            f"{point.disk_bytes / 1e6:.0f}",
            f"{expected / 1e6:.0f}",
            f"{expected / point.disk_bytes - 1:+.0%}",
            f"{point.service_ms:.1f}",
            f"{point.server_ms:.1f}",
            f"{modelled:.1f}",
            f"{modelled / spent - 1:+.0%}",
        )
    console.print(table)
    core, ram, disk = options.prices
    console.print(
        f"{options.tenants:,} tenants of {options.memories:,} memories, {options.recalls:g} recalls a second:\n"
        f"PostgreSQL: processor cores {planned.server_cores}, disk {planned.disk_gb:g} GB, "
        f"memory for the indexes on vectors {planned.vectors_gb:g} GB\n"
        f"Services: processor cores {planned.service_cores}, "
        f"machines of {options.cores} cores {planned.service_machines}, "
        f"memory of each {planned.service_ram_gb:g} GB\n"
        f"Processors are {USED:.0%} busy. One service may fail. Each replica needs the same as the primary.\n"
        f"Money for a month: {planned.price:,.0f}, with {SERVERS} PostgreSQL servers, at "
        f"{core:g} for a core, {ram:g} for a GB of memory, {disk:g} for a GB of disk.",
        soft_wrap=True,
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--memories", type=int, default=2_000, help="of each tenant")
    parser.add_argument("--recalls", type=float, default=50.0, help="a second, of all tenants")
    parser.add_argument(
        "--day", action="store_true", help="simulate a day with skewed load and lost machines"
    )
    parser.add_argument("--cores", type=int, default=4, help="of a machine for services")
    parser.add_argument("--ram", type=float, default=2.0, help="GB of a machine for services, at least")
    parser.add_argument(
        "--size", type=int, default=2_000, help="texts of the smallest database; each is stored twice"
    )
    parser.add_argument(
        "--prices",
        type=float,
        nargs=3,
        default=PRICES,
        metavar=("CORE", "RAM", "DISK"),
        help="of a core, and of a GB of memory and of disk, for a month, in any currency",
    )
    parser.add_argument("--directory", type=Path, help="where the databases are for the time")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    sizes = [options.size * 2**step for step in range(POINTS)]
    engine = EmbeddingEngine(EmbeddingOptions())
    corpus = make_corpus(engine, sizes[-1], WARM_UP + RECALLS)
    points: list[Point] = []
    for size in sizes:
        with (
            scratch_server(options.directory) as server,
            tempfile.TemporaryDirectory(dir=options.directory) as home,
        ):
            admin_url = server.url(role=SUPERUSER)
            rates = RATES if options.day and size == sizes[-1] else ()
            points.append(
                asyncio.run(measure(engine, corpus, size, server.url(), admin_url, Path(home), rates))
            )
    engine.close()
    model = Model(points[0], points[1])
    planned = plan(model, options, points[-1].service_rss_bytes)
    day = simulate(model, planned, options) if options.day else {}
    if options.as_json:
        report = {"points": [asdict(point) for point in points], "plan": asdict(planned), "day": day}
        print(json.dumps(report, indent=2))
    else:
        show(Console(), points, model, planned, options)
        if options.day:
            show_day(Console(), points, day)
    return 0


if __name__ == "__main__":
    sys.exit(main())
