"""Measure the processor time of an open overview tab, for the service and its database server together.

A minute of the tab is played in process on 100,000 memories of each kind. The former tab asked for the whole page every
5 s and for each card that loads itself every 15 s. The tab of today asks every 3 s with the stamp that it shows, and
loads the page when the stamp changes, which it does each minute, and the cards when a memory changed.

    python benchmarks/dashboard_live.py [--memories N] [--directory D]

The exit status is 1 if the tab costs over 10 ms of processor time each 3 s.
"""

import argparse
import asyncio
import re
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import httpx2
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.table import Table

from commonplace.access import Tokens
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingOptions, get_embedding_engine
from commonplace.services.opening import Memories
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.web.service import create_app
from dashboard_corpus import fill_knowledge, fill_operations
from scale_corpus import make_corpus
from scratch_server import scratch_server

MOST_MS = 10.0
MINUTE_S, STEP_S = 60, 3
CARD = re.compile(r'hx-get="(/overview/[\w-]+)"')
STAMP = re.compile(r'hx-get="(/\?stamp=[\w-]+)"')
TICKS_S = 100
PART = {"hx-request": "true"}


def processor_s(backends: list[int]) -> float:
    """Return the processor time of this process and of the processes of database connections, in seconds."""
    total = time.process_time()
    for backend in backends:
        fields = Path(f"/proc/{backend}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS_S
    return total


async def play(client: httpx2.AsyncClient, requests: list[str]) -> None:
    """Send requests one after the other."""
    for path in requests:
        (await client.get(path, headers=PART)).raise_for_status()


async def measure(options: argparse.Namespace, url: str, admin_url: str) -> dict[str, float]:
    """Return the milliseconds of processor time each 3 s, before and now."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.directory)))
        settings = Settings(home=home, workspace=home, postgres_url=url)
        corpus = make_corpus(get_embedding_engine(EmbeddingOptions()), options.memories, 1)
        admin = await asyncpg.connect(admin_url)
        stack.push_async_callback(admin.close)
        await register_vector(admin)
        await fill_knowledge(admin, corpus, lambda _rows: None, of_installation=True)
        memories = await stack.enter_async_context(Memories.open(settings))
        fill_operations(settings.database_path, corpus.texts)
        tokens = await stack.enter_async_context(Tokens.open(settings))
        transport = httpx2.ASGITransport(app=create_app(memories, tokens=tokens, settings=settings))
        client = await stack.enter_async_context(
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        )
        await memories.knowledge.stats()
        cards = CARD.findall((await client.get("/")).text)
        await play(client, ["/", *cards])
        stamp = STAMP.findall((await client.get("/", headers=PART)).text)[0]
        played = {
            "before": ["/"] * (MINUTE_S // 5) + cards * (MINUTE_S // 15),
            "now": ["/", *["/overview/health"] * (MINUTE_S // 15), *[stamp] * (MINUTE_S // STEP_S - 1)],
        }
        backends = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        found: dict[str, float] = {}
        for name, requests in played.items():
            pids = [row["pid"] for row in await admin.fetch(backends)]
            began = processor_s(pids)
            await play(client, requests)
            found[name] = round(1000 * (processor_s(pids) - began) * STEP_S / MINUTE_S, 1)
        return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Processor time of an open overview tab.")
    parser.add_argument("--memories", type=int, default=100_000, help="of each kind (default: 100,000)")
    parser.add_argument("--directory", type=Path, default=None, help="where the server is set up")
    options = parser.parse_args()
    with scratch_server(options.directory) as server:
        asyncio.run(migrate_postgres(server.url(), "memory"))
        found = asyncio.run(measure(options, server.url(), server.url(role=SUPERUSER)))
    table = Table("tab", "ms of processor time each 3 s", title=f"{options.memories:,} memories of each kind")
    for name, cost in found.items():
        table.add_row(name, f"{cost:g}")
    Console(width=90).print(table)
    return int(found["now"] > MOST_MS)


if __name__ == "__main__":
    raise SystemExit(main())
