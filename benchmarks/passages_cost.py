"""Measure what the passages of long memories cost a search.

A database gets short facts, and long ones of about 3,000 characters. In a copy of this database, all passages are
deleted. Both databases are vacuumed and analyzed, and get the same questions in turns. The model embeds each question
before the clock starts.

    python benchmarks/passages_cost.py [--facts N] [--long N] [--queries N] [--directory DIR]
        [--query-weights float32|int8] [--json]

The default size takes some minutes on two cores.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.storage_functions import memory_search, recall, store_facts
from commonplace.storage.cluster import APPLICATION_ROLE, DATABASE, SUPERUSER
from commonplace.storage.embedded import Membership
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from query_weights import add_query_weights
from scale_corpus import make_corpus, tenant_name
from scratch_server import scratch_server

LONG_CHARS: Final = 3_000
SEED: Final = 9
WARM_UP: Final = 10
STORED_AT_ONCE: Final = 100
BUILD_S: Final = 3600.0
BARE: Final = "without_passages"
"""The name of the copy."""

Step = Callable[[asyncpg.Pool, str], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The medians of a kind of search in both databases, in milliseconds."""

    search: str
    with_ms: float
    without_ms: float

    @property
    def ratio(self) -> float:
        """The time with passages as a multiple of the time without."""
        return self.with_ms / self.without_ms


def long_text(texts: Sequence[str], dice: random.Random) -> str:
    """Return some of the texts, joined to about :data:`LONG_CHARS` characters."""
    parts: list[str] = []
    while sum(len(part) + 2 for part in parts) < LONG_CHARS:
        parts.append(dice.choice(texts))
    return ". ".join(parts)


def make_drafts(texts: Sequence[str], long: int) -> list[FactDraft]:
    """Return a fact for each text, in a random order; the text of the first ``long`` ones is a long text instead."""
    dice = random.Random(SEED)  # noqa: S311 - no secret
    contents = [long_text(texts, dice) if at < long else text for at, text in enumerate(texts)]
    dice.shuffle(contents)
    return [
        FactDraft(subject=f"entry {number}", predicate="said", content=content)
        for number, content in enumerate(contents)
    ]


def steps(engine: EmbeddingEngine) -> dict[str, Step]:
    """Return the timed functions; each takes a database and a question."""
    return {
        "semantic": lambda pool, question: memory_search(
            pool, engine, question, types=["fact"], mode="semantic"
        ),
        "contextual": lambda pool, question: memory_search(
            pool, engine, question, types=["fact"], mode="contextual"
        ),
        "recall": lambda pool, question: recall(pool, engine, question),
    }


async def store(url: str, engine: EmbeddingEngine, drafts: Sequence[FactDraft], progress: Progress) -> None:
    """Store facts with their passages in an empty database."""
    await migrate_postgres(url, "memory")
    async with await open_pool(url) as pool:
        starts = range(0, len(drafts), STORED_AT_ONCE)
        for start in progress.track(starts, description="storing"):
            await store_facts(pool, engine, drafts[start : start + STORED_AT_ONCE])


async def copy_without_passages(server: Membership) -> int:
    """Copy the database, delete the passages of the copy, vacuum both, and return the number of passages."""
    admin = await asyncpg.connect(server.url(role=SUPERUSER, database="postgres"))
    await admin.execute(
        f'CREATE DATABASE "{BARE}" TEMPLATE "{DATABASE}" OWNER {APPLICATION_ROLE}', timeout=BUILD_S
    )
    await admin.close()
    counts: list[int] = []
    for name in (DATABASE, BARE):
        admin = await asyncpg.connect(server.url(role=SUPERUSER, database=name))
        if name == BARE:
            await admin.execute("DELETE FROM fact_passages")
        await admin.execute("VACUUM ANALYZE", timeout=BUILD_S)
        counts.append(await admin.fetchval("SELECT count(*) FROM fact_passages"))
        await admin.close()
    assert counts[1] == 0  # noqa: S101 - a comparison with itself would show no cost
    return counts[0]


async def time_searches(
    server: Membership, engine: EmbeddingEngine, questions: Sequence[str], progress: Progress
) -> list[Cost]:
    """Time each kind of search on each question in both databases, which take turns at being the first."""
    kinds = steps(engine)
    times_ms: dict[tuple[str, str], list[float]] = {
        (kind, name): [] for kind in kinds for name in (DATABASE, BARE)
    }
    async with AsyncExitStack() as stack:
        pools = {
            name: await stack.enter_async_context(await open_pool(server.url(database=name)))
            for name in (DATABASE, BARE)
        }
        for number, question in enumerate(progress.track(questions, description="asking")):
            names = (DATABASE, BARE) if number % 2 == 0 else (BARE, DATABASE)
            await engine.embed_query_async(question)
            for kind, step in kinds.items():
                for name in names:
                    began_s = time.perf_counter()
                    await step(pools[name], question)
                    times_ms[kind, name].append((time.perf_counter() - began_s) * 1000)
    p50_ms = {key: median(times[WARM_UP:]) for key, times in times_ms.items()}
    return [
        Cost(search=kind, with_ms=p50_ms[kind, DATABASE], without_ms=p50_ms[kind, BARE]) for kind in kinds
    ]


async def measure(options: argparse.Namespace, progress: Progress) -> tuple[int, list[Cost]]:
    """Return the number of passages, and the cost of each kind of search."""
    engine = EmbeddingEngine(EmbeddingOptions(queries=options.query_weights))
    corpus = make_corpus(engine, options.facts, options.queries)
    with (
        scratch_server(options.directory) as server,
        request_context(tenant_id=tenant_name(0), actor="benchmark"),
    ):
        await store(server.url(), engine, make_drafts(corpus.texts, options.long), progress)
        passages = await copy_without_passages(server)
        costs = await time_searches(server, engine, corpus.questions, progress)
    engine.close()
    return passages, costs


def document(passages: int, costs: Sequence[Cost]) -> dict[str, Any]:
    """Return the figures for JSON."""
    return {
        "passages": passages,
        "searches": {
            each.search: {
                "with_p50_ms": round(each.with_ms, 2),
                "without_p50_ms": round(each.without_ms, 2),
                "ratio": round(each.ratio, 3),
            }
            for each in costs
        },
    }


def _questions(text: str) -> int:
    number = int(text)
    if number <= WARM_UP:
        raise argparse.ArgumentTypeError(f"expected more than the first {WARM_UP}, which do not count")
    return number


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--facts", type=int, default=5_000, help="facts in all (default: 5,000)")
    parser.add_argument("--long", type=int, default=1_000, help="long facts among them (default: 1,000)")
    parser.add_argument("--queries", type=_questions, default=210, help="questions (default: 210)")
    parser.add_argument("--directory", type=Path, default=None, help="where the server is set up")
    add_query_weights(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        passages, costs = asyncio.run(measure(options, progress))
    if options.json:
        json.dump(document(passages, costs), sys.stdout, indent=2)
        print()
        return
    table = Table("search", "with, p50 ms", "without, p50 ms", "ratio", title=f"{passages:,} passages")
    for each in costs:
        table.add_row(each.search, f"{each.with_ms:.1f}", f"{each.without_ms:.1f}", f"{each.ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
