"""Measure the cost of the service on top of knowledge memory, alone and with many clients.

A database of one tenant is filled, ``commonplace serve`` starts on it as a process, and every client has its own
token. Measured are: the time from the start to the first page, with a used home and a stopped embedded server; a
recall by one client as the bare function, over REST and over MCP; and all clients at once over REST and over MCP.
First each client asks at its own pace, and the time counts from the moment when a question is due. Then all clients
ask without a pause, which shows the rate that the machine can sustain. At last they do so over REST with one process,
with four, and with four behind PgBouncer, if it is installed; every process has the same database.

    python benchmarks/service.py [--size N] [--clients N] [--requests N] [--every S] [--directory D] [--json]
"""

import argparse
import asyncio
import json
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import numpy as np
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.access import Role, Tokens
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.embedded import Membership, remove_cluster
from commonplace.storage.migrations.runner import migrate_postgres
from scale_corpus import Corpus, fill, make_corpus, tenant_name
from scratch_server import scratch_server

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.pooler import PROGRAM, pooled_url, pooler

TENANT = tenant_name(0)
WARM_UP = 10
QUESTIONS = 200
COMMAND = Path(sys.executable).with_name("commonplace")
START_TIMEOUT_S = 60.0
STARTS = 3
FIRST_PAGES = ("/", "/knowledge")
PROCESSES = 4

Ask = Callable[[str], Awaitable[bool]]
"""Recall for a question; return whether there was an answer. An answer may be empty: some topics have no memory."""


