"""Measure the server time of each page of the dashboard with 100,000 memories of each kind.

A scratch database gets episodes and facts with their entities, links and audit stream, and a scratch SQLite file gets
operational memories. Each page is requested several times in process, without a network. The table shows the slowest
pages first. Then a batch of facts is stored with and without the indexes of the lists.

    python benchmarks/dashboard.py [--memories N] [--repeats N] [--only TEXT] [--directory D] [--json]

The exit status is 1 if the median of a page is over 200 ms.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import numpy as np
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.access import Role, Tokens
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingOptions, get_embedding_engine
from commonplace.knowledge import FactOrder, RuleOrder
from commonplace.services.opening import Memories
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.web.service import create_app
from dashboard_corpus import TENANT, fill_knowledge, fill_operations
from scale_corpus import Corpus, make_corpus
from scratch_server import scratch_server

MOST_MS = 200.0
LAST_PAGES = 50
HALF_A_YEAR = timedelta(days=182)
WORKERS = "/workers"
"""A page of the installation, like those of operations; the other pages belong to a tenant."""
STORED = 2_000
ROUNDS = 6

FACTS = """
INSERT INTO facts (tenant_id, subject, predicate, content, search_vector, embedding)
SELECT 'stored', gen_random_uuid()::text, 'said', content, search_vector, embedding FROM facts
WHERE tenant_id = $1 LIMIT $2
"""


FILTERS = {
    "two words": "search=kitchen+light",
    "no such word": "search=xyzzy",
    "a tag": "tag=pinned",
    "never used": "used=no",
    "of persons": "source=person",
    "of a butler": "butler=nobody",
    "of little confidence": "confidence=0.2",
}


def pages(size: int, ids: dict[str, UUID], question: str) -> dict[str, str]:
    """Return the address of every page by its name."""
    words = "+".join(question.split())
    last = max(0, size - LAST_PAGES)
    return {
        "overview": "/",
        "sessions": "/sessions",
        "events": "/events",
        "events, last page": f"/events?offset={last}",
        "memories": "/memories",
        "memories, by confidence": "/memories?sort=confidence",
        "memories, latest": "/memories?sort=recency",
        "memories, a word": "/memories?search=kitchen",
        "memories, last page": f"/memories?offset={last}",
        "cooldowns": "/cooldowns",
        "knowledge": "/knowledge",
        **{
            f"search, {mode}": f"/knowledge?q={words}&mode={mode}"
            for mode in ("hybrid", "keyword", "contextual", "recall")
        },
        "facts": "/knowledge/facts",
        **{
            f"facts, {state}": f"/knowledge/facts?state={state}"
            for state in ("active", "fading", "superseded", "retracted")
        },
        "facts, another scope": "/knowledge/facts?scope=nowhere",
        **{f"facts, by {order}": f"/knowledge/facts?sort={order}" for order in FactOrder},
        **{
            f"facts, by {order}, last page": f"/knowledge/facts?sort={order}&before=end"
            for order in FactOrder
        },
        **{f"rules, by {order}": f"/knowledge/rules?sort={order}" for order in RuleOrder},
        **{
            f"rules, by {order}, last page": f"/knowledge/rules?sort={order}&before=end"
            for order in RuleOrder
        },
        **{
            f"{kind}, {name}": f"/knowledge/{kind}?{query}"
            for kind in ("facts", "rules")
            for name, query in FILTERS.items()
        },
        "facts, a meaning": f"/knowledge/facts?search={words}&match=meaning",
        "facts, known today": f"/knowledge/facts?as_of={datetime.now(UTC):%Y-%m-%d}",
        "facts, known half a year ago": f"/knowledge/facts?as_of={datetime.now(UTC) - HALF_A_YEAR:%Y-%m-%d}",
        "facts, known before the first": "/knowledge/facts?as_of=2000-01-01",
        "facts, of an entity": f"/knowledge/facts?entity={ids['entity']}",
        "fact": f"/knowledge/facts/{ids['fact']}",
        "rules": "/knowledge/rules",
        "rule": f"/knowledge/rules/{ids['rule']}",
        "episodes": "/knowledge/episodes",
        **{
            f"episodes, {state}": f"/knowledge/episodes?state={state}"
            for state in ("pending", "failed", "dead_letter")
        },
        "episodes, another butler": "/knowledge/episodes?butler=nobody",
        "episodes, last page": f"/knowledge/episodes?offset={last}",
        "episode": f"/knowledge/episodes/{ids['fact']}",
        "entities": "/knowledge/entities",
        "entities, a name": "/knowledge/entities?name=person+49",
        "entity": f"/knowledge/entities/{ids['entity']}",
        "graph": "/knowledge/graph",
        "graph, data": "/knowledge/graph/data",
        "graph, of an entity": f"/knowledge/graph?entity={ids['entity']}",
        "audit": "/knowledge/events",
        "audit, a type": "/knowledge/events?type=fact_confirmed",
        "audit, an actor": "/knowledge/events?actor=rare",
        "audit, a memory": f"/knowledge/events?memory={ids['fact']}",
        "audit, a run": f"/knowledge/events?run={ids['run']}",
        "audit, last page": f"/knowledge/events?offset={2 * size - LAST_PAGES}",
        "runs": "/knowledge/runs",
        "run": f"/knowledge/runs/{ids['run']}",
        "workers": WORKERS,
    }


async def time_pages(
    operator: httpx2.AsyncClient,
    tenant: httpx2.AsyncClient,
    wanted: dict[str, str],
    repeats: int,
    progress: Progress,
) -> dict[str, dict[str, float]]:
    """Return the milliseconds of each page, its first request apart."""
    task = progress.add_task("pages", total=len(wanted))
    found: dict[str, dict[str, float]] = {}
    for name, path in wanted.items():
        times: list[float] = []
        for _ in range(repeats + 1):
            client = tenant if path.startswith("/knowledge") and path != WORKERS else operator
            began_s = time.perf_counter()
            answer = await client.get(path)
            times.append((time.perf_counter() - began_s) * 1000)
            if answer.status_code != HTTPStatus.OK:
                raise SystemExit(f"{path} answered {answer.status_code}: {answer.text[:300]}")
        found[name] = {
            "first_ms": round(times[0], 1),
            "p50_ms": round(float(np.median(times[1:])), 1),
            "max_ms": round(max(times[1:]), 1),
            "kB": round(len(answer.content) / 1024, 1),
        }
        progress.advance(task)
    return found


ENTRIES = """
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT 'stored', event_type, payload FROM memory_events WHERE tenant_id = $1 LIMIT $2
"""


async def cost_of_indexes(
    admin: asyncpg.Connection, statement: str, indexes: Sequence[str]
) -> dict[str, Any]:
    """Store batches with and without the indexes of the lists, in turn; roll each batch back."""
    times: dict[str, list[float]] = {"with": [], "without": []}
    for round_ in range(ROUNDS):
        which = "without" if round_ % 2 else "with"
        transaction = admin.transaction()
        await transaction.start()
        if which == "without":
            await admin.execute(f"DROP INDEX {', '.join(indexes)}")
        began_s = time.perf_counter()
        await admin.execute(statement, TENANT, STORED, timeout=600)
        times[which].append(time.perf_counter() - began_s)
        await transaction.rollback()
    size = sum(
        [await admin.fetchval("SELECT pg_relation_size($1::text::regclass)", name) for name in indexes]
    )
    each = {which: round(1e6 * float(np.median(taken)) / STORED, 1) for which, taken in times.items()}
    return {"us_a_row": each, "mb": round(size / 1024**2, 1)}


async def measure(
    urls: tuple[str, str], corpus: Corpus, options: argparse.Namespace, progress: Progress
) -> dict[str, Any]:
    """Fill the databases, request every page, and store with and without the indexes."""
    url, admin_url = urls
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.directory)))
        settings = Settings(home=home, workspace=home, postgres_url=url)
        admin = await asyncpg.connect(admin_url)
        stack.push_async_callback(admin.close)
        await register_vector(admin)
        task = progress.add_task("memories", total=len(corpus.texts))
        await fill_knowledge(admin, corpus, lambda rows: progress.advance(task, rows))
        ids = {
            name: await admin.fetchval(query)
            for name, query in {
                "fact": "SELECT id FROM facts WHERE supersedes_id IS NOT NULL AND validity = 'active' LIMIT 1",
                "rule": "SELECT id FROM rules LIMIT 1",
                "entity": "SELECT id FROM entities WHERE canonical_name = 'Person 5'",
                "run": "SELECT id FROM consolidation_runs LIMIT 1",
            }.items()
        }
        memories = await stack.enter_async_context(Memories.open(settings))
        fill_operations(settings.database_path, corpus.texts)
        tokens = await stack.enter_async_context(Tokens.open(settings))
        app = create_app(memories, tokens=tokens, settings=settings)
        token = await tokens.create(role=Role.ADMIN, tenant_id=TENANT, name="benchmark")
        operator, tenant = [
            await stack.enter_async_context(
                httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1", headers=headers
                )
            )
            for headers in ({}, {"Authorization": f"Bearer {token.secret}"})
        ]
        timed = await time_pages(
            operator,
            tenant,
            {
                name: path
                for name, path in pages(options.memories, ids, corpus.questions[0]).items()
                if options.only in name
            },
            options.repeats,
            progress,
        )
        return {
            "memories": options.memories,
            "pages": timed,
            "storing": {
                "fact": await cost_of_indexes(admin, FACTS, ["idx_facts_listed"]),
                "entry of the audit log": await cost_of_indexes(
                    admin, ENTRIES, [f"idx_memory_events_{name}" for name in ("about", "merged", "run")]
                ),
            },
        }


def print_tables(result: dict[str, Any]) -> None:
    """Print the pages, slowest first, and the cost of the indexes."""
    table = Table(
        "page",
        "first ms",
        "p50 ms",
        "max ms",
        "kB",
        "x the first page",
        title=f"Pages, {result['memories']:,} memories of each kind",
    )
    for name, times in sorted(result["pages"].items(), key=lambda item: -item[1]["p50_ms"]):
        first = result["pages"].get(name.partition(",")[0], times)["p50_ms"]
        table.add_row(name, *(str(value) for value in times.values()), f"{times['p50_ms'] / first:.1f}")
    console = Console(width=110)
    console.print(table)
    for what, cost in result["storing"].items():
        console.print(
            f"storing a {what}: {cost['us_a_row']['with']} us with the indexes of the lists, "
            f"{cost['us_a_row']['without']} us without; they have {cost['mb']} MB"
        )


async def run(options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Measure on a scratch server."""
    with scratch_server(options.directory) as server:
        await migrate_postgres(server.url(), "memory")
        engine = get_embedding_engine(EmbeddingOptions())
        corpus = make_corpus(engine, options.memories, 1)
        return await measure((server.url(), server.url(role=SUPERUSER)), corpus, options, progress)


def main() -> int:
    """Print the tables, or one JSON document."""
    parser = argparse.ArgumentParser(description="Server time of the dashboard's pages.")
    parser.add_argument("--memories", type=int, default=100_000, help="of each kind (default: 100,000)")
    parser.add_argument("--repeats", type=int, default=5, help="times that each page is asked for")
    parser.add_argument("--only", default="", help="only pages with this text in their name")
    parser.add_argument("--directory", type=Path, default=None, help="where the server is set up")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        result = asyncio.run(run(options, progress))
    missed = [name for name, times in result["pages"].items() if times["p50_ms"] > MOST_MS]
    if options.json:
        json.dump(result | {"missed": missed}, sys.stdout, indent=2)
        print()
    else:
        print_tables(result)
        print(
            f"over {MOST_MS:g} ms: {', '.join(missed)}" if missed else f"every page is under {MOST_MS:g} ms"
        )
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