@contextmanager
def served(home: Path, *arguments: str, postgres_url: str = "") -> Iterator[str]:
    """Start the service as a process, yield its address, and stop it."""
    environment = {
        "PATH": str(COMMAND.parent),
        "HOME": str(home),
        "COMMONPLACE_HOME": str(home),
        "COMMONPLACE_WORKSPACE": str(home),
    }
    if postgres_url:
        environment["COMMONPLACE_POSTGRES_URL"] = postgres_url
    command = [COMMAND, "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    try:
        yield next(word for word in _first_line(process).split() if word.startswith("http://"))
    finally:
        process.terminate()
        process.communicate()


def measure_starts(home: Path) -> dict[str, float]:
    """Start the service on a home that has been used, and return the median seconds to the first of some pages.

    Each page is the first after a start of its own, with the embedded server and the worker starting meanwhile.
    """

    def page_after_start(path: str) -> tuple[float, float]:
        began_s = time.perf_counter()
        with served(home) as url:
            line_s = time.perf_counter() - began_s
            httpx2.get(f"{url}{path}", timeout=START_TIMEOUT_S).raise_for_status()
            return line_s, time.perf_counter() - began_s

    for path in FIRST_PAGES:
        page_after_start(path)
    lines: list[float] = []
    medians: dict[str, float] = {}
    for path in FIRST_PAGES:
        starts = [page_after_start(path) for _ in range(STARTS)]
        lines += [line_s for line_s, _ in starts]
        medians[path] = round(statistics.median(page_s for _, page_s in starts), 2)
    remove_cluster(Settings(home=home, workspace=home).postgres_directory)
    return {"listens": round(statistics.median(lines), 2), **medians}


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None  # noqa: S101 - it is piped
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        if not selector.select(START_TIMEOUT_S):
            raise SystemExit(f"the service said nothing within {START_TIMEOUT_S:g} s")
    return process.stderr.readline().decode()


@asynccontextmanager
async def by_rest(service: str, token: str) -> AsyncIterator[Ask]:
    """Recall over REST on one connection."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=service, headers=headers, timeout=60) as client:

        async def ask(question: str) -> bool:
            answer = await client.get("/api/v1/knowledge/recall", params={"topic": question})
            return answer.status_code == 200

        yield ask


@asynccontextmanager
async def by_mcp(service: str, token: str) -> AsyncIterator[Ask]:
    """Recall over MCP."""
    headers = {"authorization": f"Bearer {token}"}
    transport = StreamableHttpTransport(f"{service}/mcp/knowledge/", headers=headers)
    async with Client(transport, timeout=60) as client:

        async def ask(question: str) -> bool:
            answer = await client.call_tool("memory_recall", {"topic": question}, raise_on_error=False)
            return not answer.is_error

        yield ask


@asynccontextmanager
async def by_function(settings: Settings) -> AsyncIterator[Ask]:
    """Recall by the function in this process."""
    async with KnowledgeMemory.open(settings, tenant_id=TENANT) as memory:

        async def ask(question: str) -> bool:
            await memory.recall(question)
            return True

        yield ask


async def timed(
    askers: Sequence[Ask],
    questions: Sequence[str],
    requests: int,
    advance: Callable[[], None],
    every_s: float = 0.0,
) -> dict[str, float]:
    """Let every asker ask so many questions, all at once; return milliseconds, rate and errors.

    With a pace, each asks every so many seconds, and their turns are spread over that time.
    """
    times_ms: list[float] = []
    errors = 0

    async def client(number: int, ask: Ask) -> None:
        nonlocal errors
        for turn in range(requests):
            due_s = began_s + every_s * (turn + number / len(askers))
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            asked_s = due_s if every_s else time.perf_counter()
            try:
                worked = await ask(questions[(number * requests + turn) % len(questions)])
            except Exception:  # noqa: BLE001 - whatever it was, it is one that went wrong
                worked = False
            times_ms.append((time.perf_counter() - asked_s) * 1000)
            errors += not worked
            advance()

    began_s = time.perf_counter()
    await asyncio.gather(*(client(number, ask) for number, ask in enumerate(askers)))
    seconds = time.perf_counter() - began_s
    p50, p95, most = (float(np.percentile(times_ms, share)) for share in (50, 95, 100))
    return {
        "clients": len(askers),
        "p50_ms": round(p50, 1),
        "p95_ms": round(p95, 1),
        "max_ms": round(most, 1),
        "per_s": round(len(times_ms) / seconds, 1),
        "errors": errors,
    }


async def measure(
    settings: Settings, corpus: Corpus, options: argparse.Namespace, progress: Progress
) -> dict[str, Any]:
    """Start the service on a filled database and measure it."""
    async with Tokens.open(settings) as tokens:
        await tokens.create(role=Role.ADMIN)
        issued = [await tokens.create(role=Role.READER, tenant_id=TENANT) for _ in range(options.clients)]
    secrets = [each.secret for each in issued]
    rows: dict[str, dict[str, float]] = {}
    arguments = ("--require-token", "--no-worker")
    with served(settings.home, *arguments, postgres_url=str(settings.postgres_url)) as service:
        ways = {"REST": by_rest, "MCP": by_mcp}
        total = 3 * options.alone + 4 * options.clients * options.requests
        task = progress.add_task("recalls", total=total)

        async def run(name: str, askers: Sequence[Ask], requests: int, every_s: float = 0.0) -> None:
            for question in corpus.questions[:WARM_UP]:
                await askers[0](question)
            rows[name] = await timed(
                askers, corpus.questions, requests, lambda: progress.advance(task), every_s
            )

        async with by_function(settings) as ask:
            await run("the function", [ask], options.alone)
        for name, way in ways.items():
            async with way(service, secrets[0]) as ask:
                await run(name, [ask], options.alone)
        for name, way in ways.items():
            async with AsyncExitStack() as stack:
                askers = [await stack.enter_async_context(way(service, secret)) for secret in secrets]
                await run(f"{name}, each every {options.every:g} s", askers, options.requests, options.every)
                await run(f"{name}, as fast as it goes", askers, options.requests)
    bare = rows["the function"]["p50_ms"]
    return {
        "size": options.size,
        "rest_over_function_ms": round(rows["REST"]["p50_ms"] - bare, 1),
        "mcp_over_function_ms": round(rows["MCP"]["p50_ms"] - bare, 1),
        "recall": rows,
    }


async def measure_processes(
    settings: Settings, server: Membership, corpus: Corpus, options: argparse.Namespace, progress: Progress
) -> dict[str, dict[str, float]]:
    """Let all clients recall over REST without a pause, from one process, several, and several behind a pooler."""
    async with Tokens.open(settings) as tokens:
        issued = [await tokens.create(role=Role.READER, tenant_id=TENANT) for _ in range(options.clients)]
    rows: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        direct = str(settings.postgres_url)
        ways = {"one process": (1, direct), f"{PROCESSES} processes": (PROCESSES, direct)}
        if PROGRAM is not None:
            port = stack.enter_context(pooler(server.sockets, mode="transaction", size=10))
            pooled = pooled_url(port, urlsplit(direct).path.lstrip("/"))
            ways[f"{PROCESSES} processes through PgBouncer"] = (PROCESSES, pooled)
        task = progress.add_task("processes", total=len(ways) * options.clients * options.requests)
        for name, (count, url) in ways.items():
            async with AsyncExitStack() as clients:
                services = [
                    clients.enter_context(
                        served(settings.home, "--require-token", "--no-worker", postgres_url=url)
                    )
                    for _ in range(count)
                ]
                askers = [
                    await clients.enter_async_context(by_rest(services[number % count], each.secret))
                    for number, each in enumerate(issued)
                ]
                for question, ask in zip(corpus.questions, askers[:count] * WARM_UP, strict=False):
                    await ask(question)
                rows[name] = await timed(
                    askers, corpus.questions, options.requests, lambda: progress.advance(task)
                )
    return rows


async def fill_database(url: str, admin_url: str, corpus: Corpus, progress: Progress) -> None:
    """Fill an empty, migrated database."""
    await migrate_postgres(url, "memory")
    admin = await asyncpg.connect(admin_url)
    try:
        await register_vector(admin)
        task = progress.add_task("filling", total=len(corpus.texts))
        await fill(admin, corpus, tenants=1, facts=True, advance=lambda rows: progress.advance(task, rows))
    finally:
        await admin.close()


def show(console: Console, report: dict[str, Any]) -> None:
    """Print the figures."""
    columns = ("clients", "p50_ms", "p95_ms", "max_ms", "per_s", "errors")
    for title, rows in {
        f"Recall among {report['size']:,} facts and as many episodes": report["recall"],
        "Recall over REST, as fast as it goes, by the number of processes": report["processes"],
    }.items():
        table = Table(title=title, title_justify="left")
        for column in ("by", *columns):
            table.add_column(column, justify="left" if column == "by" else "right")
        for name, row in rows.items():
            table.add_row(name, *(f"{row[column]:g}" for column in columns))
        console.print(table)
    console.print(
        f"Over the function: REST {report['rest_over_function_ms']:g} ms, MCP {report['mcp_over_function_ms']:g} ms."
    )
    starts = ", ".join(f"{name} {seconds:g}" for name, seconds in report["start_s"].items())
    console.print(f"Seconds after a start: {starts}")


def main() -> int:
    """Run the benchmark; the exit status is 1 if a request failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=100_000, help="facts, and as many episodes")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--requests", type=int, default=20, help="of each client, in each way")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two questions of a client")
    parser.add_argument("--alone", type=int, default=200, help="requests of one client alone")
    parser.add_argument("--directory", type=Path, help="where the database is for the time")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    console = Console(stderr=options.as_json)
    engine = EmbeddingEngine(EmbeddingOptions())
    corpus = make_corpus(engine, options.size, QUESTIONS)
    engine.close()
    with (
        Progress(console=Console(stderr=True)) as progress,
        scratch_server(options.directory) as server,
        tempfile.TemporaryDirectory(dir=options.directory) as home,
    ):
        settings = Settings(home=Path(home), workspace=Path(home), postgres_url=server.url())
        asyncio.run(fill_database(server.url(), server.url(role=SUPERUSER), corpus, progress))
        report = asyncio.run(measure(settings, corpus, options, progress))
        report["processes"] = asyncio.run(measure_processes(settings, server, corpus, options, progress))
    with tempfile.TemporaryDirectory(dir=options.directory) as home:
        report["start_s"] = measure_starts(Path(home))
    if options.as_json:
        print(json.dumps(report, indent=2))
    else:
        show(console, report)
    measured = [*report["recall"].values(), *report["processes"].values()]
    return 1 if any(row["errors"] for row in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
